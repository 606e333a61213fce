#include "lab/disks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"

namespace culprit {
namespace {

using testing::HasSubstr;

class LabDisksTest : public testing::Test {
 protected:
  LabDisksTest() {
    std::string pattern = testing::TempDir() + "culprit-lab-XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  ~LabDisksTest() override { std::filesystem::remove_all(folder_); }

  Lab lab(int servers = 3, int64_t disk_bytes = 4096) const {
    LabPlan plan;
    plan.name = "t1";
    plan.fs = "directory";
    plan.servers = servers;
    plan.disk_bytes = disk_bytes;
    plan.images = folder_ + "/images";
    return Lab(plan);
  }

  std::string folder_;
};

TEST_F(LabDisksTest, ALoopDeviceIsTheLabsByItsPlaceAndItsWholeName) {
  std::string place = lab().folder() + "/disks/";
  EXPECT_EQ(disk_behind(lab(), place + "t1-s1.img"), "t1-s1");
  EXPECT_EQ(disk_behind(lab(), place + "t1-s12.img (deleted)"), "t1-s12");
  EXPECT_EQ(disk_behind(lab(), "/t1-s2.img"), "t1-s2") << "of a daemon that is dead";
  EXPECT_EQ(disk_behind(lab(), "/t1-s2.img (deleted)"), "t1-s2");
  for (const std::string& other :
       {std::string(), std::string("t1-s1.img"), std::string("/home/me/t1-s1.img"), std::string("/t1-backup.img"),
        place + "t1-s1.img.old", place + "t1-s01.img", place + "t1-s0.img", place + "t1-s.img", place + "t1-c1.img",
        place + "t12-s1.img", place + "below/t1-s1.img", "/mnt" + place + "t1-s1.img",
        std::string("/run/culprit/labs/t12/disks/t1-s1.img"), std::string("/")})
    EXPECT_EQ(disk_behind(lab(), other), "") << other;
}

TEST_F(LabDisksTest, ADeviceThatSomebodyElseHasKeepsItsSettings) {
  std::string notes =
      "added loop3\n"
      "/sys/block/loop3/queue/scheduler mq-deadline\n"
      "/sys/class/bdi/7:3/max_bytes 100\n"
      "/sys/block/loop4/queue/scheduler none\n"
      "/sys/class/bdi/7:4/max_bytes 200\n"
      "broken\n";
  auto taken = [](const std::string& device) { return device == "loop4"; };
  EXPECT_EQ(settings_to_give_back(notes, taken), (DeviceSettings{{"/sys/block/loop3/queue/scheduler", "mq-deadline"},
                                                                 {"/sys/class/bdi/7:3/max_bytes", "100"}}));
  EXPECT_EQ(settings_to_give_back(notes, [](const std::string&) { return false; }).size(), 4u);
  EXPECT_TRUE(settings_to_give_back("", taken).empty());
}

TEST_F(LabDisksTest, UuidsDifferBetweenDisksLabsAndSeedsAndRepeat) {
  EXPECT_EQ(disk_uuid(1, "t1-s1"), disk_uuid(1, "t1-s1"));
  EXPECT_NE(disk_uuid(1, "t1-s1"), disk_uuid(1, "t1-s2"));
  EXPECT_NE(disk_uuid(1, "t1-s1"), disk_uuid(1, "t2-s1")) << "two labs at once: xfs mounts no UUID twice";
  EXPECT_NE(disk_uuid(1, "t1-s1"), disk_uuid(2, "t1-s1"));
  EXPECT_EQ(disk_uuid(1, "t1-s1").size(), 36u);
  EXPECT_EQ(disk_uuid(1, "t1-s1")[14], '4');
}

TEST_F(LabDisksTest, TheImagesHaveAFolderOfTheirOwn) {
  ASSERT_TRUE(make_images_folder(lab()));
  struct stat info {};
  ASSERT_EQ(::stat(lab().images_folder().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  Status again = make_images_folder(lab());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().errno_value, EEXIST);
  EXPECT_THAT(again.error().hint, HasSubstr("--images"));
  std::filesystem::remove(lab().images_folder());
  std::filesystem::create_directory_symlink(folder_, lab().images_folder());
  EXPECT_FALSE(make_images_folder(lab())) << "not through somebody's link";
}

TEST_F(LabDisksTest, DisksThatCannotBeFilledAreRefusedWithNumbers) {
  EXPECT_TRUE(check_room(lab(1)));
  Status refused = check_room(lab(32, int64_t{1} << 57));  // 4 EB: no disk has that
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr(cat(folder_, "/images has room for ")));
  EXPECT_THAT(refused.error().what, HasSubstr("for 32 servers would take"));
  EXPECT_THAT(refused.error().hint, HasSubstr("--disk-size"));
}

}  // namespace
}  // namespace culprit
