#include "inject/limits.h"

#include <gtest/gtest.h>

#include "inject/test_daemon.h"

namespace culprit {
namespace {

TEST(LimitsTest, DescriptorLimitLeavesWhatIsAskedFor) {
  EXPECT_EQ(descriptor_limit({}, 0), 0U);
  EXPECT_EQ(descriptor_limit({}, 5), 5U);
  EXPECT_EQ(descriptor_limit({2, 0, 1}, 0), 3U);
  EXPECT_EQ(descriptor_limit({0, 1, 2, 5}, 0), 3U);
  EXPECT_EQ(descriptor_limit({0, 1, 2, 5}, 1), 4U);
  EXPECT_EQ(descriptor_limit({0, 1, 2, 5}, 2), 6U);  // 3, 4; with 5 in use
  EXPECT_EQ(descriptor_limit({0, 1, 2, 5}, 3), 7U);
}

TEST(LimitsTest, LowersTheSoftLimitAndRaisesItAgain) {
  TestDaemon daemon;
  daemon.start();
  FaultWork work{.part = daemon.part, .notes = {}};
  ASSERT_TRUE(note_services(work, Need::one));
  ProcessId process = daemon.running().at(0).id;
  rlimit before = *get_limit(work, process, RLIMIT_FSIZE);
  EXPECT_FALSE(*limits_are_lowered(work, RLIMIT_FSIZE));
  ASSERT_TRUE(lower_limits(work, RLIMIT_FSIZE,
                           [](const FaultWork&, const ProcessId&) -> Result<rlim_t> { return rlim_t{4096}; }));
  EXPECT_EQ(get_limit(work, process, RLIMIT_FSIZE)->rlim_cur, 4096U);
  EXPECT_EQ(get_limit(work, process, RLIMIT_FSIZE)->rlim_max, before.rlim_max);
  EXPECT_TRUE(*limits_are_lowered(work, RLIMIT_FSIZE));
  EXPECT_FALSE(*limits_are_lowered(work, RLIMIT_NOFILE));
  ASSERT_TRUE(raise_limits(work, RLIMIT_FSIZE));
  EXPECT_EQ(get_limit(work, process, RLIMIT_FSIZE)->rlim_cur, before.rlim_cur);
  ASSERT_TRUE(stop_services(work));
  EXPECT_TRUE(raise_limits(work, RLIMIT_FSIZE));  // gone with its process
  EXPECT_FALSE(*limits_are_lowered(work, RLIMIT_FSIZE));
}

TEST(LimitsTest, ReachesAProcessOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: it changes its user";
  pid_t child = ::fork();
  if (child == 0) {
    if (::setresgid(65534, 65534, 65534) == 0 && ::setresuid(65534, 65534, 65534) == 0) ::pause();
    ::_exit(1);
  }
  FaultWork work;
  auto process = identify_process(child);
  ASSERT_TRUE(process);
  for (int tries = 0; tries < 2000 && identity_of(child, "/proc")->uid != 65534; ++tries) ::usleep(1000);
  Status set = set_soft_limit(work, *process, RLIMIT_NOFILE, 7);
  auto limit = get_limit(work, *process, RLIMIT_NOFILE);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ASSERT_TRUE(set) << set.error().message();
  ASSERT_TRUE(limit);
  EXPECT_EQ(limit->rlim_cur, 7U);
}

}  // namespace
}  // namespace culprit
