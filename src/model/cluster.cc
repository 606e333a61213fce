#include "model/cluster.h"

namespace culprit {

const Node* Cluster::find(std::string_view node_name) const {
  for (const Node& node : nodes)
    if (node.name == node_name) return &node;
  return nullptr;
}

}  // namespace culprit
