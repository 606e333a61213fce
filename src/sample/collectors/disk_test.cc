#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "sample/test_tree.h"

namespace culprit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Disk {
  explicit Disk(SampleEnv e) : env(std::move(e)), collector(make_collector("disk", env, keys)) {}
  Sample& tick() {
    sample.clear();
    EXPECT_TRUE(collector->collect(sample));
    return sample;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const NewKey& key : sample.keys) out.push_back(key.name);
    return out;
  }
  int64_t value(size_t row, int column) const { return sample.row(sample.rows.at(row))[static_cast<size_t>(column)]; }

  SampleEnv env;
  KeyCounter keys;
  std::unique_ptr<Collector> collector;
  Sample sample;
};

SampleEnv env_of(const std::string& root, std::vector<std::string> disks = {}) {
  SampleEnv env;
  env.root = root;
  env.node.disks = std::move(disks);
  return env;
}

TEST(Disk, OldKernelsLackDiscardsAndFlushes) {
  Disk disk(env_of(fixture("old")));
  disk.tick();
  EXPECT_THAT(disk.names(), ElementsAre("cciss/c0d0", "sda"));  // no partition, nothing idle, no short line
  EXPECT_EQ(disk.value(0, disk_column::sectors_written), 3210987);
  EXPECT_EQ(disk.value(0, disk_column::in_flight), 2);
  EXPECT_EQ(disk.value(0, disk_column::discards), kAbsent);
  EXPECT_EQ(disk.value(0, disk_column::flush_ms), kAbsent);
  EXPECT_EQ(disk.value(1, disk_column::in_flight), kAbsent) << "-1, printed unsigned";
}

TEST(Disk, FifteenFieldsHaveDiscardsButNoFlushes) {
  Disk disk(env_of(fixture("stacked"), {"/dev/nvme0n1"}));
  disk.tick();
  ASSERT_EQ(disk.sample.rows.size(), 1u);
  EXPECT_EQ(disk.value(0, disk_column::sectors_discarded), 24);
  EXPECT_EQ(disk.value(0, disk_column::discard_ms), 25);
  EXPECT_EQ(disk.value(0, disk_column::flushes), kAbsent);
}

TEST(Disk, StackedOnesSaySoOnce) {
  Disk disk(env_of(fixture("stacked")));
  disk.tick();
  EXPECT_THAT(disk.names(), ElementsAre("sda", "sdb", "sdc", "sdd", "sde", "md0", "dm-0", "dm-1", "nvme0n1"));
  EXPECT_EQ(disk.sample.keys[0].detail, "kind=plain");
  EXPECT_EQ(disk.sample.keys[5].detail, "kind=md slaves=sdb1,sdc1");
  EXPECT_EQ(disk.sample.keys[6].detail, "kind=dm dm=vg-brick slaves=md0");
  EXPECT_EQ(disk.sample.keys[7].detail, "kind=multipath dm=mpatha slaves=sdd,sde");
  ASSERT_EQ(disk.sample.notes.size(), 1u);
  EXPECT_THAT(disk.sample.notes[0], HasSubstr("md0, dm-0, dm-1"));
  disk.tick();
  EXPECT_THAT(disk.sample.notes, IsEmpty());
  EXPECT_THAT(disk.names(), IsEmpty());
  EXPECT_EQ(disk.sample.rows.size(), 9u);
}

TEST(Disk, NamedDisksOnlyAndNoByteTwice) {
  Disk disk(env_of(fixture("stacked"), {"/dev/mapper/vg-brick", "sdc", "sdz"}));
  disk.tick();
  EXPECT_THAT(disk.names(), ElementsAre("dm-0"));  // sdc is beneath: dm-0 > md0 > sdc1 > sdc
  ASSERT_EQ(disk.sample.notes.size(), 2u);
  EXPECT_THAT(disk.sample.notes[0], HasSubstr("dm-0 is stacked on sdc"));
  EXPECT_EQ(disk.sample.notes[1], "disk sdz is not on this node");
  disk.tick();
  EXPECT_THAT(disk.sample.notes, IsEmpty());
}

TEST(Disk, ANamedPartitionIsTaken) {
  Disk disk(env_of(fixture("stacked"), {"sda1"}));
  disk.tick();
  EXPECT_THAT(disk.names(), ElementsAre("sda1"));
  EXPECT_EQ(disk.sample.keys[0].detail, "kind=partition");
}

std::string line(int64_t reads, int64_t read_ms, int64_t weighted_ms) {
  return cat("   8       0 sda ", reads, " 0 8 ", read_ms, " 0 0 0 0 0 5 ", weighted_ms, " 0 0 0 0 0 0\n");
}

TEST(Disk, TimesThatWrapGoOnGrowing) {
  TestTree tree;
  tree.write("sys/block/sda/size", "8\n");
  Disk disk(env_of(tree.root()));
  tree.write("proc/diskstats", line(100, 4294967290, 4294967295));
  disk.tick();
  EXPECT_EQ(disk.value(0, disk_column::read_ms), 4294967290);
  tree.write("proc/diskstats", line(101, 10, 0));
  disk.tick();
  EXPECT_EQ(disk.value(0, disk_column::read_ms), 4294967296 + 10);
  EXPECT_EQ(disk.value(0, disk_column::weighted_ms), 4294967296);
  tree.write("proc/diskstats", line(1, 4, 4));
  disk.tick();
  EXPECT_EQ(disk.value(0, disk_column::read_ms), 4) << "another device with the same name";
}

