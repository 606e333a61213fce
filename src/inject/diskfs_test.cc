#include "inject/diskfs.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "inject/hidden_folder.h"
#include "inject/test_daemon.h"

namespace culprit {
namespace {

// A node with the disk "loop9" (mounted at `target`) and "vda" (the machine's own).
struct FakeNode {
  TestFolder tree;
  FaultWork work;

  explicit FakeNode(const std::string& type = "xfs", const std::string& super = "rw,inode64") {
    work.proc = tree.path() + "/proc";
    work.sys = tree.path() + "/sys";
    work.part.id = "a1";
    work.part.node = "s1";
    work.part.disks = {"loop9", "vda", "sdb"};
    std::filesystem::create_directories(target());
    for (const char* disk : {"loop9", "vda", "sdb"}) tree.write(cat("sys/block/", disk, "/size"), "1\n");
    tree.write("sys/block/sdb/sdb1/size", "1\n");
    tree.write("proc/swaps", "Filename Type Size Used Priority\n");
    set_mount(type, super);
  }
  void add_mount(const std::string& at, const std::string& device) const {
    std::ofstream(tree.path() + "/proc/self/mountinfo", std::ios::app)
        << cat("40 20 9:9 / ", at, " rw,relatime - ext4 /dev/", device, " rw\n");
  }
  std::string target() const { return tree.path() + "/mnt"; }
  void set_mount(const std::string& type, const std::string& super, const std::string& device = "loop9") {
    tree.write("proc/self/mountinfo",
               cat("20 1 254:0 / / rw - ext4 /dev/vda rw\n", "21 20 0:5 / /proc rw - proc proc rw\n", "30 20 7:9 / ",
                   target(), " rw,relatime shared:3 - ", type, " /dev/", device, " ", super, "\n"));
  }
};

TEST(DiskfsTest, ReadsTheTableOfMounts) {
  auto mounts = parse_mounts(
      "36 35 98:0 /sub /mnt/a\\040b rw,noatime shared:1 master:2 - ext4 /dev/sdb rw,errors=continue\n"
      "damaged line\n"
      "37 35 0:9 / /x rw - tmpfs tmpfs rw\n");
  ASSERT_TRUE(mounts);
  ASSERT_EQ(mounts->size(), 2U);
  EXPECT_EQ(mounts->at(0).target, "/mnt/a b");
  EXPECT_EQ(mounts->at(0).root, "/sub");
  EXPECT_EQ(mounts->at(0).options, "rw,noatime");
  EXPECT_EQ(mounts->at(0).super_options, "rw,errors=continue");
  EXPECT_FALSE(parse_mounts(""));
}

TEST(DiskfsTest, ChoosesTheFileSystemOfTheNodesDisk) {
  FakeNode node;
  auto mount = chosen_mount(node.work);
  ASSERT_TRUE(mount) << mount.error().message();
  EXPECT_EQ(mount->target, node.target());
  EXPECT_EQ(mount->type, "xfs");
}

TEST(DiskfsTest, APartitionOfTheDiskCounts) {
  FakeNode node;
  node.set_mount("ext4", "rw", "sdb1");
  node.work.part.params["disk"] = "sdb";
  auto mount = chosen_mount(node.work);
  ASSERT_TRUE(mount) << mount.error().message();
  EXPECT_EQ(mount->source, "/dev/sdb1");
}

TEST(DiskfsTest, RefusesTheMachinesOwnDiskAndUnmountedOnes) {
  FakeNode node;
  node.work.part.params["disk"] = "vda";
  EXPECT_FALSE(chosen_mount(node.work));
  node.work.part.params["disk"] = "sdb";
  auto unmounted = chosen_mount(node.work);
  ASSERT_FALSE(unmounted);
  EXPECT_NE(unmounted.error().what.find("sdb"), std::string::npos);
  node.work.part.disks.clear();
  node.work.part.params.clear();
  EXPECT_FALSE(chosen_mount(node.work));
}

TEST(DiskfsTest, SeveralFileSystemsOnOneDiskAreRefusedByName) {
  FakeNode node;
  node.tree.write("sys/block/sdb/sdb2/size", "1\n");
  node.add_mount("/a", "sdb1");
  node.add_mount("/b", "sdb2");
  node.work.part.disks = {"sdb", "sdb2"};
  auto both = chosen_mount(node.work);
  ASSERT_FALSE(both);
  EXPECT_NE(both.error().what.find("/dev/sdb1 at /a, /dev/sdb2 at /b"), std::string::npos) << both.error().what;
  EXPECT_NE(both.error().hint, "");
  node.work.part.params["disk"] = "sdb2";
  auto one = chosen_mount(node.work);
  ASSERT_TRUE(one) << one.error().message();
  EXPECT_EQ(one->target, "/b");
}

TEST(DiskfsTest, AVolumeOnMultipathIsFoundByEachDeviceBelowIt) {
  FakeNode node;
  node.tree.write("sys/block/sdc/size", "1\n");
  node.tree.write("sys/block/dm-0/slaves/sdb/size", "1\n");  // two paths to one disk
  node.tree.write("sys/block/dm-0/slaves/sdc/size", "1\n");
  node.tree.write("sys/block/dm-1/slaves/dm-0/size", "1\n");  // a volume on it
  node.tree.write("sys/block/dm-1/dm/name", "culprit_test-data\n");
  node.add_mount("/data", "mapper/culprit_test-data");
  for (const char* disk : {"sdb", "sdc", "dm-0", "dm-1"}) {
    node.work.part.disks = {disk};
    auto mount = chosen_mount(node.work);
    ASSERT_TRUE(mount) << disk << ": " << mount.error().message();
    EXPECT_EQ(mount->target, "/data") << disk;
  }
}

TEST(DiskfsTest, MountedTwiceCannotBeUnmounted) {
  FakeNode node("ext4", "rw");
  EXPECT_TRUE(check_can_unmount(node.work));
  node.add_mount("/again", "loop9");
  EXPECT_TRUE(chosen_mount(node.work)) << "for faults that leave it mounted";
  for (const char* name : {"device_failure", "flaky_disk", "err_remount", "inconsistency"}) {
    const FaultInfo* info = find_fault(name);
    ASSERT_TRUE(info);
    FaultWork work = node.work;
    work.part.fault = name;
    for (const FaultParam& param : info->params) work.part.params.emplace(param.name, param.fallback);
    Status refused = info->prepare(work);
    ASSERT_FALSE(refused) << name;
    EXPECT_NE(refused.error().what.find("mounted more than once"), std::string::npos) << refused.error().what;
    EXPECT_NE(refused.error().hint, "");
  }
}

TEST(DiskfsTest, WithAnotherOneBelowItCannotBeUnmounted) {
  FakeNode node("ext4", "rw");
  node.add_mount(node.target() + "-beside", "sdb1");
  EXPECT_TRUE(check_can_unmount(node.work));
  node.add_mount(node.target() + "/below", "sdb1");
  Status refused = check_can_unmount(node.work);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("/dev/sdb1 is mounted at"), std::string::npos) << refused.error().what;
}

TEST(DiskfsTest, AnotherFileSystemAtTheSamePlaceIsNotTakenForIt) {
  FakeNode node("ext4", "rw");
  note_mount(node.work, *chosen_mount(node.work));
  ASSERT_TRUE(make_hidden_folder(node.work));
  EXPECT_TRUE(*hidden_folder_exists(node.work));
  if (!node.work.notes.contains("mount_born")) GTEST_SKIP() << "this file system does not say when a folder was made";
  node.work.notes["mount_born"] = "1.2";
  EXPECT_FALSE(hidden_folder_exists(node.work)) << "not known, which is not \"no\"";
  EXPECT_FALSE(remove_hidden_folder(node.work));
}

TEST(DiskfsTest, TheClientsOfALabWithoutAFileSystemHaveItMountedToo) {
  FakeNode node;
  node.work.part.fs = "directory";
  Status refused = check_can_unmount(node.work);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().hint.find("--fs glusterfs"), std::string::npos);
  node.work.part.params["disk"] = "sdb";
  EXPECT_TRUE(check_can_unmount(node.work)) << "nothing is mounted from it";
}

