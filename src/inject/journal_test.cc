#include "inject/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/text.h"
#include "inject/named_lock.h"

namespace culprit {
namespace {

class JournalTest : public testing::Test {
 protected:
  JournalTest() {
    std::string pattern = testing::TempDir() + "culprit-journal-XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  ~JournalTest() override { std::filesystem::remove_all(folder_); }

  JournalText text(const std::string& node) const {
    JournalText text;
    text.part.id = "ab12";
    text.part.fault = "none";
    text.part.node = node;
    text.part.role = "target";
    text.part.duration_ns = text.part.lease_ns = 1'000'000'000;
    text.netns = network_namespace();
    return text;
  }
  std::vector<FoundJournal> found() const {
    return find_journals(folder_, [](const FoundJournal&) { return true; });
  }

  std::string folder_;
};

TEST_F(JournalTest, IsLockedWhileItsWriterLivesThenAnOrphan) {
  {
    auto journal = Journal::create(folder_, text("s1"));
    ASSERT_TRUE(journal) << journal.error().message();
    ASSERT_TRUE(journal->append("note a b\napplied\n"));
    auto seen = found();
    ASSERT_EQ(seen.size(), 1u);
    EXPECT_FALSE(seen[0].orphaned());
    EXPECT_EQ(seen[0].text.part.node, "s1");
    EXPECT_EQ(seen[0].text.notes.at("a"), "b");
    EXPECT_TRUE(seen[0].text.applied);
  }
  EXPECT_TRUE(found()[0].orphaned());
}

TEST_F(JournalTest, TheSameOneTwiceIsRefused) {
  auto first = Journal::create(folder_, text("s1"));
  ASSERT_TRUE(first);
  EXPECT_FALSE(Journal::create(folder_, text("s1")));
  EXPECT_TRUE(Journal::create(folder_, text("s2"))) << "nodes may share the folder";
  EXPECT_EQ(found().size(), 2u);
}

TEST_F(JournalTest, RemovedLeavesNothing) {
  auto journal = Journal::create(folder_, text("s1"));
  ASSERT_TRUE(journal);
  ASSERT_TRUE(journal->remove());
  ASSERT_TRUE(journal->remove()) << "again is harmless";
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(JournalTest, DamagedOnesAreFoundAndSayWhy) {
  ASSERT_TRUE(write_file_atomically(folder_ + "/x.s1.journal", "garbage"));
  ASSERT_TRUE(write_file_atomically(folder_ + "/other.file", "not a journal"));
  auto seen = found();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_THAT(seen[0].problem, testing::HasSubstr("not the head"));
}

TEST_F(JournalTest, FaultsThatLeaveFilesHaveAJournalThatStays) {
  const char* set = ::getenv("CULPRIT_RUNTIME_DIR");
  std::string before = set ? set : "";
  ::setenv("CULPRIT_RUNTIME_DIR", folder_.c_str(), 1);
  EXPECT_EQ(kept_faults_folder(), folder_ + "/faults");
  EXPECT_EQ(journal_folders(), std::vector<std::string>{folder_ + "/faults"});
  ASSERT_TRUE(make_kept_faults_folder());
  EXPECT_TRUE(std::filesystem::is_directory(folder_ + "/faults"));
  ::unsetenv("CULPRIT_RUNTIME_DIR");
  if (!path_exists("/run/culprit-lab")) {
    EXPECT_EQ(journal_folders(), (std::vector<std::string>{"/run/culprit/faults", "/var/lib/culprit/faults"}));
  }
  if (set) ::setenv("CULPRIT_RUNTIME_DIR", before.c_str(), 1);
  for (const char* name : {"err_space", "err_inodes"}) EXPECT_TRUE(find_fault(name)->leaves_files) << name;
  EXPECT_FALSE(find_fault("cpu_hog")->leaves_files);
}

TEST_F(JournalTest, NetworkNamespacesAreRecognised) {
  EXPECT_NE(network_namespace(), 0u);
  EXPECT_TRUE(network_namespace_lives(network_namespace()));
  EXPECT_FALSE(network_namespace_lives(1));
}

TEST_F(JournalTest, ALockNamesItsHolderAndGoesWithIt) {
  std::string path = folder_ + "/lock";
  {
    auto first = NamedLock::take(path, "process 7 with hang", "busy", 0);
    ASSERT_TRUE(first);
    auto second = NamedLock::take(path, "me", "busy", 0);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().what, "busy: process 7 with hang");
  }
  EXPECT_FALSE(path_exists(path));
  EXPECT_TRUE(NamedLock::take(path, "me", "busy", 0));
}

TEST_F(JournalTest, ALockOfADeadProcessIsFree) {
  std::string path = folder_ + "/lock";
  pid_t child = ::fork();
  if (child == 0) {
    auto lock = NamedLock::take(path, "a child", "busy", 0);
    ::_exit(lock ? 0 : 1);  // without its destructor, as a kill -9 would
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(path_exists(path)) << "the file stays";
  EXPECT_TRUE(NamedLock::take(path, "me", "busy", 0));
}

}  // namespace
}  // namespace culprit
