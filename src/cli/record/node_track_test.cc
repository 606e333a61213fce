#include "cli/record/node_track.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"
#include "cli/record/console.h"
#include "cli/record/summary.h"

namespace culprit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kSecond = kNsPerSecond;

TEST(NodeTrack, NothingIsMissingWhenEveryTickCame) {
  NodeTrack track(100 * kSecond, kSecond);
  for (int64_t t = 103; t < 110; ++t)
    EXPECT_FALSE(track.sample(t * kSecond + 2 * kNsPerMs, t * kSecond, t));  // it began late: no gap
  EXPECT_EQ(track.samples(), 7);
  EXPECT_EQ(track.lost_ticks(), 0);
  EXPECT_FALSE(track.finish(200 * kSecond));
}

TEST(NodeTrack, OneMissedTickIsCountedTwoAreAGap) {
  NodeTrack track(0, kSecond);
  EXPECT_FALSE(track.sample(10 * kSecond, 10 * kSecond, 1));
  EXPECT_FALSE(track.sample(12 * kSecond, 12 * kSecond, 2));
  EXPECT_EQ(track.lost_ticks(), 1);
  EXPECT_EQ(track.gaps(), 0);
  auto gap = track.sample(15 * kSecond, 15 * kSecond, 3);
  ASSERT_TRUE(gap);
  EXPECT_EQ(gap->from_ns, 12 * kSecond);
  EXPECT_EQ(gap->to_ns, 15 * kSecond);
  EXPECT_EQ(gap->ticks, 2);
  EXPECT_THAT(gap->reason, HasSubstr("missed 2 ticks"));
  EXPECT_EQ(track.lost_ticks(), 3);
}

TEST(NodeTrack, TheFirstReasonOfASilenceIsKept) {
  NodeTrack track(0, kSecond);
  EXPECT_FALSE(track.sample(10 * kSecond, 10 * kSecond, 1));
  EXPECT_TRUE(track.lost("the cable"));
  EXPECT_FALSE(track.lost("connection refused"));
  EXPECT_TRUE(track.silent());
  auto gap = track.sample(20 * kSecond, 20 * kSecond, 2);
  ASSERT_TRUE(gap);
  EXPECT_EQ(gap->reason, "the cable");
  EXPECT_EQ(gap->ticks, 9);
  EXPECT_FALSE(track.silent());
  EXPECT_EQ(gap_text(*gap), "9 ticks without samples until 1970-01-01T00:00:20.000Z: the cable");
}

TEST(NodeTrack, AReconnectWithinATickIsStillAGap) {
  NodeTrack track(0, kSecond);
  EXPECT_FALSE(track.sample(10 * kSecond, 10 * kSecond, 1));
  EXPECT_TRUE(track.lost("restarted"));
  auto gap = track.sample(11 * kSecond, 11 * kSecond, 2);
  ASSERT_TRUE(gap);
  EXPECT_EQ(gap->ticks, 0);
}

TEST(NodeTrack, ANodeThatNeverCameIsAGapFromTheStart) {
  NodeTrack track(100 * kSecond, kSecond);
  EXPECT_TRUE(track.lost("not reachable"));
  auto gap = track.finish(160 * kSecond);
  ASSERT_TRUE(gap);
  EXPECT_EQ(gap->from_ns, 100 * kSecond);
  EXPECT_EQ(gap->ticks, 59);
  EXPECT_FALSE(track.ever());
}

TEST(NodeTrack, AClockThatIsSetBackLosesNothing) {
  NodeTrack track(0, kSecond);
  EXPECT_FALSE(track.sample(100 * kSecond, 100 * kSecond, 1));
  EXPECT_FALSE(track.sample(50 * kSecond, 50 * kSecond, 2));
  EXPECT_EQ(track.lost_ticks(), 0);
}

TEST(NodeTrack, AClockThatIsSetForwardLosesNothingThatWasNotSkipped) {
  NodeTrack track(0, kSecond);
  EXPECT_FALSE(track.sample(100 * kSecond, 100 * kSecond, 1, 7 * kSecond));
  EXPECT_FALSE(track.sample(401 * kSecond, 401 * kSecond, 2, 8 * kSecond));
  EXPECT_EQ(track.lost_ticks(), 0);
  EXPECT_FALSE(track.sample(500 * kSecond, 500 * kSecond, 3, 10 * kSecond));  // set again, and one was skipped
  EXPECT_EQ(track.lost_ticks(), 1);
  auto booted = track.sample(504 * kSecond, 504 * kSecond, 4, 2 * kSecond);
  ASSERT_TRUE(booted);
  EXPECT_EQ(booted->ticks, 3) << "its monotonic clock began anew";
  EXPECT_TRUE(track.lost("the cable"));
  auto back = track.sample(514 * kSecond, 514 * kSecond, 5, 3 * kSecond);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->ticks, 9);
}

constexpr int64_t kNow = 1'794'000'000 * kSecond;

