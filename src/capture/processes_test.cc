#include "capture/processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/fd.h"
#include "base/text.h"

namespace culprit {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

testing::Matcher<const ProcessId&> is_process(pid_t pid) {
  return Field(&ProcessId::pid, pid);
}

// A child that sleeps under a name of its own, in namespaces of its own if it may, until it is killed.
class Sleeper {
 public:
  explicit Sleeper(const char* name, int namespaces = 0) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_NAME, name);
      bool moved = namespaces == 0 || unshare(namespaces) == 0;
      if (write(ends[1], moved ? "y" : "n", 1) == 1) pause();
      _exit(0);
    }
    char byte = 0;
    EXPECT_EQ(read(ends[0], &byte, 1), 1);  // its name is set
    moved_ = byte == 'y';
    close(ends[0]);
    close(ends[1]);
  }
  ~Sleeper() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  bool moved() const { return moved_; }

 private:
  pid_t pid_ = -1;
  bool moved_ = false;
};

TEST(ProcessesTest, ByNameInANamespace) {
  Sleeper child("culprit_sleeps_long");  // 19 characters: the kernel keeps 15
  uint64_t here = network_namespace_of(getpid());
  ASSERT_NE(here, 0u);
  EXPECT_THAT(processes_named({"culprit_sleeps_long"}, here), ElementsAre(is_process(child.pid())));
  EXPECT_THAT(processes_named({"culprit_sleeps_"}, 0), ElementsAre(is_process(child.pid())));
  EXPECT_TRUE(processes_named({"culprit_sleeps_"}, here + 1).empty());
  EXPECT_TRUE(processes_named({}, here).empty());
}

TEST(ProcessesTest, OfANamespace) {
  EXPECT_THAT(processes_in(network_namespace_of(getpid())), Contains(is_process(getpid())));
  EXPECT_TRUE(processes_in(0).empty());
  EXPECT_EQ(network_namespace_of(-1), 0u);
}

TEST(ProcessesTest, MountsOfItsOwnKeepADaemonOnItsNode) {
  Sleeper daemon("culprit_mounts", CLONE_NEWNS);
  if (!daemon.moved()) GTEST_SKIP() << "a mount namespace needs root";
  uint64_t here = network_namespace_of(getpid());
  EXPECT_THAT(processes_named({"culprit_mounts"}, here), ElementsAre(is_process(daemon.pid())));
  EXPECT_THAT(processes_in(here), Contains(is_process(daemon.pid())));
}

TEST(ProcessesTest, ANetworkOfItsOwnIsAnotherNode) {
  Sleeper daemon("culprit_network", CLONE_NEWNET);
  if (!daemon.moved()) GTEST_SKIP() << "a network namespace needs root";
  uint64_t here = network_namespace_of(getpid());
  EXPECT_TRUE(processes_named({"culprit_network"}, here).empty());
  EXPECT_THAT(processes_named({"culprit_network"}, 0), ElementsAre(is_process(daemon.pid())));
}

TEST(ProcessesTest, TheGivenOnesComeFirstThenTheirChildren) {
  Sleeper child("culprit_child");
  auto me = identify_process(getpid());
  ASSERT_TRUE(me);
  std::vector<ProcessId> family = with_descendants({*me});
  ASSERT_FALSE(family.empty());
  EXPECT_EQ(family.front().pid, getpid());
  EXPECT_THAT(family, Contains(is_process(child.pid())));
  EXPECT_THAT(family, Not(Contains(is_process(getppid()))));
  family = with_descendants({{getpid(), me->start_ticks + 1}});  // one that is gone has no children
  EXPECT_EQ(family.size(), 1u);
}

TEST(ProcessesTest, Threads) {
  EXPECT_THAT(threads_of(getpid()), Contains(getpid()));
  EXPECT_TRUE(threads_of(-1).empty());
}

// As root the closed folder can be opened: nobody is in it then either.
TEST(ProcessesTest, AGroupThatCannotBeOpenedHidesNoOther) {
  namespace fs = std::filesystem;
  Sleeper child("culprit_grouped");
  std::string group = cat(testing::TempDir(), "culprit-group-", getpid());
  fs::remove_all(group);
  for (const char* name : {"/a/below", "/closed/below", "/z"}) fs::create_directories(group + name);
  ASSERT_TRUE(write_file_atomically(group + "/a/below/cgroup.procs", cat(getpid(), "\n")));
  ASSERT_TRUE(write_file_atomically(group + "/z/cgroup.procs", cat(child.pid(), "\n0\nx\n")));
  fs::permissions(group + "/closed", fs::perms::none);
  EXPECT_THAT(members_below(group), UnorderedElementsAre(is_process(getpid()), is_process(child.pid())));
  EXPECT_TRUE(members_below(group + "/gone").empty());
  fs::permissions(group + "/closed", fs::perms::owner_all);
  fs::remove_all(group);
}

TEST(ProcessesTest, AFolderThatIsNoControlGroup) {
  auto processes = processes_of_cgroup("no/such/group");
  ASSERT_FALSE(processes);
  EXPECT_THAT(processes.error().what, HasSubstr("not a control group"));
  EXPECT_FALSE(processes.error().hint.empty());
}

}  // namespace
}  // namespace culprit
