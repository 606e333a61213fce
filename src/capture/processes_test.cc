#include "capture/processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace culprit {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::Not;

testing::Matcher<const ProcessId&> is_process(pid_t pid) {
  return Field(&ProcessId::pid, pid);
}

// A child that sleeps under a name of its own, until it is killed.
class Sleeper {
 public:
  explicit Sleeper(const char* name) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_NAME, name);
      if (write(ends[1], "x", 1) == 1) pause();
      _exit(0);
    }
    char byte = 0;
    EXPECT_EQ(read(ends[0], &byte, 1), 1);  // its name is set
    close(ends[0]);
    close(ends[1]);
  }
  ~Sleeper() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

TEST(ProcessesTest, ByNameInANamespace) {
  Sleeper child("culprit_sleeps_long");  // 19 characters: the kernel keeps 15
  uint64_t here = mount_namespace_of(getpid());
  ASSERT_NE(here, 0u);
  EXPECT_THAT(processes_named({"culprit_sleeps_long"}, here), ElementsAre(is_process(child.pid())));
  EXPECT_THAT(processes_named({"culprit_sleeps_"}, 0), ElementsAre(is_process(child.pid())));
  EXPECT_TRUE(processes_named({"culprit_sleeps_"}, here + 1).empty());
  EXPECT_TRUE(processes_named({}, here).empty());
}

TEST(ProcessesTest, OfANamespace) {
  EXPECT_THAT(processes_in(mount_namespace_of(getpid())), Contains(is_process(getpid())));
  EXPECT_TRUE(processes_in(0).empty());
  EXPECT_EQ(mount_namespace_of(-1), 0u);
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

TEST(ProcessesTest, AFolderThatIsNoControlGroup) {
  auto processes = processes_of_cgroup("no/such/group");
  ASSERT_FALSE(processes);
  EXPECT_THAT(processes.error().what, HasSubstr("not a control group"));
  EXPECT_FALSE(processes.error().hint.empty());
}

}  // namespace
}  // namespace culprit
