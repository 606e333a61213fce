#include "inject/undo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "base/process.h"
#include "inject/journal.h"
#include "inject/preflight.h"
#include "inject/test_daemon.h"

namespace culprit {
namespace {

// A fault whose state is here: how many undos it takes, and whether a look says anything.
int undos_needed = 0;
int undos = 0;
bool blind = false;

Status fake_undo(const FaultWork&) {
  ++undos;
  return Ok{};
}
Result<bool> fake_active(const FaultWork&) {
  if (blind) return system_error("nobody can tell", 0);
  return undos < undos_needed;
}

FaultInfo fake_fault() {
  FaultInfo fault;
  fault.name = "fake";
  fault.summary = "for tests";
  fault.undo = fake_undo;
  fault.active = fake_active;
  return fault;
}

UndoResult undo_with(int needed, bool cannot_tell) {
  undos_needed = needed;
  undos = 0;
  blind = cannot_tell;
  return undo_verified(fake_fault(), FaultWork{}, kUndoTries, [](int64_t) {});
}

TEST(Undo, CountsOnlyWhenALookSaysSo) {
  UndoResult result = undo_with(1, false);
  EXPECT_TRUE(result.clean);
  EXPECT_EQ(undos, 1);
  EXPECT_GT(result.t_ns, 0);
}

TEST(Undo, IsTriedAgain) {
  EXPECT_TRUE(undo_with(3, false).clean);
  EXPECT_EQ(undos, 3);
}

TEST(Undo, GivesUpAndSaysWhy) {
  UndoResult result = undo_with(100, false);
  EXPECT_FALSE(result.clean);
  EXPECT_EQ(undos, kUndoTries);
  EXPECT_THAT(result.error.what, testing::HasSubstr("still in force"));
}

TEST(Undo, UnknownIsNotClean) {
  UndoResult result = undo_with(0, true);
  EXPECT_FALSE(result.clean);
  EXPECT_THAT(result.error.what, testing::HasSubstr("nobody can tell"));
}

class UndoAllTest : public testing::Test {
 protected:
  UndoAllTest() {
    std::string pattern = testing::TempDir() + "culprit-undo-XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  ~UndoAllTest() override { std::filesystem::remove_all(folder_); }

  void leave(const std::string& node, uint64_t netns, const std::string& fault = "none", const std::string& boot = "") {
    JournalText text;
    text.part.id = "ab12";
    text.part.fault = fault;
    text.part.node = node;
    text.part.role = "target";
    text.part.duration_ns = text.part.lease_ns = 1'000'000'000;
    text.netns = netns;
    text.boot = boot;
    text.written_ns = wall_now_ns();
    ASSERT_TRUE(Journal::create(folder_, text));
  }

  std::string folder_;
};

TEST_F(UndoAllTest, OrphansOfTheNodeAreUndoneAndGone) {
  leave("s1", network_namespace());
  leave("s2", network_namespace());
  ASSERT_EQ(journal_status(folder_, "s1").size(), 1u);
  EXPECT_EQ(journal_status(folder_, "s1")[0].state, "expired");
  auto reports = undo_all(folder_, "s1", Scope::orphans);
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].state, "undone");
  EXPECT_EQ(reports[0].node, "s1");
  EXPECT_TRUE(undo_all(folder_, "s1", Scope::orphans).empty());
  EXPECT_EQ(undo_all(folder_, "", Scope::orphans).size(), 1u) << "without a name: all of this namespace";
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(UndoAllTest, AFolderThatCannotBeReadIsNotAnEmptyOne) {
  const std::string no_folder = folder_ + "/file";
  std::ofstream(no_folder) << "x";
  for (const Scope scope : {Scope::orphans, Scope::everything}) {
    auto reports = undo_all(no_folder, "s1", scope);
    ASSERT_EQ(reports.size(), 1u);
    EXPECT_EQ(reports[0].state, "unreadable");
    EXPECT_THAT(reports[0].detail, testing::HasSubstr("cannot look into it"));
  }
  EXPECT_EQ(journal_status(no_folder, "s1").size(), 1u);
  EXPECT_TRUE(undo_all(folder_ + "/none", "s1", Scope::everything).empty()) << "there was never a fault";
}

TEST_F(UndoAllTest, AnotherNamespacesJournalIsLeftUnlessThatIsGone) {
  uint64_t gone = 1;  // no namespace has this inode
  leave("s1", gone);
  EXPECT_TRUE(undo_all(folder_, "", Scope::orphans).empty());
  EXPECT_EQ(undo_all(folder_, "s1", Scope::orphans).size(), 1u);
}

TEST_F(UndoAllTest, AfterABootTheNumbersOfNamespacesMeanNothing) {
  uint64_t gone = 1;
  leave("s1", gone, "none", "an earlier boot");
  EXPECT_TRUE(undo_all(folder_, "s2", Scope::orphans).empty()) << "the name still counts";
  EXPECT_EQ(undo_all(folder_, "", Scope::orphans).size(), 1u);
  leave("s1", gone, "none", boot_id());
  EXPECT_TRUE(undo_all(folder_, "", Scope::orphans).empty()) << "of this boot, and another namespace's";
}

TEST_F(UndoAllTest, AllFoldersAreLookedAt) {
  std::string kept = folder_ + "/kept";
  std::filesystem::create_directory(kept);
  leave("s1", network_namespace());
  std::filesystem::rename(folder_ + "/ab12.s1.journal", kept + "/ab12.s1.journal");
  leave("s1", network_namespace());
  std::vector<std::string> both = {folder_, kept};
  EXPECT_EQ(journal_status(both, "s1").size(), 2u);
  EXPECT_EQ(undo_all(both, "s1", Scope::orphans).size(), 2u);
  EXPECT_TRUE(std::filesystem::is_empty(kept));
  both.push_back(folder_ + "/there is none");
  EXPECT_TRUE(undo_all(both, "s1", Scope::everything).empty());
}

TEST_F(UndoAllTest, WhatCannotBeReadOrUnderstoodStays) {
  ASSERT_TRUE(write_file_atomically(folder_ + "/x.s1.journal", "garbage"));
  leave("s1", network_namespace(), "fault_of_tomorrow");
  auto reports = undo_all(folder_, "s1", Scope::orphans);
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].state, "stuck");
  EXPECT_EQ(reports[1].state, "unreadable");
  EXPECT_EQ(undo_all(folder_, "s1", Scope::orphans).size(), 2u) << "nothing was thrown away";
}

