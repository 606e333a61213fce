#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/text.h"
#include "base/units.h"
#include "sample/daemons.h"
#include "sample/test_tree.h"

namespace culprit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Process {
  explicit Process(const std::string& root, std::vector<std::string> daemons = {}) {
    env.root = root;
    env.daemons = std::move(daemons);
    collector = make_collector("process", env, keys);
  }
  Sample& tick(int64_t second) {
    sample.clear();
    sample.mono_ns = second * kNsPerSecond;
    EXPECT_TRUE(collector->collect(sample));
    return sample;
  }
  int64_t value(size_t row, int column) const { return sample.row(sample.rows.at(row))[static_cast<size_t>(column)]; }

  SampleEnv env;
  KeyCounter keys;
  std::unique_ptr<Collector> collector;
  Sample sample;
};

TEST(Process, FindsKnownDaemonsByName) {
  Process process(fixture("stacked"));
  process.tick(1);
  ASSERT_EQ(process.sample.keys.size(), 2u);  // not the client "glusterfs", not the one with a broken stat
  EXPECT_EQ(process.sample.keys[0].name, "glusterfsd/4711");
  EXPECT_EQ(process.sample.keys[0].detail, "start=1234 cmd=/usr/sbin/glusterfsd%20-s%20host%204711");
  EXPECT_EQ(process.value(0, process_column::read_bytes), 47115);
  EXPECT_EQ(process.value(0, process_column::write_call_bytes), 47112);
  EXPECT_EQ(process.value(0, process_column::cancelled_write_bytes), 77);
  EXPECT_EQ(process.value(0, process_column::user_ms), 4711 * 1000 / ::sysconf(_SC_CLK_TCK));
  EXPECT_EQ(process.value(0, process_column::threads), 12);
  EXPECT_EQ(process.value(0, process_column::rss_bytes), 100 * ::sysconf(_SC_PAGESIZE));
}

TEST(Process, WithoutIoTheColumnsAreAbsentAndItSaysWhatItNeeds) {
  Process process(fixture("old"));
  process.tick(1);
  ASSERT_EQ(process.sample.rows.size(), 1u);
  EXPECT_EQ(process.value(0, process_column::read_bytes), kAbsent);
  EXPECT_EQ(process.value(0, process_column::threads), 9);
  ASSERT_EQ(process.sample.notes.size(), 1u);
  EXPECT_THAT(process.sample.notes[0], HasSubstr("CAP_SYS_PTRACE"));
  EXPECT_THAT(process.tick(2).notes, IsEmpty());
}

TEST(Process, NamedDaemonsOnly) {
  Process process(fixture("stacked"), {"glusterfs"});
  EXPECT_THAT(process.tick(1).rows, IsEmpty()) << "its stat file ends too early";
  Process init(fixture("old"), {"init"});
  EXPECT_EQ(init.tick(1).keys.at(0).name, "init/1");
}

std::string stat_line(int pid, int64_t start) {
  return cat(pid, " (glu) ster) S 1 1 1 0 -1 0 0 0 0 0 5 6 0 0 20 0 3 0 ", start, " 1000 10 0\n");
}

TEST(Process, APidUsedAgainIsAnotherDaemon) {
  TestTree tree("stacked");
  Process process(tree.root());
  process.tick(1);
  tree.write("proc/4711/stat", stat_line(4711, 99999));
  EXPECT_EQ(process.tick(2).rows.size(), 1u) << "the old one is gone";
  process.tick(3);  // a vanished daemon makes the table look again
  ASSERT_EQ(process.sample.keys.size(), 1u);
  EXPECT_THAT(process.sample.keys[0].detail, HasSubstr("start=99999"));
  EXPECT_EQ(process.sample.rows.size(), 2u);
}

TEST(Process, ANewDaemonIsFoundWithinHalfAMinute) {
  TestTree tree("stacked");
  Process process(tree.root());
  process.tick(1);
  tree.write("proc/5000/comm", "beegfs-storage/\n");  // some daemons append their main thread's name
  tree.write("proc/5000/stat", stat_line(5000, 1));
  EXPECT_EQ(process.tick(20).rows.size(), 2u);
  EXPECT_EQ(process.tick(32).rows.size(), 3u);
}

TEST(Process, ARestartIsFoundWithinSeconds) {
  TestTree tree("stacked");
  Process process(tree.root());
  process.tick(1);
  tree.write("proc/4711/stat", "");  // as good as gone: an open file of /proc fails to read then
  EXPECT_EQ(process.tick(2).rows.size(), 1u);
  EXPECT_EQ(process.tick(3).rows.size(), 1u) << "looked, and not there yet";
  tree.write("proc/4712/comm", "glusterfsd\n");
  tree.write("proc/4712/stat", stat_line(4712, 7));
  EXPECT_EQ(process.tick(5).rows.size(), 1u);
  EXPECT_EQ(process.tick(9).rows.size(), 2u);
}

TEST(StatField, CountsBehindTheName) {
  int64_t value = 0;
  EXPECT_TRUE(stat_field("7 (a) b) S 11 12", 4, value));
  EXPECT_EQ(value, 11);
  EXPECT_FALSE(stat_field("7 (a) S 11", 5, value));
  EXPECT_FALSE(stat_field("7 (a", 4, value));
  EXPECT_FALSE(stat_field("", 22, value));
}

TEST(DaemonTable, KnowsWhoseSocketItIs) {
  TestTree tree("stacked");
  DaemonTable table(tree.root(), {"glusterfsd"});
  table.refresh(kNsPerSecond);
  const Daemon* owner = table.owner_of(700002, kNsPerSecond);
  ASSERT_NE(owner, nullptr);
  EXPECT_EQ(owner->label(), "glusterfsd/4711");
  EXPECT_EQ(table.owner_of(800001, kNsPerSecond)->pid, 4800);
  EXPECT_EQ(table.owner_of(1, kNsPerSecond), nullptr);
}

TEST(DaemonTable, LooksAtDescriptorsAtMostEveryTenSeconds) {
  TestTree tree("stacked");
  DaemonTable table(tree.root(), {"glusterfsd"});
  table.refresh(0);
  std::filesystem::create_symlink("socket:[700009]", tree.path("proc/4711/fd/9"));
  EXPECT_EQ(table.owner_of(700009, 5 * kNsPerSecond), nullptr);
  EXPECT_NE(table.owner_of(700009, 11 * kNsPerSecond), nullptr);
  EXPECT_EQ(table.owner_of(5, 11 * kNsPerSecond), nullptr);  // now a stranger
  std::filesystem::create_symlink("socket:[5]", tree.path("proc/4711/fd/10"));
  EXPECT_EQ(table.owner_of(5, 25 * kNsPerSecond), nullptr) << "strangers are not looked up again";
  table.refresh(31 * kNsPerSecond);
  EXPECT_NE(table.owner_of(5, 31 * kNsPerSecond), nullptr);
}

}  // namespace
}  // namespace culprit
