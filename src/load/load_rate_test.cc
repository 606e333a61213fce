#include "load/load_rate.h"

#include <gtest/gtest.h>

namespace culprit {
namespace {

constexpr int64_t kSecond = kNsPerSecond;
constexpr double kExact = 1000;  // ns: what doubles lose in sums of megabytes

LoadRate rate_of(std::string_view text) {
  auto rate = parse_load_rate(text);
  EXPECT_TRUE(rate) << text;
  return rate ? *rate : LoadRate{};
}

TEST(LoadRate, Constant) {
  for (std::string_view text : {"20MB", "20MB/s"}) {
    LoadRate rate = rate_of(text);
    EXPECT_EQ(rate.low_bytes, 20'000'000);
    EXPECT_EQ(rate.high_bytes, 20'000'000);
    EXPECT_DOUBLE_EQ(allowed_bytes(rate, 0), 0);
    EXPECT_NEAR(allowed_bytes(rate, 2'250 * kNsPerMs), 45e6, 1);
    EXPECT_NEAR(static_cast<double>(next_turn_ns(rate, 45e6, 0)), 2.25e9, kExact);
  }
}

TEST(LoadRate, WhatIsNotDueYetWaitsAndWhatIsDueGoes) {
  LoadRate rate = rate_of("10MB");
  EXPECT_EQ(next_turn_ns(rate, 0, 0), 0);
  EXPECT_NEAR(static_cast<double>(next_turn_ns(rate, 10e6, kSecond / 2)), 1e9, kExact);
  EXPECT_EQ(next_turn_ns(rate, 10e6, 3 * kSecond), 3 * kSecond);
}

TEST(LoadRate, RampGoesUpAndDown) {
  LoadRate rate = rate_of("ramp:5MB-20MB/10s");
  EXPECT_EQ(rate.period_ns, 10 * kSecond);
  auto in_second = [&](int64_t s) { return allowed_bytes(rate, (s + 1) * kSecond) - allowed_bytes(rate, s * kSecond); };
  EXPECT_NEAR(in_second(0), 6.5e6, 1);
  EXPECT_NEAR(in_second(4), 18.5e6, 1);
  EXPECT_NEAR(in_second(5), 18.5e6, 1);
  EXPECT_NEAR(in_second(9), 6.5e6, 1);
  EXPECT_NEAR(in_second(10), 6.5e6, 1);
  EXPECT_NEAR(allowed_bytes(rate, 10 * kSecond), 125e6, 1);
}

TEST(LoadRate, DueTimesAreTheInverse) {
  for (std::string_view text : {"7MB", "ramp:5MB-20MB/10s", "ramp:1B-20MB/3s", "ramp:4MB-4MB/2s", "gaps:3s-2s,10MB",
                                "ramp:1MB-9MB/4s,gaps:700ms-300ms"}) {
    LoadRate rate = rate_of(text);
    for (double bytes = 1e5; bytes < 3e8; bytes *= 1.37) {
      int64_t due = next_turn_ns(rate, bytes, 0);
      EXPECT_NEAR(allowed_bytes(rate, due), bytes, 1) << text;
    }
  }
}

TEST(LoadRate, GapsAtFullSpeed) {
  LoadRate rate = rate_of("gaps:3s-2s");
  EXPECT_EQ(rate.high_bytes, 0);
  EXPECT_EQ(next_turn_ns(rate, 1e15, 0), 0);
  EXPECT_EQ(next_turn_ns(rate, 1e15, 3 * kSecond - 1), 3 * kSecond - 1);
  EXPECT_EQ(next_turn_ns(rate, 1e15, 3 * kSecond), 5 * kSecond);
  EXPECT_EQ(next_turn_ns(rate, 1e15, 5 * kSecond - 1), 5 * kSecond);
  EXPECT_EQ(next_turn_ns(rate, 1e15, 5 * kSecond), 5 * kSecond);
  EXPECT_EQ(next_turn_ns(rate, 1e15, 9 * kSecond), 10 * kSecond);
}

TEST(LoadRate, GapsWithAPaceCarryNothingWhileIdle) {
  LoadRate rate = rate_of("gaps:3s-2s,10MB");
  EXPECT_NEAR(allowed_bytes(rate, 3 * kSecond), 30e6, 1);
  EXPECT_NEAR(allowed_bytes(rate, 5 * kSecond), 30e6, 1);
  EXPECT_NEAR(allowed_bytes(rate, 6 * kSecond), 40e6, 1);
  EXPECT_NEAR(static_cast<double>(next_turn_ns(rate, 35e6, 0)), 5.5e9, kExact);
}

TEST(LoadRate, WrongOnesAreUsageErrorsWithAHint) {
  for (std::string_view text : {"", "fast", "0", "20MB,", "20MB,30MB", "20MB,ramp:1MB-2MB/1s", "ramp:", "ramp:5MB",
                                "ramp:5MB-20MB", "ramp:20MB-5MB/10s", "ramp:0-5MB/10s", "ramp:5MB-20MB/0s", "gaps:3s",
                                "gaps:0s-2s", "gaps:3s-0s", "gaps:3s-x", "gaps:1s-1s,gaps:1s-1s", "waves:1s"}) {
    auto rate = parse_load_rate(text);
    ASSERT_FALSE(rate) << text;
    EXPECT_EQ(rate.error().kind, ErrorKind::usage);
    EXPECT_FALSE(rate.error().hint.empty());
  }
}

// Sends 1 MB whenever it may, from `now` to `end`; how much that is.
int64_t send_until(LoadPacer& pacer, int64_t now, int64_t end) {
  int64_t bytes = 0;
  for (int64_t turn = pacer.next_ns(now); turn < end; turn = pacer.next_ns(turn)) {
    pacer.sent(1'000'000);
    bytes += 1'000'000;
  }
  return bytes;
}

TEST(LoadPacer, HoldsThePace) {
  LoadPacer pacer(rate_of("10MB"));
  EXPECT_NEAR(static_cast<double>(send_until(pacer, 0, 10 * kSecond)), 100e6, 1e6);
}

TEST(LoadPacer, MakesUpForOneSecondOfAStall) {
  LoadPacer pacer(rate_of("10MB"));
  send_until(pacer, 0, 10 * kSecond);
  EXPECT_NEAR(static_cast<double>(send_until(pacer, 30 * kSecond, 30 * kSecond + 1)), 10e6, 1.5e6);
  EXPECT_NEAR(static_cast<double>(send_until(pacer, 30 * kSecond, 40 * kSecond)), 100e6, 1e6);
}

TEST(LoadPacer, WithoutARateNothingWaits) {
  LoadPacer pacer((LoadRate()));
  pacer.sent(int64_t{1} << 50);
  EXPECT_EQ(pacer.next_ns(7), 7);
}

}  // namespace
}  // namespace culprit
