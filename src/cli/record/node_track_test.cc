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
    EXPECT_FALSE(track.sample(t * kSecond + 2 * kNsPerMs, t));  // it began late: no gap
  EXPECT_EQ(track.samples(), 7);
  EXPECT_EQ(track.lost_ticks(), 0);
  EXPECT_FALSE(track.finish(200 * kSecond));
}

TEST(NodeTrack, OneMissedTickIsCountedTwoAreAGap) {
  NodeTrack track(0, kSecond);
  EXPECT_FALSE(track.sample(10 * kSecond, 1));
  EXPECT_FALSE(track.sample(12 * kSecond, 2));
  EXPECT_EQ(track.lost_ticks(), 1);
  EXPECT_EQ(track.gaps(), 0);
  auto gap = track.sample(15 * kSecond, 3);
  ASSERT_TRUE(gap);
  EXPECT_EQ(gap->from_ns, 12 * kSecond);
  EXPECT_EQ(gap->to_ns, 15 * kSecond);
  EXPECT_EQ(gap->ticks, 2);
  EXPECT_THAT(gap->reason, HasSubstr("missed 2 ticks"));
  EXPECT_EQ(track.lost_ticks(), 3);
}

TEST(NodeTrack, TheFirstReasonOfASilenceIsKept) {
  NodeTrack track(0, kSecond);
  EXPECT_FALSE(track.sample(10 * kSecond, 1));
  EXPECT_TRUE(track.lost("the cable"));
  EXPECT_FALSE(track.lost("connection refused"));
  EXPECT_TRUE(track.silent());
  auto gap = track.sample(20 * kSecond, 2);
  ASSERT_TRUE(gap);
  EXPECT_EQ(gap->reason, "the cable");
  EXPECT_EQ(gap->ticks, 9);
  EXPECT_FALSE(track.silent());
  EXPECT_EQ(gap_text(*gap), "9 ticks without samples until 1970-01-01T00:00:20.000Z: the cable");
}

TEST(NodeTrack, AReconnectWithinATickIsStillAGap) {
  NodeTrack track(0, kSecond);
  EXPECT_FALSE(track.sample(10 * kSecond, 1));
  EXPECT_TRUE(track.lost("restarted"));
  auto gap = track.sample(11 * kSecond, 2);
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
  EXPECT_FALSE(track.sample(100 * kSecond, 1));
  EXPECT_FALSE(track.sample(50 * kSecond, 2));
  EXPECT_EQ(track.lost_ticks(), 0);
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
