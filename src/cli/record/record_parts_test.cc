// The recorder's parts that need no node: timing, clock offsets, the disks under a folder, the registry.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "cli/record/clock_offset.h"
#include "cli/record/disk_under.h"
#include "cli/record/registry.h"
#include "cli/record/timing.h"

namespace culprit {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kSecond = kNsPerSecond;

TEST(Ticks, MissingOnesAreCountedByRounding) {
  EXPECT_EQ(missing_ticks(10 * kSecond, 11 * kSecond, kSecond), 0);
  EXPECT_EQ(missing_ticks(10 * kSecond + 400 * kNsPerMs, 11 * kSecond + 1, kSecond), 0);
  EXPECT_EQ(missing_ticks(10 * kSecond, 12 * kSecond, kSecond), 1);
  EXPECT_EQ(missing_ticks(10 * kSecond, 20 * kSecond + 300 * kNsPerMs, kSecond), 9);
  EXPECT_EQ(missing_ticks(20 * kSecond, 10 * kSecond, kSecond), 0);  // a clock that was set back lost nothing
}

TEST(Reconnect, PausesGrowToHalfAMinute) {
  std::vector<int64_t> seconds;
  for (int attempt = 0; attempt < 7; ++attempt) seconds.push_back(reconnect_delay(attempt) / kSecond);
  EXPECT_THAT(seconds, ElementsAre(1, 2, 5, 10, 30, 30, 30));
  EXPECT_EQ(reconnect_delay(-1), kSecond);
  EXPECT_EQ(reconnect_delay(1'000'000), 30 * kSecond);
}

TEST(Reconnect, SilenceComesBeforeRestart) {
  for (int64_t interval : {kMinInterval, kSecond, kMaxInterval}) {
    EXPECT_GT(silent_after(interval), 2 * interval);
    EXPECT_GT(stuck_after(interval), silent_after(interval));
    EXPECT_LT(commit_within(interval), interval);
  }
}

TEST(ClockOffset, QuickestAnswerWins) {
  OffsetEstimator estimator;
  EXPECT_FALSE(estimator.best());
  estimator.add(1000, 1400, 5000 + 1200 + 90, 5000);  // slow, and wrong by 90
  estimator.add(2000, 2020, 5000 + 2010 + 7, 5000);
  ASSERT_TRUE(estimator.best());
  EXPECT_EQ(estimator.best()->offset_ns, 7);
  EXPECT_EQ(estimator.best()->uncertainty_ns, 10);
}

TEST(ClockOffset, LaterRoundsReplaceEarlierOnesWhenComplete) {
  OffsetEstimator estimator;
  for (int i = 0; i < OffsetEstimator::kPerRound; ++i) estimator.add(0, 10, 5 + 100, 0);
  EXPECT_TRUE(estimator.round_complete());
  estimator.start_round();
  EXPECT_FALSE(estimator.round_complete());
  estimator.add(0, 20, 10 + 500, 0);
  EXPECT_EQ(estimator.best()->offset_ns, 100);  // the new round is not complete yet
  for (int i = 1; i < OffsetEstimator::kPerRound; ++i) estimator.add(0, 20, 10 + 500, 0);
  EXPECT_EQ(estimator.best()->offset_ns, 500);
  EXPECT_EQ(estimator.first()->offset_ns, 100);
}

TEST(ClockOffset, AnswerBeforeTheQuestionIsIgnored) {
  OffsetEstimator estimator;
  estimator.add(10, 5, 100, 0);
  EXPECT_FALSE(estimator.best());
}

class TreeTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/culprit-tree-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }

  void file(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  // A device folder under sys/devices with its links, as the kernel lays them out.
  void device(const std::string& folder, const std::string& number) {
    fs::path path = root_ + "/sys/devices/" + folder;
    fs::create_directories(path);
    for (const std::string& link : {"/sys/dev/block/" + number, "/sys/class/block/" + path.filename().string()}) {
      fs::create_directories(fs::path(root_ + link).parent_path());
      fs::create_symlink(path, root_ + link);
    }
  }
  void mounts(const std::string& text) { file("/proc/self/mountinfo", text); }

  std::string root_;
};

TEST_F(TreeTest, PartitionMeansItsDisk) {
  device("pci/block/sda", "8:0");
  device("pci/block/sda/sda1", "8:1");
  file("/sys/devices/pci/block/sda/sda1/partition", "1\n");
  EXPECT_THAT(disks_of_device(root_, "8:1"), ElementsAre("sda"));
  EXPECT_THAT(disks_of_device(root_, "8:0"), ElementsAre("sda"));
  EXPECT_THAT(disks_of_device(root_, "9:9"), IsEmpty());
}

TEST_F(TreeTest, StackedDevicesGoDownToEveryDisk) {
  device("pci/block/sda", "8:0");
  device("pci/block/sda/sda1", "8:1");
  file("/sys/devices/pci/block/sda/sda1/partition", "1\n");
  device("pci/block/sdb", "8:16");
  device("virtual/block/md0", "9:0");
  device("virtual/block/dm-3", "253:3");
  fs::create_directories(root_ + "/sys/devices/virtual/block/md0/slaves/sda1");
  fs::create_directories(root_ + "/sys/devices/virtual/block/md0/slaves/sdb");
  fs::create_directories(root_ + "/sys/devices/virtual/block/dm-3/slaves/md0");
  EXPECT_THAT(disks_of_device(root_, "253:3"), ElementsAre("dm-3", "md0", "sda", "sdb"));
}

