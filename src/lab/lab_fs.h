// What it takes to bring up a real file system in a lab. One file each in filesystems/.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lab/plan.h"

namespace culprit {

class Lab;

struct LabTool {
  std::string_view program;
  std::string_view package;
};

struct LabFs {
  std::string_view name;
  std::string_view summary;
  std::vector<std::string_view> layouts = {"plain"};  // the first is the default
  std::vector<std::string_view> fragile = {};         // those that keep data once: without a server, some is away
  std::vector<LabTool> tools = {};
  std::vector<std::string> server_roles = {"io"};
  std::string_view master = "";                    // a node of its own for metadata; "": the servers do it
  std::vector<std::string> daemons = {};           // of the servers, for cluster.toml; {}: what the adapter says
  std::vector<PortRange> data_ports = {};          // exact, where the lab knows better than the adapter
  Status (*check)(const LabPlan& plan) = nullptr;  // what it cannot do
  // When it is called, the nodes have links and addresses, and each server's disk is mounted at /mnt/disk.
  // When it returns, every client has the file system at /mnt/lab.
  Status (*start)(const Lab& lab) = nullptr;
  // Mounts it on a client that had it and has been unmounted; nullptr: it cannot be mounted again.
  Status (*mount)(const Lab& lab, const LabNode& client) = nullptr;
  // Waits until nothing is left to be healed, a minute at most; nullptr: nobody can tell. A server that still gets what
  // it missed differs from its peers, long after what made it miss it is over.
  Status (*heal)(const Lab& lab) = nullptr;
  // What makes a client's mount a mount: the type in /proc/mounts; "": nothing to look for.
  std::string_view mount_type = "";
};

std::span<const LabFs* const> lab_filesystems();
const LabFs* find_lab_fs(std::string_view name);
// Privilege, programs and devices: why this machine cannot run it.
Status can_run_lab(const LabFs& fs, std::string_view format);

}  // namespace culprit
