#include "base/process.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"

namespace culprit {
namespace {

TEST(ProcessTest, WeAreAliveAndNobodyElse) {
  auto me = identify_process(getpid());
  ASSERT_TRUE(me);
  EXPECT_TRUE(is_alive(*me));
  EXPECT_FALSE(is_alive({me->pid, me->start_ticks + 1}));
  EXPECT_FALSE(signal_process({me->pid, me->start_ticks + 1}, SIGKILL));
}

TEST(ProcessTest, AZombieIsGone) {
  pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  auto process = identify_process(child);
  ASSERT_TRUE(process);
  EXPECT_FALSE(wait_gone(*process, kNsPerMs));
  EXPECT_TRUE(signal_process(*process, SIGKILL));
  EXPECT_TRUE(wait_gone(*process, 10 * kNsPerSecond));
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(identify_process(child));
}

// From now on the call fails with the error in this process, as in an old kernel or a strict container.
bool forbid_call(uint32_t number, uint32_t error) {
  sock_filter steps[] = {{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
                         {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, number},
                         {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | error},
                         {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
  sock_fprog program{.len = 4, .filter = steps};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(ProcessTest, SignalsAlsoWithoutDescriptorsOfProcesses) {
  for (uint32_t call : {uint32_t{SYS_pidfd_open}, uint32_t{SYS_pidfd_send_signal}}) {
    for (uint32_t error : {uint32_t{ENOSYS}, uint32_t{EPERM}}) {
      pid_t target = fork();
      if (target == 0) {
        pause();
        _exit(0);
      }
      auto process = identify_process(target);
      ASSERT_TRUE(process);
      pid_t sender = fork();
      if (sender == 0) {
        if (!forbid_call(call, error)) _exit(77);
        bool other = signal_process({process->pid, process->start_ticks + 1}, SIGKILL);
        _exit(!other && signal_process(*process, SIGKILL) ? 0 : 1);
      }
      int status = 0;
      ASSERT_EQ(waitpid(sender, &status, 0), sender);
      kill(target, SIGKILL);
      ASSERT_EQ(waitpid(target, nullptr, 0), target);
      if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "no filters of system calls here";
      EXPECT_EQ(status, 0) << call << " " << error;
    }
  }
}

// As after pthread_exit in main: fields 3 and 20 are the state and the number of threads.
TEST(ProcessTest, WithoutItsFirstThreadItLivesAsLongAsAnother) {
  namespace fs = std::filesystem;
  std::string proc = cat(testing::TempDir(), "culprit-process-", getpid());
  fs::create_directories(proc + "/17");
  struct Case {
    const char* state;
    int threads;
    bool alive;
  };
  for (const Case& one : {Case{"Z", 3, true}, Case{"Z", 2, true}, Case{"Z", 1, false}, Case{"Z", 0, false},
                          Case{"X", 2, false}, Case{"S", 1, true}}) {
    std::string stat = cat("17 (a) b) ", one.state, " 1 17 17 0 -1 4 0 0 0 0 0 0 0 0 20 0 ", one.threads, " 0 99 0\n");
    ASSERT_TRUE(write_file_atomically(proc + "/17/stat", stat));
    EXPECT_EQ(is_alive({17, 99}, proc), one.alive) << stat;
    EXPECT_FALSE(is_alive({17, 98}, proc)) << stat;
    EXPECT_EQ(process_state({17, 99}, proc), one.state[0]);
  }
  fs::remove_all(proc);
}

TEST(ProcessTest, TextGoesBothWays) {
  auto process = parse_process("17 4711\n");
  ASSERT_TRUE(process);
  EXPECT_EQ(format_process(*process), "17 4711");
  for (const char* text : {"", "17", "0 1", "-3 4", "17 4711 x", "99999999999 1"})
    EXPECT_FALSE(parse_process(text)) << text;
}

}  // namespace
}  // namespace culprit
