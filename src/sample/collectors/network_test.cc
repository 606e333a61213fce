#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample/test_tree.h"

namespace culprit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> keys_of(const Sample& sample) {
  std::vector<std::string> out;
  for (const NewKey& key : sample.keys) out.push_back(key.detail.empty() ? key.name : key.name + " " + key.detail);
  return out;
}

TEST(Network, AllButLoAndIdleOnes) {
  KeyCounter keys;
  SampleEnv env;
  env.root = fixture("old");
  auto collector = make_collector("network", env, keys);
  Sample sample;
  ASSERT_TRUE(collector->collect(sample));
  EXPECT_THAT(keys_of(sample), ElementsAre("eth0"));
  auto row = sample.row(sample.rows.at(0));
  EXPECT_THAT(std::vector<int64_t>(row.begin(), row.end()),
              ElementsAre(123456789, 98765, 1, 2, 987654321, 56789, 3, 4));
  EXPECT_THAT(sample.notes, IsEmpty());
}

TEST(Network, StackedOnesAndRdmaAreNamedOnce) {
  KeyCounter keys;
  SampleEnv env;
  env.root = fixture("stacked");
  auto collector = make_collector("network", env, keys);
  Sample sample;
  ASSERT_TRUE(collector->collect(sample));
  EXPECT_THAT(keys_of(sample), ElementsAre("eth0", "eth1", "bond0 lower=eth0,eth1", "bond0.100 lower=bond0", "ib0"));
  ASSERT_EQ(sample.notes.size(), 2u);
  EXPECT_THAT(sample.notes[0], HasSubstr("bond0, bond0.100"));
  EXPECT_THAT(sample.notes[1], HasSubstr("mlx5_0"));
  sample.clear();
  ASSERT_TRUE(collector->collect(sample));
  EXPECT_THAT(sample.notes, IsEmpty());
  EXPECT_EQ(sample.rows.size(), 5u);
}

TEST(Network, NamedOnesOnlyLoIncluded) {
  KeyCounter keys;
  SampleEnv env;
  env.root = fixture("old");
  env.node.nics = {"lo", "eth7"};
  auto collector = make_collector("network", env, keys);
  Sample sample;
  ASSERT_TRUE(collector->collect(sample));
  EXPECT_THAT(keys_of(sample), ElementsAre("lo"));
  EXPECT_THAT(sample.notes, ElementsAre("interface eth7 is not on this node"));
}

struct Interfaces {
  explicit Interfaces(std::vector<std::string> nics = {}) {
    env.root = tree.root();
    env.node.nics = std::move(nics);
    tree.write("sys/class/net/eth0/device/vendor", "0x8086\n");
    for (const char* name : {"veth1", "tap0"}) {
      tree.write(std::string("sys/class/net/") + name + "/operstate", "up\n");
      tree.write(std::string("sys/devices/virtual/net/") + name + "/operstate", "up\n");
    }
    collector = make_collector("network", env, keys);
  }
  Sample& tick(const std::vector<std::string>& names) {
    std::string text = "Inter-|\n face |\n";
    for (const std::string& name : names) text += name + ": 5 6 0 0 0 0 0 0 7 8 0 0 0 0 0 0\n";
    tree.write("proc/net/dev", text);
    sample.clear();
    EXPECT_TRUE(collector->collect(sample));
    return sample;
  }

  TestTree tree;
  SampleEnv env;
  KeyCounter keys;
  std::unique_ptr<Collector> collector;
  Sample sample;
};

TEST(Network, VirtualOnesAreMarkedAndSaidBesideThoseWithADevice) {
  Interfaces interfaces;
  Sample& sample = interfaces.tick({"eth0", "veth1", "tap0"});
  EXPECT_THAT(keys_of(sample), ElementsAre("eth0", "veth1 kind=virtual", "tap0 kind=virtual"));
  EXPECT_THAT(sample.notes, ElementsAre("virtual interfaces: veth1, tap0; only those with a device are summed, unless "
                                        "cluster.toml names nics, so that nothing counts twice"));
  EXPECT_THAT(interfaces.tick({"eth0", "veth1"}).notes, IsEmpty()) << "a container has ended";
}

TEST(Network, ALabNodeHasVirtualOnesOnly) {
  Interfaces interfaces;
  Sample& sample = interfaces.tick({"lo", "veth1"});
  EXPECT_THAT(keys_of(sample), ElementsAre("veth1 kind=virtual"));
  EXPECT_THAT(sample.notes, IsEmpty());
}

TEST(Network, OnesThatVanishAndComeBackAreSaid) {
  Interfaces interfaces;
  interfaces.tick({"eth0"});
  EXPECT_THAT(interfaces.tick({"lo"}).notes, ElementsAre("interface eth0 has vanished"));
  EXPECT_THAT(interfaces.tick({"lo"}).notes, IsEmpty());
  EXPECT_THAT(interfaces.tick({"eth0"}).notes, ElementsAre("interface eth0 is back"));
  Interfaces named({"tap0"});
  EXPECT_THAT(named.tick({"eth0"}).notes, ElementsAre("interface tap0 is not on this node"));
  EXPECT_THAT(named.tick({"eth0", "tap0"}).notes, ElementsAre("interface tap0 is there now"));
  EXPECT_THAT(named.tick({"eth0"}).notes, ElementsAre("interface tap0 has vanished"));
}

TEST(Netstat, ColumnsAreFoundAgainWhenTheHeaderChanges) {
  TestTree tree("stacked");
  KeyCounter keys;
  SampleEnv env;
  env.root = tree.root();
  auto collector = make_collector("netstat", env, keys);
  Sample sample;
  ASSERT_TRUE(collector->collect(sample));
  EXPECT_EQ(sample.values.at(netstat_column::ofo_queued), 7);
  EXPECT_EQ(sample.values.at(netstat_column::in_errors), 400);
  tree.write("proc/net/netstat", "TcpExt: TCPOFOQueue ListenDrops\nTcpExt: 70 10\n");
  sample.clear();
  ASSERT_TRUE(collector->collect(sample));
  EXPECT_EQ(sample.values.at(netstat_column::ofo_queued), 70);
  EXPECT_EQ(sample.values.at(netstat_column::listen_drops), 10);
  EXPECT_EQ(sample.values.at(netstat_column::timeouts), kAbsent);
  tree.write("proc/net/netstat", "nothing\n");
  sample.clear();
  ASSERT_TRUE(collector->collect(sample)) << "one of the two files is enough";
  EXPECT_EQ(sample.values.at(netstat_column::ofo_queued), kAbsent);
}

}  // namespace
}  // namespace culprit
