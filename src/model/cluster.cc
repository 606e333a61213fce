#include "model/cluster.h"

#include <algorithm>

namespace culprit {

bool does_io(const Node& node) {
  return node.roles.empty() || std::find(node.roles.begin(), node.roles.end(), "io") != node.roles.end();
}

const Node* Cluster::find(std::string_view node_name) const {
  for (const Node& node : nodes)
    if (node.name == node_name) return &node;
  return nullptr;
}

}  // namespace culprit
