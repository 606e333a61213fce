// What an accusation says of its evidence: how often, how much, by which test and in which words.
#include "analyse/incident.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analyse/checklist.h"
#include "analyse/congestion.h"
#include "analyse/flags.h"
#include "analyse/test_series.h"

namespace culprit {
namespace {

using testing::HasSubstr;

Accusation accused(const SeriesSet& set, std::vector<Flag> flags, Metric metric) {
  for (Flag& flag : flags) flag.metric = metric;
  const std::vector<Incident> incidents = find_incidents(std::move(flags), 64);
  EXPECT_EQ(incidents.size(), 1u);
  return accuse(set, incidents.at(0));
}

PeerTable table_of(const std::vector<PeerCell>& windows) {
  PeerTable table{{64, 32}, 1, {}, {}};
  for (const PeerCell& cell : windows) {
    table.windows.push_back({cell});
    table.active.push_back(true);
  }
  return table;
}

TEST(Evidence, WindowsThatTwoFlagsShareCountOnce) {
  const PeerCell odd{Known::yes, 5, 1, 1};
  const PeerCell even{Known::yes, 0, 1, 1};
  Threshold threshold;
  threshold.used = 1;
  // Flagged in windows 3 and 4 (0 2 3), not in 5 (2 3), again in 6 (2 3 6).
  const std::vector<Flag> flags = find_flags(table_of({odd, even, odd, odd, even, even, odd}), 0, threshold, 3);
  ASSERT_EQ(flags.size(), 2u);
  const Accusation accusation = accused(healthy(4, 256, 1), flags, Metric::await);
  EXPECT_EQ(accusation.evidence[0].windows, 4);
  EXPECT_EQ(accusation.evidence[0].windows_judged, 7);
}

TEST(Evidence, OfCongestionOnlyTicksWithAValueCount) {
  const std::vector<Series> shares = {{1, 1, 0.5, 0.4, 1, kMissing, 0.6}};
  const std::vector<Flag> flags = find_congestion(shares, 0, Metric::cwnd_to_clients, 0.7, {});
  const Accusation accusation = accused(healthy(4, 7, 1), flags, Metric::cwnd_to_clients);
  EXPECT_EQ(accusation.evidence[0].windows, 3);
  EXPECT_EQ(accusation.evidence[0].windows_judged, 4);
  EXPECT_EQ(accusation.evidence[0].value, 0);  // seven ticks have no average: nothing to weigh, but no NaN either
  EXPECT_EQ(accusation.evidence[0].peers, 0);
}

TEST(Evidence, OfCongestionIsTheAverageThatWasJudged) {
  SeriesSet set = healthy(4, 100, 1, 0);
  fill(set, Metric::cwnd_to_clients, 0, 3, 0, 1);
  Series& stopped = set.make(Metric::cwnd_to_clients)[0];
  std::fill(stopped.begin() + 60, stopped.end(), kMissing);
  Series share(100, 1.0);
  share[65] = 0.3;  // nothing was sent in this tick
  const Accusation accusation =
      accused(set, find_congestion({share}, 0, Metric::cwnd_to_clients, 0.7, {}), Metric::cwnd_to_clients);
  EXPECT_NEAR(accusation.evidence[0].value, 3, 1e-9);
  EXPECT_NEAR(accusation.evidence[0].peers_low, 60, 1e-9);
  EXPECT_EQ(accusation.evidence[0].peers, 3);
}

TEST(Evidence, SaysWhenTheRatioConvicted) {
  Threshold threshold;
  threshold.used = 9;
  threshold.weak = true;
  threshold.above = 8;
  threshold.below = 0.125;
  const PeerCell cell{Known::yes, 5, 45, 1};
  const PeerCell most{Known::yes, 5, 60, 1};
  const std::vector<Flag> flags = find_flags(table_of({cell, most, cell}), 0, threshold, 3);
  ASSERT_EQ(flags.size(), 1u);
  EXPECT_DOUBLE_EQ(flags[0].ratio, 60);
  EXPECT_DOUBLE_EQ(flags[0].ratio_limit, 8);
  const Accusation accusation = accused(healthy(4, 128, 1), flags, Metric::await);
  ASSERT_EQ(accusation.facts.size(), 1u);
  EXPECT_THAT(accusation.facts[0], HasSubstr("median await to its peers' is 60, beyond 8,"));
  threshold.used = 4;  // now the distance convicts
  EXPECT_EQ(find_flags(table_of({cell, cell, cell}), 0, threshold, 3).at(0).ratio_limit, 0);
}

Evidence evidence(const char* metric, double value) {
  Evidence out;
  out.metric = metric;
  out.indicting = true;
  out.value = value;
  out.peers_low = 3;
  out.peers_median = 3.5;
  out.peers_high = 4;
  out.peers = 3;
  return out;
}

TEST(Words, OfAwaitFollowItsValue) {
  const Cause busy = find_cause({Metric::await});
  EXPECT_THAT(explain_step(busy, {evidence("await", 40)}), HasSubstr("as much as its peers' but answer later"));
  EXPECT_THAT(explain_step(busy, {evidence("await", 1)}), HasSubstr("but answer sooner"));
  EXPECT_THAT(explain_step(busy, {evidence("await", 3.2)}), HasSubstr("spread differently over time"));
}

TEST(Words, OfThroughputFollowItsValue) {
  const Cause hog = find_cause({Metric::rd_sec, Metric::wr_sec});
  EXPECT_EQ(explain_step(hog, {evidence("rd_sec", 40), evidence("wr_sec", 3.5)}), hog.why);
  EXPECT_THAT(explain_step(hog, {evidence("rd_sec", 3.5), evidence("wr_sec", 3.5)}),
              HasSubstr("as much data as its peers' on average"));
  const Cause traffic = find_cause({Metric::rxbyt});
  EXPECT_EQ(explain_step(traffic, {evidence("rxbyt", 40)}), traffic.why);
  EXPECT_THAT(explain_step(traffic, {evidence("rxbyt", 3.5)}), HasSubstr("spread differently over time"));
}

}  // namespace
}  // namespace culprit
