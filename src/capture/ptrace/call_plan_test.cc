#include "capture/ptrace/call_plan.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

namespace culprit {
namespace {

CallSet only(int number) {
  return CallSet().set(static_cast<size_t>(number));
}

TEST(CallPlanTest, WhoReadsDescriptorsAlsoNeedsThoseThatChangeThem) {
  CallSet seen = seen_calls(make_plans(only(SYS_read)));
  for (int number : {SYS_read, SYS_openat, SYS_close, SYS_dup2, SYS_connect, SYS_accept4, SYS_fcntl, SYS_close_range})
    EXPECT_TRUE(seen.test(static_cast<size_t>(number))) << number;
  EXPECT_FALSE(seen.test(SYS_write));
  EXPECT_FALSE(make_plans(only(SYS_read))[SYS_close].wanted);
}

TEST(CallPlanTest, WhoDoesNotNeedsNothingElse) {
  EXPECT_EQ(seen_calls(make_plans(only(SYS_brk))), only(SYS_brk));
  EXPECT_TRUE(seen_calls(make_plans(CallSet())).none());
}

TEST(CallPlanTest, Arguments) {
  CallPlans plans = make_plans(CallSet().set());
  EXPECT_EQ(plans[SYS_openat].fd, 0);
  EXPECT_EQ(plans[SYS_openat].path, 1);
  EXPECT_EQ(plans[SYS_openat].open_flags, 2);
  EXPECT_EQ(plans[SYS_openat].effect, FdEffect::returns_fd);
  EXPECT_EQ(plans[SYS_mmap].fd, 4);
  EXPECT_EQ(plans[SYS_readv].vector, 1);
  EXPECT_EQ(plans[SYS_readv].vector_bytes, 5);
  EXPECT_EQ(plans[SYS_pwritev2].vector_bytes, 4);
  EXPECT_FALSE(plans[SYS_readv].message);
  EXPECT_TRUE(plans[SYS_sendmsg].message);
  EXPECT_EQ(plans[SYS_getpid].fd, -1);
  EXPECT_EQ(plans[SYS_getpid].arguments, 0);
}

}  // namespace
}  // namespace culprit
