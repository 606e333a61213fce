#include "base/subprocess.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/units.h"

namespace culprit {
namespace {

Result<Output> shell(const std::string& script, std::string_view input = "", int64_t timeout_ns = 20 * kNsPerSecond) {
  return run_command({"sh", "-c", script}, timeout_ns, input);
}

// Reads the child's stdout until it holds `wanted` or ends; bounded.
std::string read_until(Child& child, std::string_view wanted) {
  std::string text;
  for (int i = 0; i < 200 && text.find(wanted) == std::string::npos; ++i) {
    pollfd fd{child.out.get(), POLLIN, 0};
    ::poll(&fd, 1, 100);
    if (read_available(child.out.get(), text, 1 << 20) == ReadState::ended) break;
  }
  return text;
}

bool process_gone(pid_t pid) {
  auto state = read_file(cat("/proc/", pid, "/stat"));
  return !state || state->find(") Z") != std::string::npos;
}

bool wait_gone(pid_t pid) {
  for (int i = 0; i < 500 && !process_gone(pid); ++i) ::usleep(10'000);
  return process_gone(pid);
}

TEST(RunCommand, KeepsBothStreamsAndTheExitCode) {
  auto output = shell("echo one; echo two >&2; exit 7");
  ASSERT_TRUE(output);
  EXPECT_EQ(output->out, "one\n");
  EXPECT_EQ(output->err, "two\n");
  EXPECT_EQ(output->exit_code, 7);
}

TEST(RunCommand, PassesInputLargerThanAPipe) {
  std::string input(3'000'000, 'x');
  auto output = run_command({"cat"}, 20 * kNsPerSecond, input);
  ASSERT_TRUE(output);
  EXPECT_EQ(output->out, input);
}

TEST(RunCommand, InputThatNobodyReadsIsNoError) {
  auto output = shell("exec <&-; echo done", std::string(1'000'000, 'x'));
  ASSERT_TRUE(output);
  EXPECT_EQ(output->out, "done\n");
}

TEST(RunCommand, SignalIsInTheExitCode) {
  auto output = shell("kill -9 $$");
  ASSERT_TRUE(output);
  EXPECT_EQ(output->exit_code, 128 + SIGKILL);
}

TEST(RunCommand, MissingProgramSaysSo) {
  auto output = run_command({"/no/such/program"}, kNsPerSecond);
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().errno_value, ENOENT);
}

TEST(RunCommand, TimeLimitKillsTheGroup) {
  int64_t begun = monotonic_now_ns();
  auto output = shell("sleep 300 & sleep 300", "", 50 * kNsPerMs);
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().errno_value, ETIMEDOUT);
  EXPECT_LT(monotonic_now_ns() - begun, 200 * kNsPerSecond);
}

TEST(RunCommand, DoesNotWaitForWhatTheCommandLeftBehind) {
  auto output = shell("sleep 300 & echo $!");
  ASSERT_TRUE(output);
  auto pid = parse_int(trim(output->out));
  ASSERT_TRUE(pid);
  EXPECT_EQ(::kill(static_cast<pid_t>(*pid), SIGKILL), 0);
}

TEST(RunCommand, ChildInheritsNoDescriptor) {
  int leak = ::dup(0);  // on purpose without close-on-exec
  auto output = run_command({"ls", "/proc/self/fd"}, 20 * kNsPerSecond);
  ::close(leak);
  ASSERT_TRUE(output);
  EXPECT_EQ(output->out, "0\n1\n2\n3\n");  // 3 is the folder that ls reads
}

TEST(RunCommand, ChildHasNoBlockedSignals) {
  sigset_t set, before;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  ::sigprocmask(SIG_BLOCK, &set, &before);
  auto output = run_command({"grep", "SigBlk", "/proc/self/status"}, 20 * kNsPerSecond);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(output);
  EXPECT_EQ(output->out, "SigBlk:\t0000000000000000\n");
}

TEST(Child, TalksAndFinishesWhenItsInputCloses) {
  auto child = Child::start({"cat"});
  ASSERT_TRUE(child);
  auto written = write_some(child->in.get(), "hello\n");
  ASSERT_TRUE(written);
  EXPECT_EQ(*written, 6u);
  EXPECT_EQ(read_until(*child, "hello\n"), "hello\n");
  EXPECT_TRUE(child->running());
  child->in.reset();
  for (int i = 0; i < 500 && child->running(); ++i) ::usleep(10'000);
  EXPECT_FALSE(child->running());
  EXPECT_EQ(child->exit_code(), 0);
}

TEST(Child, WritingToADeadChildIsAnErrorAndNoSignal) {
  auto child = Child::start({"true"});
  ASSERT_TRUE(child);
  for (int i = 0; i < 500 && child->running(); ++i) ::usleep(10'000);
  auto written = write_some(child->in.get(), "hello\n");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().errno_value, EPIPE);
}

TEST(Child, StopKillsWhatIgnoresSigterm) {
  auto child = Child::start({"sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"});
  ASSERT_TRUE(child);
  pid_t pid = child->pid();
  EXPECT_EQ(read_until(*child, "ready"), "ready\n");
  child->stop(20 * kNsPerMs);
  EXPECT_FALSE(child->running());
  EXPECT_EQ(child->exit_code(), 128 + SIGKILL);
  EXPECT_TRUE(process_gone(pid));
}

TEST(Child, GrandchildrenGoWithIt) {
  pid_t grandchild = 0;
  {
    auto child = Child::start({"sh", "-c", "sleep 300 & echo $!; wait"});
    ASSERT_TRUE(child);
    grandchild = static_cast<pid_t>(parse_int(trim(read_until(*child, "\n"))).value_or(0));
  }
  ASSERT_GT(grandchild, 0);
  EXPECT_TRUE(wait_gone(grandchild));
}

TEST(Child, MovingKeepsOneOwner) {
  auto first = Child::start({"cat"});
  ASSERT_TRUE(first);
  pid_t pid = first->pid();
  Child second = std::move(*first);
  EXPECT_FALSE(first->running());
  EXPECT_TRUE(second.running());
  second = Child();
  EXPECT_TRUE(process_gone(pid));
}

TEST(Child, DiesWithItsParent) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  pid_t parent = ::fork();
  if (parent == 0) {
    auto child = Child::start({"sleep", "300"});
    pid_t pid = child ? child->pid() : -1;
    if (::write(ends[1], &pid, sizeof pid) < 0) ::_exit(1);
    ::raise(SIGKILL);
  }
  pid_t pid = -1;
  ASSERT_EQ(::read(ends[0], &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
  ::close(ends[0]);
  ::close(ends[1]);
  ASSERT_GT(pid, 0);
  EXPECT_TRUE(wait_gone(pid));
}

TEST(Hash, EqualsThePublishedVectors) {
  EXPECT_EQ(fnv1a64(""), 0xcbf29ce484222325u);
  EXPECT_EQ(fnv1a64("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(hash_name(fnv1a64("foobar")), "85944171f73967e8");
  EXPECT_EQ(fnv1a64("bar", fnv1a64("foo")), fnv1a64("foobar"));
}

}  // namespace
}  // namespace culprit
