#include "cli/syscap/stats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "base/units.h"

namespace culprit {
namespace {

using testing::HasSubstr;

TEST(TimeHistogram, PercentilesAreRightToASixteenth) {
  TimeHistogram times;
  EXPECT_EQ(times.percentile(0.5), 0);
  for (int64_t ns = 1; ns <= 100'000; ++ns) times.add(ns);
  EXPECT_NEAR(static_cast<double>(times.percentile(0.5)), 50'000, 50'000 / 16);
  EXPECT_NEAR(static_cast<double>(times.percentile(0.99)), 99'000, 99'000 / 16);
  EXPECT_EQ(times.count(), 100'000u);
}

TEST(TimeHistogram, ExtremesHaveAPlace) {
  TimeHistogram times;
  for (int64_t ns : {INT64_MIN, int64_t{-1}, int64_t{0}, int64_t{15}, int64_t{16}, INT64_MAX}) times.add(ns);
  EXPECT_EQ(times.count(), 6u);
  EXPECT_GT(times.percentile(1), INT64_MAX / 17 * 16);
  EXPECT_EQ(times.percentile(0.5), 0);
}

TEST(CallStats, CountsByClassAndCall) {
  FdRecord brick;
  brick.fd_class = FdClass::storage;
  Call write;
  write.number = 1;
  write.duration_ns = 2 * kNsPerMs;
  write.result = -ENOSPC;
  Call hangs = write;
  hangs.duration_ns = kUnfinished;
  CallStats stats;
  stats.add("s1", write, &brick);
  stats.add("s1", hangs, &brick);
  stats.add("s1", write, nullptr);
  Call signal;
  signal.kind = CallKind::signal;
  signal.number = 15;
  stats.add("s1", signal, nullptr);
  std::string text = stats.text();
  EXPECT_THAT(text, HasSubstr("storage    write"));
  EXPECT_THAT(text, HasSubstr("2000.0  ENOSPC 1, 1 not returned"));
  EXPECT_THAT(text, HasSubstr("signal SIGTERM"));
  EXPECT_THAT(stats.json(), HasSubstr("\"ENOSPC\": 1"));
}

TEST(CallStats, NumbersThatNoKernelHasShareARow) {
  CallStats stats;
  Call strange;
  for (int32_t number : {INT32_MIN, -5, 100'000, INT32_MAX}) {
    strange.number = number;
    stats.add("s1", strange, nullptr);
  }
  const std::string text = stats.text();
  EXPECT_THAT(text, HasSubstr("unknown call"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << "the heading and one row";
}

TEST(CallStats, SumsGiveTheSameColumns) {
  CallSum sum;
  sum.number = 0;
  sum.count = 10;
  sum.sum_ns = 10 * 3000;
  sum.histogram[11] = 10;  // 2048 to 4095 ns
  sum.errors[EIO] = 2;
  CallStats stats;
  stats.add("s1", sum);
  EXPECT_FALSE(stats.empty());
  EXPECT_THAT(stats.text(), HasSubstr("3.0"));
  EXPECT_THAT(stats.text(), HasSubstr("4.1  EIO 2"));
}

}  // namespace
}  // namespace culprit
