// The cluster that is looked at: its file system and its nodes, as cluster.toml has them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace culprit {

struct PortRange {
  int first = 0;
  int last = 0;
  bool contains(int port) const { return port >= first && port <= last; }
};

enum class NodeKind { server, client, other };  // other: a third party, for example the source of a network hog

struct Node {
  std::string name;
  NodeKind kind = NodeKind::server;
  std::string address;               // IP address in the data network; may be empty
  std::vector<std::string> roles;    // io, meta, management
  std::string reach = "local";       // local, ns:NAME, ssh:USER@HOST
  std::vector<std::string> disks;    // the file system's disks; empty: all that are not stacked on others
  std::vector<std::string> nics;     // likewise
  std::vector<std::string> daemons;  // process names; empty: what the file system's adapter says
  std::vector<std::string> storage;  // folders that hold the file system's data; empty: what the adapter can find out
  std::string sampler;               // path of culprit-node on the node; empty: it is sent there
};

bool does_io(const Node& node);  // it holds data: by its roles, or because none are named

struct Cluster {
  std::string name;
  std::string fs;                     // an adapter's name; "" when unknown
  std::vector<PortRange> data_ports;  // the servers' data ports; empty: what the adapter says
  std::vector<Node> nodes;

  const Node* find(std::string_view node_name) const;
};

}  // namespace culprit
