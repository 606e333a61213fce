#include "diskd/image.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "diskd/test_disks.h"

namespace culprit {
namespace {

constexpr int64_t kSize = 8 << 20;

std::string content(int fd) {
  std::string text(kSize, '\0');
  EXPECT_EQ(::pread(fd, text.data(), text.size(), 0), kSize);
  return text;
}

int64_t blocks(int fd) {
  struct stat info {};
  EXPECT_EQ(::fstat(fd, &info), 0);
  return info.st_blocks;
}

void put(int fd, int64_t offset, const std::string& text) {
  ASSERT_EQ(::pwrite(fd, text.data(), text.size(), offset), static_cast<ssize_t>(text.size()));
}

TEST(ImageFolder, OneDaemonAtATime) {
  ScratchFolder scratch;
  auto first = ImageFolder::open(scratch.path());
  ASSERT_TRUE(first);
  auto second = ImageFolder::open(scratch.path());
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().hint, testing::HasSubstr(cat(static_cast<int>(::getpid()))));
  { ImageFolder gone = std::move(*first); }
  EXPECT_TRUE(ImageFolder::open(scratch.path()));
  EXPECT_FALSE(ImageFolder::open(scratch.path() + "/nothing"));
}

TEST(ImageFolder, MakesSparseImagesAndFindsThemAgain) {
  ScratchFolder scratch;
  auto folder = ImageFolder::open(scratch.path());
  auto image = folder->create("s1", kSize);
  ASSERT_TRUE(image);
  EXPECT_LT(blocks(image->get()) * 512, kSize / 8);
  EXPECT_EQ(*file_size(image->get()), kSize);
  EXPECT_FALSE(folder->create("s1", kSize));
  ASSERT_TRUE(folder->create("s0", kSize));
  ASSERT_TRUE(write_file_atomically(scratch.path() + "/..img", "not a disk's name"));
  EXPECT_THAT(folder->names(), testing::ElementsAre("s0", "s1"));
  ASSERT_TRUE(folder->remove("s0"));
  EXPECT_THAT(folder->names(), testing::ElementsAre("s1"));
}

TEST(ImageFolder, ModelsOutliveTheDaemon) {
  ScratchFolder scratch;
  auto folder = ImageFolder::open(scratch.path());
  EXPECT_FALSE(folder->load_model("s1").modelled());
  ASSERT_TRUE(folder->store_model("s1", {15'000'000, 4'000'000}));
  EXPECT_EQ(folder->load_model("s1"), (DiskModel{15'000'000, 4'000'000}));
  ASSERT_TRUE(write_file_atomically(scratch.path() + "/s1.model", "rate=\xff"));
  EXPECT_FALSE(folder->load_model("s1").modelled());
}

TEST(ImageFolder, RestoreGivesBackTheSameBytesAndHoles) {
  ScratchFolder scratch;
  auto folder = ImageFolder::open(scratch.path());
  auto image = folder->create("s1", kSize);
  put(image->get(), 0, "at the start");
  put(image->get(), 5 << 20, std::string(1'500'000, 'm'));
  std::string before = content(image->get());
  int64_t blocks_before = blocks(image->get());
  EXPECT_FALSE(folder->restore("s1", image->get()));  // none taken yet
  ASSERT_TRUE(folder->snapshot("s1", image->get()));
  put(image->get(), 2 << 20, std::string(4 << 20, 'x'));
  ASSERT_NE(content(image->get()), before);
  ASSERT_TRUE(folder->restore("s1", image->get()));
  EXPECT_EQ(content(image->get()), before);
  EXPECT_LE(blocks(image->get()), blocks_before + 16);
  ASSERT_TRUE(folder->restore("s1", image->get()));  // as often as you like
  EXPECT_EQ(content(image->get()), before);
}

TEST(ImageFolder, AnEmptyImageStaysAHole) {
  ScratchFolder scratch;
  auto folder = ImageFolder::open(scratch.path());
  auto image = folder->create("s1", kSize);
  ASSERT_TRUE(folder->snapshot("s1", image->get()));
  put(image->get(), 0, std::string(kSize, 'x'));
  ASSERT_TRUE(folder->restore("s1", image->get()));
  EXPECT_EQ(content(image->get()), std::string(kSize, '\0'));
  EXPECT_LT(blocks(image->get()) * 512, kSize / 8);
}

}  // namespace
}  // namespace culprit
