#include "capture/ptrace/task_status.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace culprit {
namespace {

TEST(TaskStatusTest, ReadsWhatItNeeds) {
  auto status = parse_task_status(
      "Name:\tTgid: 1\nState:\tS (sleeping)\nTgid:\t12\nNgid:\t0\nPid:\t13\nPPid:\t1\n"
      "TracerPid:\t99\nUid:\t0\n");
  ASSERT_TRUE(status);
  EXPECT_EQ(status->process, 12);
  EXPECT_EQ(status->parent, 1);
  EXPECT_EQ(status->tracer, 99);
  EXPECT_EQ(status->state, 'S');
}

TEST(TaskStatusTest, RubbishIsNobody) {
  for (const char* text : {"", "Tgid", "Tgid:\n", "Tgid:\t-4\n", "Tgid:\t99999999999\n", "PPid:\t1\n"})
    EXPECT_FALSE(parse_task_status(text)) << text;
  EXPECT_FALSE(task_status(-1));
}

TEST(TaskStatusTest, OurOwn) {
  auto status = task_status(getpid());
  ASSERT_TRUE(status);
  EXPECT_EQ(status->process, getpid());
  EXPECT_EQ(status->parent, getppid());
}

}  // namespace
}  // namespace culprit
