// What culprit knows of a parallel file system: whose processes and which ports carry its data. One file each.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "model/cluster.h"

namespace culprit {

struct FsInfo {
  std::string_view name;
  std::string_view summary;
  std::vector<std::string_view> daemons;              // names as in /proc/PID/comm (at most 15 characters)
  std::vector<PortRange> data_ports;                  // the servers' ports that carry file data
  std::vector<std::string_view> client_daemons = {};  // likewise, of a client that is a process
  std::string_view storage_option = "";  // the daemons' option whose value is the folder with the data: "--brick-name"
  std::string_view note;                 // what cannot be seen from outside: "the client is in the kernel", ...
};

std::span<const FsInfo* const> fs_adapters();
const FsInfo* find_fs(std::string_view name);

// The cluster's own words if it has any, the adapter's otherwise.
std::vector<PortRange> data_ports_of(const Cluster& cluster);
std::vector<std::string> daemons_of(const Cluster& cluster, const Node& node);
// Whose system calls tell: a server's daemons, a client's client daemons.
std::vector<std::string> captured_daemons(const Cluster& cluster, const Node& node);

}  // namespace culprit