TEST(DiskfsTest, SeesWhatTheKernelGaveUp) {
  FakeNode node("ext4", "rw,errors=remount-ro");
  Mount mount = *chosen_mount(node.work);
  EXPECT_EQ(*look_at_fs(node.work, mount), FsState::fine);
  node.set_mount("ext4", "rw,abort,emergency_ro");
  EXPECT_EQ(*look_at_fs(node.work, mount), FsState::down);
  node.set_mount("ext4", "ro,errors=remount-ro");
  EXPECT_EQ(*look_at_fs(node.work, mount), FsState::down);
  node.tree.write("proc/self/mountinfo", "20 1 254:0 / / rw - ext4 /dev/vda rw\n");
  EXPECT_EQ(*look_at_fs(node.work, mount), FsState::unmounted);
  node.set_mount("ext4", "rw", "sdb");
  EXPECT_FALSE(look_at_fs(node.work, mount));  // another disk took its place: not ours to judge
}

TEST(DiskfsTest, TheNoteGivesTheSameMountAgain) {
  FakeNode node;
  Mount mount{"/dev/loop9", "/mnt/a b", "ext4", "rw,relatime", "rw,abort,emergency_ro,stripe=4", "/"};
  note_mount(node.work, mount);
  Mount back = *noted_mount(node.work);
  EXPECT_EQ(back.target, mount.target);
  EXPECT_EQ(mount_options(back), "rw,relatime,stripe=4");
  node.work.notes["mount"] = "one two";
  EXPECT_FALSE(noted_mount(node.work));
}

