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
