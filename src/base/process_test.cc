#include "base/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

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

TEST(ProcessTest, TextGoesBothWays) {
  auto process = parse_process("17 4711\n");
  ASSERT_TRUE(process);
  EXPECT_EQ(format_process(*process), "17 4711");
  for (const char* text : {"", "17", "0 1", "-3 4", "17 4711 x", "99999999999 1"})
    EXPECT_FALSE(parse_process(text)) << text;
}

}  // namespace
}  // namespace culprit
