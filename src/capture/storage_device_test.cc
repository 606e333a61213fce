#include "capture/storage_device.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace culprit {
namespace {

constexpr std::string_view kMounts =
    "22 1 0:21 / /proc rw - proc proc rw\n"
    "36 22 0:34 /@brick /data rw,noatime shared:1 - btrfs /dev/sdb rw\n"
    "37 22 8:17 / /mnt rw - xfs /dev/sdb1 rw\n";

TEST(StorageDevice, IsThatOfTheMount) {
  EXPECT_EQ(device_of_mount(kMounts, 36), uint64_t{34});
  EXPECT_EQ(device_of_mount(kMounts, 37), uint64_t{8} << 20 | 17);
  EXPECT_FALSE(device_of_mount(kMounts, 3));
  EXPECT_FALSE(device_of_mount("", 36));
  for (const char* line : {"36", "36 22", "36 22 8", "36 22 8:", "36 22 x:1 /", "36 22 -8:1 /", "36 22 8:9999999999 /"})
    EXPECT_FALSE(device_of_mount(line, 36)) << line;
}

TEST(StorageDevice, TheMountOfADescriptor) {
  EXPECT_EQ(parse_fdinfo_mount("pos:\t0\nflags:\t02000000\nmnt_id:\t36\nino:\t256\n"), 36);
  EXPECT_FALSE(parse_fdinfo_mount("pos:\t0\nmnt_id:\tx\n"));
  EXPECT_FALSE(parse_fdinfo_mount(""));
}

TEST(StorageDevice, FoldersOfThisMachine) {
  auto proc = storage_device(::getpid(), "/proc");
  ASSERT_TRUE(proc);
  EXPECT_NE(proc, storage_device(::getpid(), "/"));
  EXPECT_FALSE(storage_device(::getpid(), "/nonexistent/folder"));
  EXPECT_FALSE(storage_device(0x3fffffff, "/")) << "above every pid_max";
}

}  // namespace
}  // namespace culprit