TEST(NodeTrack, AnUnknownClockIsNoGapWhenItBecomesKnown) {
  for (int64_t offset : {-120 * kSecond, 120 * kSecond, -kNow, int64_t{300 * kNsPerMs}}) {
    NodeTrack track(kNow, kSecond, false);
    for (int64_t t = 3; t < 6; ++t) EXPECT_FALSE(track.sample(kNow + offset + t * kSecond, kNow + t * kSecond, t));
    EXPECT_EQ(track.our_time(kNow + offset), kNow);  // as if the first sample had taken no time to arrive
    track.set_clock(offset - 4 * kNsPerMs);
    EXPECT_EQ(track.our_time(kNow + offset), kNow + 4 * kNsPerMs);
    for (int64_t t = 6; t < 9; ++t) EXPECT_FALSE(track.sample(kNow + offset + t * kSecond, kNow + t * kSecond, t));
    EXPECT_EQ(track.lost_ticks(), 0) << offset;
  }
}

TEST(NodeTrack, GapsOfAnotherClockAreInOurTime) {
  NodeTrack track(kNow, kSecond, false);
  EXPECT_TRUE(track.lost("late"));
  auto late = track.sample(130 * kSecond, kNow + 10 * kSecond, 1);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->from_ns, kNow);
  EXPECT_EQ(late->to_ns, kNow + 10 * kSecond);
  EXPECT_EQ(late->ticks, 9);
  EXPECT_TRUE(track.lost("gone"));
  auto gone = track.finish(kNow + 20 * kSecond);
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->from_ns, kNow + 10 * kSecond);
  EXPECT_EQ(gone->ticks, 9);
}

TEST(NodeTrack, TicksAreThoseOfTheNodesClock) {
  NodeTrack track(kNow, kSecond, false);
  track.set_clock(kSecond / 2);  // in our time its ticks lie on the edge, where a little jitter rounds up or down
  for (int64_t t = 1; t < 9; ++t) {
    int64_t jitter = (t % 2) * 5 * kNsPerMs;
    EXPECT_FALSE(track.sample(kNow + t * kSecond + jitter - 2 * kNsPerMs, kNow, t));
  }
  EXPECT_EQ(track.lost_ticks(), 0);
}

TEST(NodeTrack, NoTimeIsImpossible) {
  NodeTrack track(kNow, kSecond, false);
  track.set_clock(int64_t{1} << 61);
  EXPECT_EQ(track.our_time(5), 0);
  track.set_clock(-(int64_t{1} << 62));
  EXPECT_EQ(track.our_time(int64_t{1} << 62), int64_t{1} << 62);
}

TEST(Progress, SaysWhoIsSilent) {
  Progress shown{12 * kSecond + 300 * kNsPerMs, 60 * kSecond, 1, 34'000, 2, {"s3"}};
  EXPECT_EQ(progress_text(shown), "recording: 12s of 60s, 2 nodes, 1 sample, 34.0 kB, silent: s3");
  shown.elapsed_ns = 3 * kNsPerMs;
  EXPECT_THAT(progress_text(shown), HasSubstr("recording: 0s of"));
  shown.silent = {"a", "b", "c", "d", "e", "f", "g"};
  EXPECT_THAT(progress_text(shown), HasSubstr("silent: a b c d e and 2 more"));
}

Sample disk_sample(int64_t mono_ns, int64_t sectors, bool announce) {
  Sample sample;
  sample.mono_ns = mono_ns;
  if (announce) sample.keys = {{1, &source_disk, "sda", ""}, {2, &source_nic, "lo", ""}, {3, &source_nic, "eth0", ""}};
  std::vector<int64_t> disk(disk_column::count, 0);
  disk[disk_column::reads] = sectors;
  disk[disk_column::sectors_read] = sectors;
  disk[disk_column::io_ms] = sectors / 10;
  std::vector<int64_t> nic(nic_column::count, 0);
  sample.add(source_disk, 1, disk);
  nic[nic_column::rx_bytes] = 1'000'000 * sectors;
  sample.add(source_nic, 2, nic);
  nic[nic_column::rx_bytes] = sectors;
  sample.add(source_nic, 3, nic);
  return sample;
}

TEST(Summary, IsTheAverageOverTheRecording) {
  NodeSummary summary;
  EXPECT_THAT(summary.lines(), IsEmpty());
  summary.add(disk_sample(kSecond, 1000, true));
  summary.add(disk_sample(2 * kSecond, 3000, false));
  summary.add(disk_sample(3 * kSecond, 5000, false));
  EXPECT_THAT(summary.lines(),
              ElementsAre("busiest disk sda: 1.0 MB/s read, 0 B/s written, 2000 requests/s, 20.0 % busy",
                          "busiest NIC eth0: 2.0 kB/s received, 0 B/s sent, 0 packets/s"));
}

TEST(Summary, ACounterResetAddsNothing) {
  NodeSummary summary;
  summary.add(disk_sample(kSecond, 5000, true));
  summary.restart();
  summary.add(disk_sample(2 * kSecond, 10, true));
  summary.add(disk_sample(3 * kSecond, 5, false));
  EXPECT_THAT(summary.lines(), ElementsAre("no disk was used (1 watched)", HasSubstr("0 B/s received")));
}

}  // namespace
}  // namespace culprit