TEST(Disk, AppearsWithItsFirstActivityAndStays) {
  TestTree tree;
  tree.write("sys/block/sda/size", "8\n");
  Disk disk(env_of(tree.root()));
  tree.write("proc/diskstats", "8 0 sda 0 0 0 0 0 0 0 0 0 0 0\n");
  EXPECT_THAT(disk.tick().rows, IsEmpty());
  tree.write("proc/diskstats", "8 0 sda 1 0 8 0 0 0 0 0 0 0 0\n");
  EXPECT_EQ(disk.tick().keys.size(), 1u);
  tree.write("proc/diskstats", "8 0 sda 0 0 0 0 0 0 0 0 0 0 0\n");
  EXPECT_EQ(disk.tick().rows.size(), 1u) << "a known device that was reset is not a gap";
}

std::string counters(const std::string& name, int64_t reads) {
  return cat("259 0 ", name, " ", reads, " 0 8 4 0 0 0 0 0 5 6 0 0 0 0 0 0\n");
}

// NVMe's own multipathing: nvme0n1 sends its requests to nvme0c0n1 and nvme0c1n1.
void write_nvme(const TestTree& tree, int64_t head, int64_t first, int64_t second) {
  for (const char* name : {"nvme0n1", "nvme0c0n1", "nvme0c1n1", "nvme0n2"})
    tree.write(std::string("sys/block/") + name + "/size", "8\n");
  const std::string idle = "259 0 nvme0n1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
  tree.write("proc/diskstats", cat(head > 0 ? counters("nvme0n1", head) : idle, counters("nvme0c0n1", first),
                                   counters("nvme0c1n1", second), counters("nvme0n2", 9)));
}

TEST(Disk, NvmePathsAreBelowTheirHead) {
  TestTree tree;
  write_nvme(tree, 5, 2, 3);
  Disk disk(env_of(tree.root()));
  disk.tick();
  EXPECT_THAT(disk.names(), ElementsAre("nvme0n1", "nvme0c0n1", "nvme0c1n1", "nvme0n2"));
  EXPECT_EQ(disk.sample.keys[0].detail, "kind=plain slaves=nvme0c0n1,nvme0c1n1");  // so it is not summed
  EXPECT_EQ(disk.sample.keys[1].detail, "kind=plain");
  EXPECT_EQ(disk.sample.keys[3].detail, "kind=plain");
  write_nvme(tree, 0, 2, 3);
  Disk old_kernel(env_of(tree.root()));
  old_kernel.tick();
  EXPECT_THAT(old_kernel.names(), ElementsAre("nvme0c0n1", "nvme0c1n1", "nvme0n2"));
}

TEST(Disk, ANamedNvmeHeadThatCountsNothingGetsTheSumsOfItsPaths) {
  TestTree tree;
  write_nvme(tree, 0, 2, 3);
  Disk disk(env_of(tree.root(), {"nvme0n1", "nvme0c1n1"}));
  disk.tick();
  EXPECT_THAT(disk.names(), ElementsAre("nvme0n1"));
  ASSERT_EQ(disk.sample.rows.size(), 1u);
  EXPECT_EQ(disk.value(0, disk_column::reads), 5);
  EXPECT_EQ(disk.value(0, disk_column::read_ms), 8);
  ASSERT_EQ(disk.sample.notes.size(), 2u);
  EXPECT_THAT(disk.sample.notes[0], HasSubstr("nvme0n1 is stacked on nvme0c1n1"));
  EXPECT_THAT(disk.sample.notes[1], HasSubstr("the sums of its paths nvme0c0n1, nvme0c1n1 are recorded"));
  write_nvme(tree, 0, 4, 4);
  disk.tick();
  EXPECT_EQ(disk.value(0, disk_column::reads), 8);
  EXPECT_THAT(disk.sample.notes, IsEmpty());
}

TEST(Disk, ANamedNvmeHeadThatCountsIsTakenAsItIs) {
  TestTree tree;
  write_nvme(tree, 5, 2, 4);
  Disk disk(env_of(tree.root(), {"nvme0n1"}));
  disk.tick();
  EXPECT_EQ(disk.sample.rows.size(), 1u);
  EXPECT_EQ(disk.value(0, disk_column::reads), 5);
  EXPECT_THAT(disk.sample.notes, IsEmpty());
}

TEST(Disk, OnesThatVanishAndComeBackAreSaid) {
  TestTree tree;
  tree.write("sys/block/sda/size", "8\n");
  tree.write("proc/diskstats", line(1, 1, 1));
  Disk disk(env_of(tree.root()));
  Disk named(env_of(tree.root(), {"sda", "sdb"}));
  EXPECT_THAT(disk.tick().notes, IsEmpty());
  EXPECT_THAT(named.tick().notes, ElementsAre("disk sdb is not on this node"));
  tree.write("proc/diskstats", "8 16 sdb 1 0 8 0 0 0 0 0 0 0 0\n");
  EXPECT_THAT(disk.tick().notes, ElementsAre("disk sda has vanished"));
  EXPECT_THAT(disk.tick().notes, IsEmpty());
  EXPECT_THAT(named.tick().notes, ElementsAre("disk sdb is there now", "disk sda has vanished"));
  tree.write("proc/diskstats", line(1, 1, 1));
  EXPECT_THAT(disk.tick().notes, ElementsAre("disk sda is back"));
  tree.write("proc/diskstats", "8 16 sdb 1 0 8 0 0 0 0 0 0 0 0\n");
  EXPECT_THAT(disk.tick().notes, ElementsAre("disk sda has vanished, time 2"));
  tree.write("proc/diskstats", line(1, 1, 1));
  EXPECT_THAT(disk.tick().notes, ElementsAre("disk sda is back, time 2"));
}

TEST(Disk, ANamedOneIsThereFromTheStart) {
  Disk disk(env_of(fixture("old"), {"sr0"}));
  EXPECT_EQ(disk.tick().rows.size(), 1u) << "idle is not the same as no data";
}

}  // namespace
}  // namespace culprit
