#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyse/test_series.h"
#include "study/one_run.h"

namespace culprit {
namespace {

using testing::HasSubstr;

// Three servers, 40 s of ten ticks each, `busy` per cent of the CPU.
SeriesSet machine(double busy) {
  SeriesSet set = make_series(3, 400);
  set.interval_ns = 100'000'000;
  for (size_t s = 0; s < 3; ++s) {
    set.make(Metric::cpu_busy)[s].assign(400, busy);
    set.make(Metric::steal)[s].assign(400, 0);
  }
  return set;
}

std::string reason(const SeriesSet& set) {
  Attempt attempt;
  return spoiled_reason(SpoiledRule{}, set, attempt);
}

TEST(Spoiled, ACalmMachineIsFit) {
  Attempt attempt;
  EXPECT_EQ(spoiled_reason(SpoiledRule{}, machine(50), attempt), "");
  EXPECT_EQ(attempt.measured.at("idle_mean"), 50);
  EXPECT_EQ(attempt.measured.at("idle_seconds"), 100);
  EXPECT_EQ(attempt.measured.at("lost_percent"), 0);
}

TEST(Spoiled, TooManySecondsWithoutIdleCpu) {
  SeriesSet set = machine(50);
  for (size_t t = 0; t < 40; ++t) set.make(Metric::cpu_busy)[1][t] = 100;  // 4 of 40 seconds
  EXPECT_EQ(reason(set), "");
  for (size_t t = 40; t < 50; ++t) set.make(Metric::cpu_busy)[1][t] = 100;  // the fifth
  EXPECT_THAT(reason(set), HasSubstr("idle CPU"));
}

TEST(Spoiled, AShortBurstWithinASecondIsNothing) {
  SeriesSet set = machine(50);
  for (size_t t = 0; t < 400; t += 10) set.make(Metric::cpu_busy)[1][t] = 100;
  EXPECT_EQ(reason(set), "");
}

TEST(Spoiled, StolenTimeAndLostSamples) {
  SeriesSet set = machine(50);
  for (double& value : set.make(Metric::steal)[2]) value = 6;
  EXPECT_THAT(reason(set), HasSubstr("other machines"));
  set = machine(50);
  for (size_t t = 0; t < 21; ++t) set.sampled[0][t] = false;
  EXPECT_THAT(reason(set), HasSubstr("lost"));
}

TEST(Spoiled, ARunThatDoesNotTellIsNotFit) {
  EXPECT_THAT(reason(make_series(3, 400)), HasSubstr("does not tell"));
}

}  // namespace
}  // namespace culprit
