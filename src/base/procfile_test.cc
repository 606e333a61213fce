#include "base/procfile.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace culprit {
namespace {

TEST(ProcFile, ReadsAgainFromTheStart) {
  std::string path = testing::TempDir() + "culprit-procfile-" + std::to_string(getpid());
  ASSERT_TRUE(write_file_atomically(path, "1\n"));
  ProcFile file(path);
  EXPECT_EQ(file.read().value(), "1\n");
  EXPECT_EQ(file.read().value(), "1\n");
  std::filesystem::resize_file(path, 0);
  EXPECT_EQ(file.read().value(), "");
  std::filesystem::remove(path);
}

TEST(ProcFile, GrowsItsBuffer) {
  std::string path = testing::TempDir() + "culprit-procfile-large-" + std::to_string(getpid());
  std::string text(70'000, 'x');
  ASSERT_TRUE(write_file_atomically(path, text));
  EXPECT_EQ(ProcFile(path).read().value(), text);
  std::filesystem::remove(path);
}

TEST(ProcFile, ReadsTheRealOne) {
  ProcFile stat("/proc/self/stat");
  EXPECT_TRUE(stat.read().value().starts_with(std::to_string(getpid())));
}

TEST(ProcFile, OpensAgainAfterAnError) {
  std::string path = testing::TempDir() + "culprit-procfile-late-" + std::to_string(getpid());
  ProcFile file(path);
  Result<std::string_view> absent = file.read();
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().errno_value, ENOENT);
  ASSERT_TRUE(write_file_atomically(path, "here"));
  EXPECT_EQ(file.read().value(), "here");
  std::filesystem::remove(path);
}

TEST(ProcFile, WordsNumbersAndLines) {
  std::string_view text = "  sda\t12 -3 x7\nnext";
  std::string_view line;
  ASSERT_TRUE(next_line(text, line));
  EXPECT_EQ(next_word(line), "sda");
  int64_t number = 0;
  EXPECT_TRUE(next_number(line, number));
  EXPECT_EQ(number, 12);
  EXPECT_TRUE(next_number(line, number));
  EXPECT_EQ(number, -3);
  EXPECT_FALSE(next_number(line, number)) << "x7";
  EXPECT_FALSE(next_number(line, number)) << "the end";
  EXPECT_EQ(next_word(line), "");
  ASSERT_TRUE(next_line(text, line));
  EXPECT_EQ(line, "next");
  EXPECT_FALSE(next_line(text, line));
}

TEST(ProcFile, NumbersThatDoNotFitAreRefused) {
  std::string_view text = "18446744073709551615 9223372036854775807";
  int64_t number = 0;
  EXPECT_FALSE(next_number(text, number));
  EXPECT_TRUE(next_number(text, number));
  EXPECT_EQ(number, INT64_MAX);
}

}  // namespace
}  // namespace culprit
