#include "inject/stored_files.h"

#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "inject/test_daemon.h"

namespace culprit {
namespace {

std::vector<StoredFile> numbered(size_t count) {
  std::vector<StoredFile> files;
  for (size_t i = 0; i < count; ++i) files.push_back({i + 100, {cat("f", i)}});
  return files;
}

std::set<uint64_t> inodes(const std::vector<StoredFile>& files) {
  std::set<uint64_t> set;
  for (const StoredFile& file : files) set.insert(file.inode);
  return set;
}

TEST(StoredFilesTest, AFileWithTwoNamesIsOne) {
  TestFolder folder;
  folder.write("b", "1");
  folder.write("a/c", "2");
  folder.write(".internal/x", "3");
  std::filesystem::create_hard_link(folder.path() + "/b", folder.path() + "/.internal/b2");
  std::filesystem::create_symlink("b", folder.path() + "/link");
  auto files = list_files(folder.path());
  ASSERT_TRUE(files);
  ASSERT_EQ(files->size(), 3U);
  EXPECT_EQ(files->at(0).paths, (std::vector<std::string>{"a/c"}));
  EXPECT_EQ(files->at(1).paths, (std::vector<std::string>{"b", ".internal/b2"}));
  EXPECT_EQ(files->at(2).paths, (std::vector<std::string>{".internal/x"}));
  EXPECT_FALSE(list_files(folder.path() + "/none"));
}

TEST(StoredFilesTest, TheSeedChoosesAndRepeats) {
  auto first = choose_share(numbered(50), 10, 7);
  EXPECT_EQ(first.size(), 5U);
  EXPECT_EQ(inodes(first).size(), 5U);
  EXPECT_EQ(inodes(first), inodes(choose_share(numbered(50), 10, 7)));
  EXPECT_NE(inodes(first), inodes(choose_share(numbered(50), 10, 8)));
  EXPECT_EQ(choose_share(numbered(50), 0.001, 7).size(), 1U);  // never nothing
  EXPECT_EQ(choose_share(numbered(50), 100, 7).size(), 50U);
  EXPECT_TRUE(choose_share({}, 10, 7).empty());
}

TEST(StoredFilesTest, TheScriptNamesEachInodeOnce) {
  auto files = numbered(20);
  std::string script = damage_script(files, 3);
  EXPECT_EQ(script, damage_script(files, 3));
  EXPECT_EQ(script.find("INODE"), std::string::npos);
  for (const StoredFile& file : files) {
    std::string name = cat("<", file.inode, ">");
    size_t at = script.find(name);
    ASSERT_NE(at, std::string::npos) << name;
    EXPECT_EQ(script.find(name, at + 1), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace culprit