TEST(HiddenFolderTest, RemovesExactlyItsOwn) {
  FakeNode node;
  note_mount(node.work, *chosen_mount(node.work));
  node.tree.write("mnt/data", "kept");
  node.tree.write("mnt/.culprit-other/file", "kept");
  EXPECT_FALSE(*hidden_folder_exists(node.work));
  ASSERT_TRUE(make_hidden_folder(node.work));
  node.tree.write("mnt/.culprit-a1/0/file", "");
  std::filesystem::create_symlink(node.target() + "/.culprit-other", node.target() + "/.culprit-a1/link");
  EXPECT_TRUE(*hidden_folder_exists(node.work));
  ASSERT_TRUE(remove_hidden_folder(node.work));
  EXPECT_FALSE(*hidden_folder_exists(node.work));
  EXPECT_TRUE(std::filesystem::exists(node.target() + "/data"));
  EXPECT_TRUE(std::filesystem::exists(node.target() + "/.culprit-other/file"));
  EXPECT_TRUE(remove_hidden_folder(node.work));
}

TEST(HiddenFolderTest, ALinkInItsPlaceIsNotFollowed) {
  FakeNode node;
  note_mount(node.work, *chosen_mount(node.work));
  node.tree.write("elsewhere/file", "kept");
  std::filesystem::create_symlink(node.tree.path() + "/elsewhere", node.target() + "/.culprit-a1");
  EXPECT_FALSE(remove_hidden_folder(node.work));
  EXPECT_TRUE(std::filesystem::exists(node.tree.path() + "/elsewhere/file"));
}

TEST(HiddenFolderTest, UnmountedIsUnknownAndNotClean) {
  FakeNode node;
  note_mount(node.work, *chosen_mount(node.work));
  node.tree.write("proc/self/mountinfo", "20 1 254:0 / / rw - ext4 /dev/vda rw\n");
  EXPECT_FALSE(hidden_folder_exists(node.work));
  EXPECT_FALSE(remove_hidden_folder(node.work));
}

TEST(StateFaultTest, RefuseWithAReasonWhatTheFileSystemCannotDo) {
  FakeNode node("xfs");
  for (const char* name : {"err_inodes", "err_remount"}) {
    const FaultInfo* info = find_fault(name);
    ASSERT_TRUE(info);
    FaultWork work = node.work;
    for (const FaultParam& param : info->params) work.part.params.emplace(param.name, param.fallback);
    Status refused = info->prepare(work);
    ASSERT_FALSE(refused) << name;
    EXPECT_NE(refused.error().what.find("xfs"), std::string::npos) << refused.error().what;
    EXPECT_NE(refused.error().hint.find("ext4"), std::string::npos);
  }
}

}  // namespace
}  // namespace culprit
