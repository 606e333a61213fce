// Whose system calls: from the command line and cluster.toml to the nodes of a capture. Nodes of this machine and of a
// lab share one kernel and are captured by one backend; nodes behind ssh capture themselves.
#pragma once

#include <string>
#include <vector>

#include "capture/node_target.h"
#include "model/cluster.h"

namespace culprit {

// As the user asked. At most one of pids, cgroup and command; then at most one node, which says whose processes they
// are.
struct TargetRequest {
  std::vector<pid_t> pids;
  std::string cgroup;
  std::vector<std::string> command;
  std::vector<std::string> nodes;  // empty without the three above: all servers and clients of the cluster
  std::string cluster_file;        // looked at when a node is named or nothing else is
};

struct RemoteTarget {
  Node node;
  NodeOrder order;
};

struct SyscapTargets {
  Cluster cluster;  // for the manifest
  std::vector<CaptureNode> here;
  std::vector<std::string> what;  // of each of `here`, for people
  std::vector<RemoteTarget> remote;
  std::vector<std::string> command;      // with the words that enter a lab's node
  std::vector<std::string> far_command;  // of the only one of `remote`
  std::vector<std::string> notes;
};

Result<SyscapTargets> find_targets(const TargetRequest& request);

// What the cluster knows of a node: its devices, and its storage where cluster.toml has none, are found out there.
Surroundings surroundings_of(const Cluster& cluster, const Node& node);

}  // namespace culprit
