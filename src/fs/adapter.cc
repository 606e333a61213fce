// Which ports and processes belong to a cluster's file system: what cluster.toml says goes before what the adapter
// knows.
#include "fs/adapter.h"

namespace culprit {

const FsInfo* find_fs(std::string_view name) {
  for (const FsInfo* fs : fs_adapters())
    if (fs->name == name) return fs;
  return nullptr;
}

std::vector<PortRange> data_ports_of(const Cluster& cluster) {
  if (!cluster.data_ports.empty()) return cluster.data_ports;
  const FsInfo* fs = find_fs(cluster.fs);
  return fs ? fs->data_ports : std::vector<PortRange>{};
}

std::vector<std::string> daemons_of(const Cluster& cluster, const Node& node) {
  if (!node.daemons.empty()) return node.daemons;
  const FsInfo* fs = find_fs(cluster.fs);
  if (!fs) return {};
  return {fs->daemons.begin(), fs->daemons.end()};
}

std::vector<std::string> captured_daemons(const Cluster& cluster, const Node& node) {
  if (node.kind == NodeKind::server || !node.daemons.empty()) return daemons_of(cluster, node);
  const FsInfo* fs = find_fs(cluster.fs);
  if (!fs || node.kind != NodeKind::client) return {};
  return {fs->client_daemons.begin(), fs->client_daemons.end()};
}

}  // namespace culprit
