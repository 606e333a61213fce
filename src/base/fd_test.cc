#include "base/fd.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace culprit {
namespace {

using testing::HasSubstr;

class FdTest : public testing::Test {
 protected:
  FdTest() {
    std::string pattern = testing::TempDir() + "culprit-fd-XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  ~FdTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
};

bool is_open(int fd) {
  return fcntl(fd, F_GETFD) != -1;
}

TEST_F(FdTest, ClosesOnceAndMoves) {
  int number = open("/dev/null", O_RDONLY | O_CLOEXEC);
  {
    Fd first(number);
    Fd second(std::move(first));
    EXPECT_FALSE(first.valid());  // NOLINT: looking at the moved-from one is the point
    EXPECT_EQ(second.get(), number);
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST_F(FdTest, WritesAndReadsBack) {
  std::string text = std::string("a\0b\n", 4) + std::string(200'000, 'x');
  ASSERT_TRUE(write_file_atomically(path("f"), text));
  EXPECT_EQ(read_file(path("f")).value(), text);
  ASSERT_TRUE(write_file_atomically(path("f"), ""));
  EXPECT_EQ(read_file(path("f")).value(), "");
}

TEST_F(FdTest, AtomicWriteLeavesNothingElse) {
  ASSERT_TRUE(write_file_atomically(path("f"), "x"));
  std::filesystem::create_directory(path("taken"));
  EXPECT_FALSE(write_file_atomically(path("taken"), "x"));
  EXPECT_FALSE(write_file_atomically(path("no/such/folder"), "x"));
  int entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_)) ++entries;
  EXPECT_EQ(entries, 2);
}

TEST_F(FdTest, AtomicWriteReplacesOnlyFiles) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("pipe", path("link"));
  for (const char* name : {"pipe", "link"}) {
    Status written = write_file_atomically(path(name), "x");
    ASSERT_FALSE(written) << name;
    EXPECT_THAT(written.error().what, HasSubstr("not a regular file"));
  }
  EXPECT_TRUE(std::filesystem::is_fifo(path("pipe"))) << "a device must stay what it is";
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
}

TEST_F(FdTest, ReadingSaysWhatIsWrong) {
  Result<std::string> none = read_file(path("none"));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().errno_value, ENOENT);
  EXPECT_THAT(none.error().what, HasSubstr(path("none")));
  Result<std::string> folder = read_file(folder_);
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().what, HasSubstr("is a folder"));
}

TEST_F(FdTest, ReadingStopsAtTheLimit) {
  ASSERT_TRUE(write_file_atomically(path("f"), std::string(100, 'x')));
  EXPECT_TRUE(read_file(path("f"), 100));
  EXPECT_FALSE(read_file(path("f"), 99));
  EXPECT_FALSE(read_file("/dev/zero", 1 << 20)) << "endless files end at the limit";
}

TEST_F(FdTest, WriteErrorsAreReported) {
  Fd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  if (!full.valid()) GTEST_SKIP() << "there is no /dev/full here";
  Status written = write_all(full.get(), "x", "the device");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().errno_value, ENOSPC);
}

TEST_F(FdTest, DanglingLinksExist) {
  EXPECT_FALSE(path_exists(path("link")));
  std::filesystem::create_symlink("nowhere", path("link"));
  EXPECT_TRUE(path_exists(path("link")));
}

}  // namespace
}  // namespace culprit
