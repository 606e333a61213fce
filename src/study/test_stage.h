// Stages for the tests: servers and clients that nobody reaches.
#pragma once

#include <initializer_list>

#include "study/stage.h"

namespace culprit {

// "s..." is a server, "c..." a client.
inline Cluster cluster_of(std::initializer_list<const char*> names) {
  Cluster cluster;
  for (const char* name : names) {
    Node node;
    node.name = name;
    node.kind = name[0] == 'c' ? NodeKind::client : NodeKind::server;
    cluster.nodes.push_back(node);
  }
  return cluster;
}

inline Result<Stage> stage_of(const Cluster& cluster) {
  return Stage::open(cluster, "/mnt/lab", true, "/usr/bin", [] { return false; });
}

}  // namespace culprit
