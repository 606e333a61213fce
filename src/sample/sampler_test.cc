#include "sample/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"
#include "sample/test_tree.h"

namespace culprit {
namespace {

TEST(Ticks, AreMultiplesOnTheWallClock) {
  EXPECT_EQ(next_tick(0, 100), 100);
  EXPECT_EQ(next_tick(99, 100), 100);
  EXPECT_EQ(next_tick(100, 100), 200) << "a tick that has begun is over";
  EXPECT_EQ(next_tick(-1, 100), 0);
  EXPECT_EQ(next_tick(-100, 100), 0);
}

TEST(Ticks, MissedOnesAreCountedByTheMonotonicClock) {
  EXPECT_EQ(skipped_ticks(0, 100, 100), 0);
  EXPECT_EQ(skipped_ticks(0, 149, 100), 0);
  EXPECT_EQ(skipped_ticks(0, 60, 100), 0) << "early: the clock was set";
  EXPECT_EQ(skipped_ticks(0, 151, 100), 1);
  EXPECT_EQ(skipped_ticks(0, 1000, 100), 9);
  EXPECT_EQ(skipped_ticks(1000, 0, 100), 0);
}

TEST(Ticker, DoesNotDrift) {
  Ticker ticker(100, 1030);
  EXPECT_EQ(ticker.wait_ns(1030), 70);
  EXPECT_EQ(ticker.wait_ns(1107), 0);
  EXPECT_EQ(ticker.begin(1107, 5007), 0);
  EXPECT_EQ(ticker.wait_ns(1110), 90) << "late by 7, the next one is not";
  EXPECT_EQ(ticker.wait_ns(1205), 0);
  EXPECT_EQ(ticker.begin(1205, 5105), 0);
  EXPECT_EQ(ticker.begin(1555, 5455), 3) << "1300, 1400 and 1500; the one now taken stands for 1500 or 1600";
}

TEST(Ticker, SurvivesAWallClockThatIsSet) {
  Ticker ticker(100, 1'000'050);
  EXPECT_EQ(ticker.begin(1'000'100, 50), 0);
  EXPECT_EQ(ticker.wait_ns(500'010), 90) << "set back: not half a million to wait";
  EXPECT_EQ(ticker.begin(500'100, 150), 0);
  EXPECT_EQ(ticker.wait_ns(9'000'010), 0) << "set forward: a tick is due";
  EXPECT_EQ(ticker.begin(9'000'010, 200), 0) << "nothing was lost";
  EXPECT_EQ(ticker.wait_ns(9'000'010), 90);
}

TEST(Environment, SaysWhatTheMachineIs) {
  SampleEnv env;
  env.root = fixture("stacked");
  auto all = environment(env);
  EXPECT_EQ(all["kernel"], "6.1.0-18-amd64");
  EXPECT_EQ(all["hostname"], "stacked1");
  EXPECT_EQ(all["cpus"], "4");
  EXPECT_EQ(all["tcp_congestion_control"], "cubic");
  EXPECT_EQ(all["scheduler.nvme0n1"], "none");
  EXPECT_EQ(all["scheduler.sda"], "mq-deadline");
  EXPECT_FALSE(all.contains("scheduler.loop0")) << "a loop device without a file";
  EXPECT_EQ(all["mount./"], "sda1 ext4 rw,relatime");
  EXPECT_EQ(all["mount./srv/brick\\0401"], "dm-0 xfs rw,noatime,inode64");
  EXPECT_FALSE(all.contains("mount./mnt/again"));
}

TEST(Environment, OnlyTheNodesDisks) {
  SampleEnv env;
  env.root = fixture("stacked");
  env.node.disks = {"sdb"};
  auto all = environment(env);
  EXPECT_TRUE(all.contains("mount./srv/brick\\0401")) << "dm-0 > md0 > sdb1 > sdb";
  EXPECT_FALSE(all.contains("mount./"));
  EXPECT_TRUE(all.contains("scheduler.sdb"));
  EXPECT_FALSE(all.contains("scheduler.sda"));
}

TEST(Environment, LargeMachinesToo) {
  TestTree tree;
  std::string stat = "cpu  1 2 3 4\n";
  for (int cpu = 0; cpu < 2000; ++cpu)
    stat += "cpu" + std::to_string(cpu) + " 1000000 2000000 3000000 4000000 0 0 0 0 0 0\n";
  tree.write("proc/stat", stat);
  tree.write("proc/mounts", "/dev/sda / ext4 " + std::string(100'000, 'o') + " 0 0\n");
  SampleEnv env;
  env.root = tree.root();
  auto all = environment(env);
  EXPECT_EQ(all["cpus"], "2000");
  EXPECT_EQ(all["mount./"].size(), 4096u);
}

TEST(Sampler, WorksOnThisMachine) {
  SampleEnv env;
  Sampler sampler(env);
  Sample first, second;
  sampler.take(first);
  sampler.take(second);
  EXPECT_FALSE(first.rows.empty());
  EXPECT_GE(second.mono_ns, first.mono_ns);
  for (const NewKey& key : second.keys)
    for (const NewKey& old : first.keys) EXPECT_NE(key.id, old.id);
}

}  // namespace
}  // namespace culprit