TEST_F(UndoAllTest, WhatNeverBecameAJournalIsRemoved) {
  ASSERT_TRUE(write_file_atomically(folder_ + "/.new-ab12.s1", "culprit-fault 1\n"));
  EXPECT_TRUE(undo_all(folder_, "s1", Scope::orphans).empty());
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(UndoAllTest, OneWithALivingGuardIsAtWork) {
  JournalText text;
  text.part.id = "cd34";
  text.part.fault = "none";
  text.part.node = "s1";
  text.part.role = "target";
  text.part.duration_ns = text.part.lease_ns = 1;
  text.netns = network_namespace();
  text.guard = "4711 1";
  auto journal = Journal::create(folder_, text);
  ASSERT_TRUE(journal);
  EXPECT_TRUE(undo_all(folder_, "s1", Scope::orphans).empty());
  auto status = journal_status(folder_, "s1");
  ASSERT_EQ(status.size(), 1u);
  EXPECT_EQ(status[0].state, "at-work");
  EXPECT_EQ(status[0].detail, "guard 4711");
}

// This guard ends at the signal without a word, as one that is stuck would when it is killed: what counts is that it
// hears it at all.
TEST_F(UndoAllTest, AGuardThatIsStoppedHearsThatItIsToEnd) {
  pid_t child = ::fork();
  if (child == 0) {
    JournalText text;
    text.part.id = "ef56";
    text.part.fault = "none";
    text.part.node = "s1";
    text.part.role = "target";
    text.part.duration_ns = text.part.lease_ns = 1;
    text.netns = network_namespace();
    text.guard = format_process(identify_process(::getpid()).value());
    auto journal = Journal::create(folder_, text);
    ::raise(SIGSTOP);
    while (journal) ::pause();
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  auto reports = undo_all(folder_, "s1", Scope::everything);
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].state, "undone") << reports[0].detail;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
}

TEST(Preflight, ParametersAreFilledIn) {
  const FaultInfo* fault = find_fault("receive_pktloss");
  ASSERT_NE(fault, nullptr);
  EXPECT_EQ(fill_params(*fault, {}).value().at("percent"), "5");
  EXPECT_EQ(fill_params(*fault, {{"percent", "0.5"}}).value().at("percent"), "0.5");
  EXPECT_FALSE(fill_params(*fault, {{"per", "1"}}));
}

TEST(Preflight, TypedParametersSayWhatTheyTake) {
  FaultPart part;
  part.fault = "x";
  part.params = {{"share", "2"}, {"bytes", "1MB"}, {"time", "soon"}};
  auto share = number_param(part, "share", 0.01, 1);
  ASSERT_FALSE(share);
  EXPECT_EQ(share.error().what, "x: share cannot be '2'");
  EXPECT_EQ(share.error().hint, "it takes 0.01 to 1");
  EXPECT_EQ(bytes_param(part, "bytes", 1, 2'000'000).value(), 1'000'000);
  EXPECT_FALSE(duration_param(part, "time", 1, 2));
  EXPECT_FALSE(number_param(part, "missing", 0, 1));
  EXPECT_EQ(word_param(part, "missing"), "");
}

TEST(Preflight, ALabsDiskOfAnotherNodeIsRefused) {
  TestFolder tree;
  FaultWork work;
  work.part.node = "s1";
  work.proc = tree.path() + "/proc";
  work.sys = tree.path() + "/sys";
  tree.write("proc/sys/kernel/hostname", "t1-s1\n");
  tree.write("sys/block/loop1/loop/backing_file", "/run/culprit/labs/t1/disks/t1-s1.img\n");
  tree.write("sys/block/loop2/loop/backing_file", "/run/culprit/labs/t1/disks/t1-s2.img\n");
  tree.write("sys/block/loop3/loop/backing_file", "/run/culprit/labs/t2/disks/t2-s1.img\n");
  tree.write("sys/block/loop4/loop/backing_file", "/mnt/data.img\n");
  tree.write("sys/block/sdb/size", "1\n");
  for (const char* fine : {"loop1", "/dev/loop1", "loop4", "sdb"}) EXPECT_TRUE(check_own_disk(fine, work)) << fine;
  for (const char* other : {"loop2", "loop3"}) {
    Status refused = check_own_disk(other, work);
    ASSERT_FALSE(refused) << other;
    EXPECT_THAT(refused.error().what, testing::HasSubstr(" now, and s1 is t1-s1"));
    EXPECT_THAT(refused.error().hint, testing::HasSubstr("lab up"));
  }
}

TEST(Preflight, AMissingToolNamesItsPackage) {
  FaultInfo fault;
  fault.name = "x";
  fault.summary = "for tests";
  fault.tools = {"culprit-no-such-tool"};
  FaultWork work;
  work.part.node = "s1";
  Status status = check_tools(fault, work.part);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().what, "x needs the program culprit-no-such-tool, which s1 does not have");
  EXPECT_THAT(status.error().hint, testing::HasSubstr("install the package"));
}

}  // namespace
}  // namespace culprit
