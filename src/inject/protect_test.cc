#include "inject/protect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/fd.h"

namespace culprit {
namespace {

namespace files = std::filesystem;

// sda: partitions for / and swap; sdb: data; dm-0 holds /usr on sdc1; sdd: /boot on sdd1 and a spare sdd2; loop3: data.
class ProtectTest : public testing::Test {
 protected:
  ProtectTest() {
    std::string pattern = testing::TempDir() + "culprit-protect-XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    for (const char* folder : {"sda/sda1", "sda/sda2", "sdb/sdb1", "sdc/sdc1", "sdd/sdd1", "sdd/sdd2", "loop3",
                               "dm-0/dm", "dm-0/slaves/sdc1"})
      files::create_directories(sys() + "/block/" + folder);
    files::create_directories(sys() + "/dev/block");
    files::create_directories(proc() + "/self");
    put(sys() + "/block/dm-0/dm/name", "vg-usr\n");
    number("8:1", "sda/sda1");
    number("8:49", "sdd/sdd1");
    number("253:0", "dm-0");
    number("7:3", "loop3");
    put(proc() + "/self/mountinfo",
        "27 1 8:1 / / rw,relatime - ext4 /dev/root rw\n"
        "28 27 253:0 / /usr rw shared:1 - ext4 /dev/mapper/vg-usr rw\n"
        "29 27 8:49 / /boot rw - ext4 /dev/sdd1 rw\n"
        "30 27 0:22 / /run rw - tmpfs tmpfs rw\n"
        "31 27 7:3 / /mnt/disk rw - xfs /dev/loop3 rw\n"
        "broken line\n");
    put(proc() + "/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 1 0 -2\n");
  }
  ~ProtectTest() override { files::remove_all(root_); }

  std::string sys() const { return root_ + "/sys"; }
  std::string proc() const { return root_ + "/proc"; }
  void put(const std::string& path, const std::string& text) { ASSERT_TRUE(write_file_atomically(path, text)); }
  void number(const std::string& number, const std::string& device) {
    files::create_symlink("../../block/" + device, sys() + "/dev/block/" + number);
  }
  Status check(const std::string& device) { return check_not_protected(device, proc(), sys()); }

  std::string root_;
};

TEST_F(ProtectTest, DataDisksAreFine) {
  for (const char* device : {"sdb", "sdb1", "/dev/sdb", "loop3"}) {
    Status status = check(device);
    EXPECT_TRUE(status) << device << ": " << (status ? "" : status.error().what);
  }
}

TEST_F(ProtectTest, WhatHoldsTheSystemIsNot) {
  struct Case {
    const char* device;
    const char* why;
  };
  for (const Case& each :
       {Case{"sda", "holds /"}, Case{"sda1", "sda1 holds /"}, Case{"sda2", "shares a disk"}, Case{"sdc", "holds /usr"},
        Case{"sdc1", "holds /usr"}, Case{"dm-0", "dm-0 holds /usr"}, Case{"vg-usr", "holds /usr"},
        Case{"/dev/mapper/vg-usr", "holds /usr"}, Case{"sdd", "holds /boot"}, Case{"sdd2", "holds /boot (by sdd1"}}) {
    Status status = check(each.device);
    ASSERT_FALSE(status) << each.device;
    EXPECT_THAT(status.error().what, testing::HasSubstr(each.why)) << each.device;
  }
}

TEST_F(ProtectTest, SwapIsProtectedByItself) {
  put(proc() + "/self/mountinfo", "27 1 0:5 / / rw - overlay overlay rw\n");
  Status status = check("sda");
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().what, testing::HasSubstr("swap space"));
  EXPECT_TRUE(check("sdd"));
}

TEST_F(ProtectTest, TheWayDownHasEverythingOnIt) {
  for (const char* folder : {"dm-1/slaves/sdb", "dm-1/slaves/loop3", "dm-2/slaves/dm-1"})  // a volume on two paths
    files::create_directories(sys() + "/block/" + folder);
  EXPECT_EQ(devices_below("dm-2", sys()), (std::set<std::string>{"dm-1", "dm-2", "loop3", "sdb"}));
  EXPECT_EQ(whole_disks("dm-2", sys()), (std::set<std::string>{"loop3", "sdb"}));
  EXPECT_EQ(devices_below("sdb1", sys()), (std::set<std::string>{"sdb", "sdb1"}));
  EXPECT_TRUE(whole_disks("sdz", sys()).empty());
}

TEST_F(ProtectTest, WhatIsNotThereIsNotFine) {
  EXPECT_FALSE(check("sdz"));
  EXPECT_FALSE(check(""));
  files::remove(proc() + "/self/mountinfo");
  EXPECT_FALSE(check("sdb")) << "what cannot be told is refused";
}

}  // namespace
}  // namespace culprit
