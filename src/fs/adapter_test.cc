// Properties that hold for every adapter, today's and tomorrow's, and the order of precedence.
#include "fs/adapter.h"

#include <gtest/gtest.h>

#include <set>

namespace culprit {
namespace {

TEST(Adapter, EveryOneIsWellFormed) {
  std::set<std::string_view> names;
  for (const FsInfo* fs : fs_adapters()) {
    EXPECT_TRUE(names.insert(fs->name).second) << fs->name;
    EXPECT_FALSE(fs->summary.empty()) << fs->name;
    EXPECT_EQ(find_fs(fs->name), fs);
    for (std::string_view daemon : fs->daemons) EXPECT_TRUE(!daemon.empty() && daemon.size() <= 15) << daemon;
    for (std::string_view daemon : fs->client_daemons) EXPECT_TRUE(!daemon.empty() && daemon.size() <= 15) << daemon;
    EXPECT_TRUE(fs->storage_option.empty() || fs->storage_option.starts_with("--")) << fs->name;
    for (const PortRange& range : fs->data_ports)
      EXPECT_TRUE(range.first > 0 && range.first <= range.last && range.last < 65536) << fs->name;
  }
  EXPECT_GE(names.size(), 7u);
  EXPECT_EQ(find_fs("no such thing"), nullptr);
}

TEST(Adapter, ClusterGoesBeforeAdapter) {
  Cluster cluster;
  Node node;
  EXPECT_TRUE(data_ports_of(cluster).empty());
  EXPECT_TRUE(daemons_of(cluster, node).empty());
  cluster.fs = "moosefs";
  EXPECT_EQ(data_ports_of(cluster).at(0).first, 9422);
  EXPECT_EQ(daemons_of(cluster, node), std::vector<std::string>{"mfschunkserver"});
  cluster.data_ports = {{7, 9}};
  node.daemons = {"mine"};
  EXPECT_EQ(data_ports_of(cluster).at(0).last, 9);
  EXPECT_EQ(daemons_of(cluster, node), std::vector<std::string>{"mine"});
}

TEST(Adapter, ServersAndClientsAreCapturedByTheirOwnDaemons) {
  Cluster cluster;
  cluster.fs = "glusterfs";
  Node server, client, other;
  client.kind = NodeKind::client;
  other.kind = NodeKind::other;
  EXPECT_EQ(captured_daemons(cluster, server), std::vector<std::string>{"glusterfsd"});
  EXPECT_EQ(captured_daemons(cluster, client), std::vector<std::string>{"glusterfs"});
  EXPECT_TRUE(captured_daemons(cluster, other).empty());
  client.daemons = {"mine"};
  EXPECT_EQ(captured_daemons(cluster, client), std::vector<std::string>{"mine"}) << "cluster.toml goes first";
  cluster.fs = "lustre";
  client.daemons.clear();
  EXPECT_TRUE(captured_daemons(cluster, client).empty()) << "its client is in the kernel";
}

}  // namespace
}  // namespace culprit
