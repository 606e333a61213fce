#include "vdisk/spindle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"

namespace culprit {
namespace {

constexpr int64_t kMs = kNsPerMs;
constexpr int64_t kS = kNsPerSecond;
constexpr int64_t kForever = int64_t{1} << 60;
const DiskModel kDisk{10'000'000, 4 * kMs};  // 100 kB take 10 ms

// A device that always has `depth` requests waiting, each sent again `gap` after its answer.
struct Load {
  int64_t bytes = 100'000;
  bool sequential = true;
  int depth = 1;
  int64_t gap = 0;
};

struct Outcome {
  int64_t requests = 0;
  int64_t busy_ns = 0;
  int64_t last_end = 0;
};

// Runs the device against the spindle until `until`, as the disk's thread would, but without a clock.
Outcome drive(Spindle& spindle, const Load& load, int64_t from, int64_t until) {
  std::vector<int64_t> arrivals(static_cast<size_t>(load.depth), from);
  Outcome outcome;
  int64_t now = from, offset = 0;
  for (size_t turn = 0; now < until; ++turn) {
    int64_t& arrival = arrivals[turn % arrivals.size()];
    now = std::max(now, arrival);
    while (!spindle.begin(offset, load.bytes, arrival, now)) now = spindle.busy_until();
    now = outcome.last_end = spindle.request_end();
    outcome.busy_ns += spindle.request_end() - spindle.request_start();
    ++outcome.requests;
    offset += load.sequential ? load.bytes : 10 * load.bytes;
    arrival = now + load.gap;
  }
  return outcome;
}

TEST(Spindle, SequentialRequestsCostTheirTransferOnly) {
  Spindle spindle(kDisk);
  ASSERT_TRUE(spindle.begin(0, 100'000, 0, 0));
  EXPECT_EQ(spindle.request_end(), 14 * kMs);  // the first one seeks
  ASSERT_TRUE(spindle.begin(100'000, 100'000, 0, 14 * kMs));
  EXPECT_EQ(spindle.request_end(), 24 * kMs);
  ASSERT_TRUE(spindle.begin(0, 100'000, 0, 24 * kMs));
  EXPECT_EQ(spindle.request_end(), 38 * kMs);
}

TEST(Spindle, OneRequestAtATime) {
  Spindle spindle(kDisk);
  ASSERT_TRUE(spindle.begin(0, 100'000, 0, 0));
  EXPECT_FALSE(spindle.begin(100'000, 100'000, 0, 13 * kMs));
  EXPECT_EQ(spindle.busy_until(), 14 * kMs);
}

TEST(Spindle, WakingUpLateDoesNotAddUp) {
  Spindle spindle(kDisk);
  int64_t now = 0;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(spindle.begin(i * 100'000, 100'000, 0, now));
    now = spindle.request_end() + kMs;  // noticed 1 ms late each time
  }
  EXPECT_EQ(spindle.request_end(), 4 * kMs + 100 * 10 * kMs);
}

TEST(Spindle, AnIdleSpindleBeginsAtTheArrival) {
  Spindle spindle(kDisk);
  ASSERT_TRUE(spindle.begin(0, 100'000, 5 * kS, 5 * kS + kMs));
  EXPECT_EQ(spindle.request_start(), 5 * kS);
}

TEST(Spindle, FlushesCostNothingAndMoveNoHead) {
  Spindle spindle(kDisk);
  ASSERT_TRUE(spindle.begin(0, 100'000, 0, 0));
  ASSERT_TRUE(spindle.begin(7, 0, 0, 14 * kMs));
  EXPECT_EQ(spindle.request_end(), 14 * kMs);
  ASSERT_TRUE(spindle.begin(100'000, 100'000, 0, 14 * kMs));
  EXPECT_EQ(spindle.request_end(), 24 * kMs);
}

TEST(Spindle, WithoutAModelNothingTakesTime) {
  Spindle spindle;
  ASSERT_TRUE(spindle.begin(0, 1'000'000, 5, 5));
  EXPECT_EQ(spindle.request_end(), 5);
}

TEST(Spindle, SlowedRequestsTakeTheFactor) {
  Spindle spindle(kDisk);
  spindle.set_slow(4, kForever, 0);
  ASSERT_TRUE(spindle.begin(0, 100'000, 0, 0));
  EXPECT_EQ(spindle.request_end(), 4 * 14 * kMs);
}

TEST(Spindle, ADeadlineInsideARequestEndsItsSlowness) {
  Spindle spindle(kDisk);
  spindle.set_slow(10, 70 * kMs, 0);
  ASSERT_TRUE(spindle.begin(0, 100'000, 0, 0));
  EXPECT_EQ(spindle.request_end(), 70 * kMs + 7 * kMs);  // half of the 14 ms were done by then
}

TEST(Spindle, SlowingAndHealingReachTheRequestInService) {
  Spindle spindle(kDisk);
  ASSERT_TRUE(spindle.begin(0, 100'000, 0, 0));
  spindle.set_slow(10, kForever, 4 * kMs);
  EXPECT_EQ(spindle.request_end(), 4 * kMs + 100 * kMs);
  spindle.set_slow(1, 54 * kMs, 54 * kMs);
  EXPECT_EQ(spindle.request_end(), 54 * kMs + 5 * kMs);
}

TEST(Spindle, HiddenLoadAloneTakesItsShareAndStops) {
  Spindle spindle(kDisk);
  spindle.set_hidden({0.25, 100'000}, 10 * kS, 0);
  EXPECT_NEAR(static_cast<double>(spindle.hidden(10 * kS).busy_ns), 2.5e9, 14e6);
  HiddenCounters once = spindle.hidden(10 * kS);
  HiddenCounters later = spindle.hidden(100 * kS);
  EXPECT_EQ(later.requests, once.requests);
  EXPECT_EQ(once.bytes, once.requests * 100'000);
  EXPECT_EQ(once.busy_ns, once.requests * 14 * kMs);
}

TEST(Spindle, HiddenLoadThatNobodyLookedAtForAnHourIsCountedAtOnce) {
  Spindle spindle({10'000'000'000, 0});  // 4 kB take 410 ns: six thousand million requests
  spindle.set_hidden({0.9, 4096}, 3600 * kS, 0);
  EXPECT_NEAR(static_cast<double>(spindle.hidden(3600 * kS).busy_ns), 0.9 * 3600e9, 0.01 * 3600e9);
  spindle.set_slow(1000, 4000 * kS, 3600 * kS);
  spindle.set_hidden({0.9, 4096}, 7200 * kS, 3600 * kS);
  int64_t before = spindle.hidden(3600 * kS).busy_ns;
  EXPECT_NEAR(static_cast<double>(spindle.hidden(7200 * kS).busy_ns - before), 0.9 * 3600e9, 0.01 * 3600e9);
}

// The share is honoured whatever the device does: deep queues, one request at a time, small against large ones.
TEST(Spindle, HiddenLoadIsFairInTime) {
  for (double share : {0.1, 0.5, 0.8})
    for (int64_t hidden_bytes : {4'096, 1'000'000})
      for (const Load& load :
           {Load{.bytes = 4'096, .sequential = false, .depth = 1, .gap = kMs / 10}, Load{.bytes = 64'000, .depth = 1},
            Load{.bytes = 64'000, .depth = 16}, Load{.bytes = 1'000'000, .sequential = false, .depth = 4}}) {
        Spindle spindle(kDisk);
        spindle.set_hidden({share, hidden_bytes}, kForever, 0);
        Outcome device = drive(spindle, load, 0, 60 * kS);
        double end = static_cast<double>(device.last_end);
        double hidden = static_cast<double>(spindle.hidden(device.last_end).busy_ns) / end;
        std::string what = testing::PrintToString(share) + " of " + std::to_string(hidden_bytes) + " against " +
                           std::to_string(load.bytes) + " at depth " + std::to_string(load.depth);
        EXPECT_NEAR(hidden, share, 0.02) << what;
        double idle_between = load.gap > 0 ? static_cast<double>(device.requests * load.gap) / end : 0;
        EXPECT_GE(static_cast<double>(device.busy_ns) / end, 1 - share - 0.02 - idle_between) << what;
      }
}

TEST(Spindle, ProlongingHiddenLoadChangesNothingButItsEnd) {
  Spindle once(kDisk), again(kDisk);
  once.set_hidden({0.5, 1'000'000}, 30 * kS, 0);
  for (int second = 0; second < 30; ++second) again.set_hidden({0.5, 1'000'000}, (second + 1) * kS, second * kS);
  EXPECT_EQ(once.hidden(30 * kS).requests, again.hidden(30 * kS).requests);
}

TEST(Spindle, ChangingHiddenLoadAllTheTimeGivesNoMoreThanTheShare) {
  Spindle spindle(kDisk);
  for (int64_t t = 0; t < 30 * kS; t += 50 * kMs)
    spindle.set_hidden({0.5, t % (100 * kMs) == 0 ? 1'000'000 : 900'000}, t + kS, t);
  EXPECT_LE(static_cast<double>(spindle.hidden(30 * kS).busy_ns), 0.52 * 30e9);
}

TEST(Spindle, HiddenLoadLeavesTheDevicesSequenceAlone) {
  Spindle spindle(kDisk);
  spindle.set_hidden({0.5, 100'000}, kForever, 0);
  Outcome device = drive(spindle, {.bytes = 100'000, .depth = 4}, 0, 10 * kS);
  EXPECT_EQ(device.busy_ns, 4 * kMs + device.requests * 10 * kMs);
}

TEST(Spindle, LookingDoesNotDisturbTheRequestInService) {
  Spindle spindle(kDisk);
  ASSERT_TRUE(spindle.begin(0, 100'000, 0, 0));
  spindle.set_hidden({0.5, 1'000'000}, kForever, kMs);
  spindle.hidden(200 * kMs);  // by then hidden requests have begun after it
  EXPECT_EQ(spindle.request_end(), 14 * kMs);
  EXPECT_GT(spindle.busy_until(), 14 * kMs);
}

TEST(Spindle, AStallIsNotMadeUpFor) {
  Spindle spindle(kDisk);
  spindle.set_hidden({0.5, 100'000}, kForever, 0);
  spindle.stalled(100 * kS);
  EXPECT_LE(spindle.hidden(100 * kS).requests, 1);
  ASSERT_FALSE(spindle.begin(0, 100'000, 0, 100 * kS));
  EXPECT_EQ(spindle.busy_until(), 100 * kS + 14 * kMs);
}

TEST(DiskModel, PresetsAndNumbers) {
  EXPECT_EQ(*parse_disk_model("none"), DiskModel{});
  EXPECT_EQ(parse_disk_model("barracuda7200")->rate, 15'000'000);
  EXPECT_EQ(*parse_disk_model("rate=15MB,seek=4ms"), (DiskModel{15'000'000, 4 * kMs}));
  EXPECT_EQ(*parse_disk_model("seek=1ms,rate=1MiB"), (DiskModel{1 << 20, kMs}));
  EXPECT_EQ(*parse_disk_model("rate=60MB"), (DiskModel{60'000'000, 0}));
  EXPECT_FALSE(parse_disk_model("rate=0,seek=1ms")->modelled());
}

TEST(DiskModel, EveryModelComesBackFromItsText) {
  for (const DiskPreset& preset : disk_presets())
    EXPECT_EQ(*parse_disk_model(format_disk_model(preset.model)), preset.model) << preset.name;
}

TEST(DiskModel, RefusesWhatMakesNoDisk) {
  for (const char* text : {"", "baracuda7200", "rate=", "rate=1", "rate=11GB", "seek=4ms", "rate=15MB,seek=-1ms",
                           "rate=15MB,seek=11s", "rate=15MB,,", "rate=15MB,size=3", "rate=nan"})
    EXPECT_FALSE(parse_disk_model(text)) << text;
  EXPECT_EQ(parse_disk_model("baracuda7200").error().hint, "did you mean barracuda7200?");
}

}  // namespace
}  // namespace culprit
