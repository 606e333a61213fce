// The faults that act on processes, on a process of the test: apply -> active -> undo -> not active -> undo again.
#include <gtest/gtest.h>

#include "inject/limits.h"
#include "inject/test_daemon.h"

namespace culprit {
namespace {

const FaultInfo& fault(std::string_view name) {
  const FaultInfo* found = find_fault(name);
  CHECK(found) << name;
  return *found;
}

FaultWork work_of(const FaultInfo& info, const TestDaemon& daemon) {
  FaultWork work{.part = daemon.part, .notes = {}};
  work.part.fault = info.name;
  for (const FaultParam& param : info.params) work.part.params.emplace(param.name, param.fallback);
  return work;
}

void expect_active(const FaultInfo& info, const FaultWork& work, bool expected) {
  auto active = info.active(work);
  ASSERT_TRUE(active) << info.name << ": " << active.error().message();
  EXPECT_EQ(*active, expected) << info.name;
}

class ProcessFaultTest : public testing::TestWithParam<const char*> {};

TEST_P(ProcessFaultTest, ComesAndGoes) {
  const FaultInfo& info = fault(GetParam());
  TestDaemon daemon;
  daemon.start();
  FaultWork work = work_of(info, daemon);
  Status prepared = info.prepare(work);
  ASSERT_TRUE(prepared) << prepared.error().message();
  expect_active(info, work, false);
  ASSERT_TRUE(info.undo(work));  // nothing was done yet: harmless
  EXPECT_EQ(daemon.running().size(), 1U);
  Status applied = info.apply(work);
  ASSERT_TRUE(applied) << applied.error().message();
  expect_active(info, work, true);
  FaultWork from_journal{.part = work.part, .notes = work.notes};
  Status undone = info.undo(from_journal);
  ASSERT_TRUE(undone) << undone.error().message();
  expect_active(info, from_journal, false);
  EXPECT_EQ(daemon.running().size(), 1U);
  EXPECT_TRUE(info.undo(from_journal));
  expect_active(info, from_journal, false);
}

TEST_P(ProcessFaultTest, RefusesWithoutADaemon) {
  const FaultInfo& info = fault(GetParam());
  TestDaemon daemon;
  FaultWork work = work_of(info, daemon);
  EXPECT_FALSE(info.prepare(work));
  FaultWork empty{.part = work.part, .notes = {}};
  EXPECT_TRUE(info.undo(empty));
  expect_active(info, empty, false);
}

INSTANTIATE_TEST_SUITE_P(Faults, ProcessFaultTest,
                         testing::Values("crash", "hang", "err_files", "err_fsize", "err_vmsize"),
                         [](const auto& each) { return std::string(each.param); });

TEST(CrashTest, TheSignalIsAChoice) {
  TestDaemon daemon;
  daemon.start();
  FaultWork work = work_of(fault("crash"), daemon);
  work.part.params["signal"] = "STOP";
  auto refused = fault("crash").prepare(work);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  work.part.params["signal"] = "SIGTERM";
  ASSERT_TRUE(fault("crash").prepare(work));
  ASSERT_TRUE(fault("crash").apply(work));
  EXPECT_TRUE(daemon.running().empty());
  EXPECT_TRUE(fault("crash").undo(work));
}

TEST(HangTest, IsStateTAndRefusesWhatIsStopped) {
  TestDaemon daemon;
  daemon.start();
  FaultWork work = work_of(fault("hang"), daemon);
  ASSERT_TRUE(fault("hang").prepare(work));
  ASSERT_TRUE(fault("hang").apply(work));
  EXPECT_EQ(daemon.running().at(0).state, 'T');
  FaultWork second = work_of(fault("hang"), daemon);
  EXPECT_FALSE(fault("hang").prepare(second));
  ASSERT_TRUE(fault("hang").undo(work));
  EXPECT_NE(daemon.running().at(0).state, 'T');
}

TEST(HangTest, AProcessThatTookTheNumberIsLeftAlone) {
  TestDaemon daemon;
  daemon.start();
  FaultWork work = work_of(fault("hang"), daemon);
  ASSERT_TRUE(fault("hang").prepare(work));
  pid_t pid = daemon.running().at(0).id.pid;
  work.notes["daemon0"] = cat(pid, " 1 0 0 0 18");  // another start time: another process
  ::kill(pid, SIGSTOP);
  EXPECT_TRUE(fault("hang").undo(work));
  expect_active(fault("hang"), work, false);
  for (int tries = 0; tries < 2000 && daemon.running().at(0).state != 'T'; ++tries) ::usleep(1000);
  EXPECT_EQ(daemon.running().at(0).state, 'T');
}

TEST(ErrFilesTest, TheLimitIsWhatIsOpen) {
  TestDaemon daemon;
  daemon.start();
  FaultWork work = work_of(fault("err_files"), daemon);
  work.part.params["spare"] = "2";
  ASSERT_TRUE(fault("err_files").prepare(work));
  ASSERT_TRUE(fault("err_files").apply(work));
  auto limit = get_limit(work, daemon.running().at(0).id, RLIMIT_NOFILE);
  ASSERT_TRUE(limit);
  EXPECT_GE(limit->rlim_cur, 2U);
  EXPECT_LT(limit->rlim_cur, limit->rlim_max);
  EXPECT_TRUE(fault("err_files").undo(work));
}

TEST(ErrFsizeTest, ADaemonThatDiedOfItIsBackAfterUndo) {
  TestDaemon daemon;
  daemon.start();
  FaultWork work = work_of(fault("err_fsize"), daemon);
  ASSERT_TRUE(fault("err_fsize").prepare(work));
  ASSERT_TRUE(fault("err_fsize").apply(work));
  ProcessId process = daemon.running().at(0).id;
  ::kill(process.pid, SIGXFSZ);
  ASSERT_TRUE(wait_gone(process, 5 * kNsPerSecond));
  expect_active(fault("err_fsize"), work, true);
  ASSERT_TRUE(fault("err_fsize").undo(work));
  expect_active(fault("err_fsize"), work, false);
  auto limit = get_limit(work, daemon.running().at(0).id, RLIMIT_FSIZE);
  ASSERT_TRUE(limit);
  EXPECT_EQ(limit->rlim_cur, noted_services(work)->at(0).limits.at(RLIMIT_FSIZE).rlim_cur);
}

}  // namespace
}  // namespace culprit