TEST_F(TreeTest, TheLongestMountPointCountsAndTheLastOfEquals) {
  device("pci/block/sda", "8:0");
  device("pci/block/sdb", "8:16");
  mounts(
      "1 0 8:0 / / rw - ext4 /dev/sda rw\n"
      "2 1 0:40 / /data rw - tmpfs tmpfs rw\n"
      "3 1 8:16 / /data rw shared:1 - xfs /dev/sdb rw\n"
      "4 1 0:41 / /data/quick\\040one rw - tmpfs tmpfs rw\n");
  EXPECT_THAT(disks_under(root_, "/home/x"), ElementsAre("sda"));
  EXPECT_THAT(disks_under(root_, "/data/x"), ElementsAre("sdb"));
  EXPECT_THAT(disks_under(root_, "/database"), ElementsAre("sda"));
  EXPECT_THAT(disks_under(root_, "/data/quick one/x"), IsEmpty());
}

TEST_F(TreeTest, FileSystemsWithoutADeviceNumberAreFoundByTheirSource) {
  device("pci/block/nvme0n1", "259:0");
  device("pci/block/nvme0n1/nvme0n1p2", "259:2");
  file("/sys/devices/pci/block/nvme0n1/nvme0n1p2/partition", "2\n");
  mounts("1 0 0:30 /sub / rw - btrfs /dev/nvme0n1p2 rw,subvol=/sub\n");
  EXPECT_THAT(disks_under(root_, "/x"), ElementsAre("nvme0n1"));
}

TEST_F(TreeTest, OverlayAndLoopFilesLeadToTheDiskBelow) {
  device("pci/block/sda", "8:0");
  device("virtual/block/loop5", "7:5");
  file("/sys/devices/virtual/block/loop5/loop/backing_file", "/images/disk.img\n");
  mounts(
      "1 0 8:0 / / rw - ext4 /dev/sda rw\n"
      "2 1 0:50 / /merged rw - overlay overlay rw,lowerdir=/l,upperdir=/upper,workdir=/w\n"
      "3 1 7:5 / /brick rw - xfs /dev/loop5 rw\n");
  EXPECT_THAT(disks_under(root_, "/merged/x"), ElementsAre("sda"));
  EXPECT_THAT(disks_under(root_, "/brick"), ElementsAre("loop5", "sda"));
}

TEST_F(TreeTest, ALoopOfDevicesEnds) {
  device("virtual/block/dm-0", "253:0");
  device("virtual/block/dm-1", "253:1");
  fs::create_directories(root_ + "/sys/devices/virtual/block/dm-0/slaves/dm-1");
  fs::create_directories(root_ + "/sys/devices/virtual/block/dm-1/slaves/dm-0");
  EXPECT_THAT(disks_of_device(root_, "253:0"), ElementsAre("dm-0", "dm-1"));
}

TEST(DiskUnder, NearestExistingFolder) {
  EXPECT_EQ(existing_folder("/proc/self/mountinfo/x"), fs::canonical("/proc/self").string());
  EXPECT_EQ(existing_folder("/no-such-folder-of-culprit/x/y"), "/");
  EXPECT_EQ(existing_folder("here.run"), fs::canonical(fs::current_path()).string());
}

TEST_F(TreeTest, RegistryShowsWhatRunsAndForgetsWhatEnded) {
  std::string folder = root_ + "/registry";
  EXPECT_THAT(running_recordings({folder}), IsEmpty());
  {
    auto entry = Registration::enter(folder, "/x/a.run.partial");
    ASSERT_TRUE(entry);
    auto running = running_recordings({folder});
    ASSERT_EQ(running.size(), 1u);
    EXPECT_EQ(running[0].pid, ::getpid());
    EXPECT_EQ(running[0].run_path, "/x/a.run.partial");
  }
  EXPECT_THAT(running_recordings({folder}), IsEmpty());
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(TreeTest, RegistryRemovesTheEntryOfAKilledRecorder) {
  file("/registry/4242", "/x/dead.run.partial\n");
  file("/registry/README", "not an entry\n");
  EXPECT_THAT(running_recordings({root_ + "/registry"}), IsEmpty());
  EXPECT_FALSE(fs::exists(root_ + "/registry/4242"));
  EXPECT_TRUE(fs::exists(root_ + "/registry/README"));
}

TEST_F(TreeTest, RegistryRefusesAFolderThatOthersCanWrite) {
  std::string folder = root_ + "/open";
  fs::create_directories(folder);
  ::chmod(folder.c_str(), 0777);
  auto entry = Registration::enter(folder, "/x/a.run.partial");
  ASSERT_FALSE(entry);
  EXPECT_NE(entry.error().hint, "");
}

}  // namespace
}  // namespace culprit
