// The building blocks of fast10, rule by rule: windows, averages, bins, distances, flags, training, incidents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analyse/checklist.h"
#include "analyse/congestion.h"
#include "analyse/flags.h"
#include "analyse/histogram.h"
#include "analyse/incident.h"
#include "analyse/peers.h"
#include "analyse/test_series.h"
#include "analyse/windows.h"

namespace culprit {
namespace {

using testing::ElementsAre;

// ---- rule 2: which metrics may convict ----

TEST(Rule2, IndictingMetrics) {
  std::vector<std::string_view> names;
  for (const MetricInfo& metric : metrics())
    if (metric.indicting) names.push_back(metric.name);
  EXPECT_THAT(names,
              ElementsAre("rd_sec", "wr_sec", "await", "rxbyt", "txbyt", "cwnd_to_clients", "cwnd_from_clients"));
}

// ---- rule 3: moving average ----

TEST(Rule3, TrailingAverageNeedsThreeOfFive) {
  const Series raw = {1, 2, 3, kMissing, kMissing, kMissing, 7, 8, 9};
  const Series smooth = trailing_average(raw, 5, 3);
  EXPECT_TRUE(is_missing(smooth[0]));
  EXPECT_TRUE(is_missing(smooth[1]));
  EXPECT_DOUBLE_EQ(smooth[2], 2);
  EXPECT_DOUBLE_EQ(smooth[4], 2);      // 1 2 3 _ _
  EXPECT_TRUE(is_missing(smooth[5]));  // 2 3 _ _ _
  EXPECT_TRUE(is_missing(smooth[7]));  // _ _ _ 7 8
  EXPECT_DOUBLE_EQ(smooth[8], 8);      // _ _ 7 8 9
}

TEST(Rule3, AverageLooksBackOnly) {
  const Series smooth = trailing_average({0, 0, 0, 0, 0, 10, 10}, 5, 3);
  EXPECT_DOUBLE_EQ(smooth[4], 0);
  EXPECT_DOUBLE_EQ(smooth[5], 2);
  EXPECT_DOUBLE_EQ(smooth[6], 4);
}

// ---- rule 4: windows, and who is judged in one ----

TEST(Rule4, NoPartialLastWindow) {
  const Windows windows{64, 32};
  EXPECT_EQ(windows.count(63), 0u);
  EXPECT_EQ(windows.count(64), 1u);
  EXPECT_EQ(windows.count(95), 1u);
  EXPECT_EQ(windows.count(96), 2u);
  EXPECT_EQ(windows.count(600), 17u);
  EXPECT_EQ(windows.begin(2), 64u);
  EXPECT_EQ(windows.end(2), 128u);
}

TEST(Rule4, TwentyFourValuesMakeAServerKnown) {
  SeriesSet set = make_series(4, 64);
  for (size_t i = 0; i < 4; ++i) fill(set, Metric::await, i, 5, 0.1, 1);
  // The average bridges two missing ticks (3 of 5 present): 24 smooth values from tick 2 to 25, the rest erased.
  for (size_t t = 24; t < 64; ++t) set.make(Metric::await)[3][t] = kMissing;
  PeerOptions options;
  options.binning.floor = 0.05;
  EXPECT_EQ(compare_peers(set, Metric::await, options).windows[0][3].known, Known::yes);
  set.make(Metric::await)[3][23] = kMissing;
  EXPECT_EQ(compare_peers(set, Metric::await, options).windows[0][3].known,
            Known::idle);  // sampled, nothing to measure
  set.sampled[3].assign(64, false);
  EXPECT_EQ(compare_peers(set, Metric::await, options).windows[0][3].known, Known::missing);
}

TEST(Rule4, HistogramIsDividedByItsOwnCount) {
  // The same distribution from half as many values is the same distribution.
  std::vector<double> many, few;
  for (int i = 0; i < 64; ++i) many.push_back(i % 8);
  for (int i = 0; i < 32; ++i) few.push_back(i % 8);
  bool active = false;
  const Distances d = all_distances({many, few, many}, {16, 1e-4, 0, 0}, active);
  EXPECT_TRUE(active);
  EXPECT_NEAR(d.at(0, 1), 0, 1e-12);
}

TEST(Rule4, ThreeKnownServersOrNobody) {
  SeriesSet set = make_series(3, 64);
  for (size_t i = 0; i < 2; ++i) fill(set, Metric::rd_sec, i, 5000, 0.1, 1);
  const PeerTable table = compare_peers(set, Metric::rd_sec, {});
  for (const PeerCell& cell : table.windows[0]) EXPECT_NE(cell.known, Known::yes);
}

// ---- rule 5: bins ----

TEST(Rule5, ConstantZeroBesideConstantThousandDiffers) {
  bool active = false;
  const std::vector<double> zero(64, 0.0), thousand(64, 1000.0);
  const Distances d = all_distances({zero, zero, thousand}, {16, 1e-4, 0.05, 128}, active);
  EXPECT_TRUE(active);
  EXPECT_NEAR(d.at(0, 2), 9.1957, 1e-4);
  EXPECT_EQ(d.at(0, 1), 0);
}

TEST(Rule5, RangeBelowTheFloorIsNothing) {
  bool active = true;
  const Distances d =
      all_distances({std::vector<double>(64, 0.0), std::vector<double>(64, 127.0)}, {16, 1e-4, 0.05, 128}, active);
  EXPECT_FALSE(active);
  EXPECT_EQ(d.at(0, 1), 0);
}

TEST(Rule5, WidthIsAtLeastFivePercentOfTheMedian) {
  // 1000 and 1040 lie within one bin of 5 % of the median; 1000 and 1060 do not.
  bool active = false;
  const std::vector<double> a(64, 1000.0), near(64, 1040.0), far(64, 1060.0);
  EXPECT_EQ(all_distances({a, a, near}, {16, 1e-4, 0.05, 1}, active).at(0, 2), 0);
  EXPECT_GT(all_distances({a, a, far}, {16, 1e-4, 0.05, 1}, active).at(0, 2), 9);
}

TEST(Rule5, WidthIsAtLeastTheFloor) {
  bool active = false;
  const std::vector<double> a(64, 0.0), b(64, 150.0), c(64, 300.0);  // bins of 128: 0, 1, 2
  const Distances d = all_distances({a, b, c, std::vector<double>(64, 100.0)}, {16, 1e-4, 0.05, 128}, active);
  EXPECT_GT(d.at(0, 1), 9);
  EXPECT_EQ(d.at(0, 3), 0);  // 100 shares the first bin with 0
}

TEST(Rule5, LastBinIsClosed) {
  // The pooled maximum belongs to the last bin, together with what lies within its width.
  bool active = false;
  const std::vector<double> low(64, 0.0), top(64, 1600.0), below_top(64, 1501.0);
  const Distances d = all_distances({low, top, below_top}, {16, 1e-4, 0, 1}, active);
  EXPECT_EQ(d.at(1, 2), 0);
}

// ---- rule 6: the ceiling ----

TEST(Rule6, CeilingForOneBinEach) {
  EXPECT_NEAR(distance_ceiling({16, 1e-4, 0.05, 0}), 9.1957, 5e-5);
}

TEST(Rule6, VictimSpreadOverAllBinsReachesAbout7point8) {
  std::vector<double> spread;
  for (int i = 0; i < 60; ++i) spread.push_back(100.0 * (1 + i % 15));
  bool active = false;
  const std::vector<double> one(64, 0.0);
  EXPECT_NEAR(all_distances({one, one, spread}, {16, 1e-4, 0, 1}, active).at(0, 2), 7.8, 0.1);
}

TEST(Rule6, MatrixFormEqualsTheDefinition) {
  std::vector<std::vector<double>> values(3);
  std::mt19937 random(5);
  for (size_t i = 0; i < 3; ++i)
    for (int k = 0; k < 64; ++k)
      values[i].push_back(static_cast<double>(random() % 1000) * (1.0 + 0.3 * static_cast<double>(i)));
  const Binning binning{16, 1e-4, 0, 1};
  bool active = false;
  const Distances d = all_distances(values, binning, active);
  double low = 1e9, high = 0;
  for (const auto& v : values)
    for (double x : v) low = std::min(low, x), high = std::max(high, x);
  auto probability = [&](const std::vector<double>& v, int bin) {
    double count = 0;
    for (double x : v) count += std::min(15, static_cast<int>((x - low) / ((high - low) / 16))) == bin;
    return (count / 64 + 1e-4) / (1 + 16e-4);
  };
  double expected = 0;
  for (int b = 0; b < 16; ++b) {
    const double p = probability(values[0], b), q = probability(values[1], b);
    expected += (p * std::log(p / q) + q * std::log(q / p)) / 2;
  }
  EXPECT_NEAR(d.at(0, 1), expected, 1e-9);
}

// ---- rules 7 and 8: thresholds of pairs, anomalous in a window, the majority ----

PeerTable table_of(const std::vector<std::vector<double>>& distances) {
  PeerTable table{{64, 32}, distances[0].size(), {}, {}};
  for (const auto& row : distances) {
    std::vector<PeerCell> cells;
    for (double d : row) cells.push_back({d < 0 ? Known::missing : Known::yes, std::max(0.0, d), 1, 1});
    table.windows.push_back(cells);
    table.active.push_back(true);
  }
  return table;
}

Threshold limit(double used) {
  Threshold t;
  t.used = used;
  return t;
}

TEST(Rule7, StrictlyGreaterAndTheJudgedServersOwnThreshold) {
  EXPECT_FALSE(deviates({Known::yes, 2.0, 1, 1}, limit(2.0)));
  EXPECT_TRUE(deviates({Known::yes, 2.0000001, 1, 1}, limit(2.0)));
  EXPECT_FALSE(deviates({Known::missing, 9, 1, 1}, limit(2.0)));
  // The same pair of servers: one is judged with a low threshold, the other with a high one.
  SeriesSet set = make_series(3, 64);
  for (size_t i = 0; i < 3; ++i) fill(set, Metric::rd_sec, i, i == 2 ? 20000 : 5000, 0.1, 3);
  const PeerTable table = compare_peers(set, Metric::rd_sec, {});
  EXPECT_TRUE(deviates(table.windows[0][2], limit(5)));
  EXPECT_FALSE(deviates(table.windows[0][2], limit(9.19)));
}

TEST(Rule8, MoreThanHalfOfTheKnownOthers) {
  // Five servers: s5 is far from two of its four others (exactly half): not anomalous; with three it is.
  for (int far : {2, 3}) {
    SeriesSet set = make_series(5, 64);
    for (size_t i = 0; i < 5; ++i) {
      Series& s = set.make(Metric::rd_sec)[i];
      for (double& v : s) v = i < static_cast<size_t>(far) ? 1000 : 9000;
    }
    const PeerTable table = compare_peers(set, Metric::rd_sec, {});
    EXPECT_EQ(deviates(table.windows[0][4], limit(1)), far == 3) << far;
  }
}

TEST(Rule8, HalfOfTheKnownAnomalousMakesEverybodyUnknown) {
  PeerTable table = table_of({{5, 5, 0, 0}, {5, 0, 0, 0}, {5, 5, -1, 0}});
  const std::vector<bool> majority = apply_majority_rule(table, std::vector<Threshold>(4, limit(1)));
  EXPECT_THAT(majority, ElementsAre(true, false, true));
  EXPECT_EQ(table.windows[0][0].known, Known::majority);
  EXPECT_EQ(table.windows[1][0].known, Known::yes);
  EXPECT_EQ(table.windows[2][2].known, Known::missing);  // was unknown before
}

TEST(Rule8, PersistsForThreeOfFive) {
  EXPECT_TRUE(majority_persists({true, false, true, false, true}, 3));
  EXPECT_FALSE(majority_persists({true, false, true, false, false, true}, 3));
}

// ---- rule 9: k of the last 2k-1 ----

TEST(Rule9, ThreeOfFive) {
  // anomalous windows: 0 2 4 -> flagged in 4 only; 5 sees 2 4, not enough
  const PeerTable table = table_of({{5}, {0}, {5}, {0}, {5}, {0}, {0}});
  const std::vector<Flag> flags = find_flags(table, 0, limit(1), 3);
  ASSERT_EQ(flags.size(), 1u);
  EXPECT_EQ(flags[0].flagged, TickRange(4 * 32 + 64, 4 * 32 + 96));
  EXPECT_EQ(flags[0].anomalous.size(), 3u);
  EXPECT_EQ(flags[0].judged.size(), 5u);
}

TEST(Rule9, WindowsNotYetThereDoNotCount) {
  EXPECT_TRUE(find_flags(table_of({{5}, {5}}), 0, limit(1), 3).empty());
  EXPECT_EQ(find_flags(table_of({{5}, {5}, {5}}), 0, limit(1), 3).size(), 1u);
}

TEST(Rule9, UnknownWindowsAreNotAnomalous) {
  EXPECT_TRUE(find_flags(table_of({{5}, {-1}, {5}, {-1}, {-1}, {5}}), 0, limit(1), 3).empty());
}

TEST(Rule9, MoreThanTwoUnknownOfFiveIsNotJudged) {
  EXPECT_FALSE(coverage(table_of({{0}, {-1}, {0}, {-1}, {0}}), 0, 3).gap);
  EXPECT_TRUE(coverage(table_of({{0}, {-1}, {-1}, {-1}, {0}}), 0, 3).gap);
  EXPECT_FALSE(coverage(table_of({{-1}, {-1}, {0}, {0}, {0}, {-1}}), 0, 3).gap);
}

TEST(Rule9, InAShortRunEveryWindowCounts) {
  // Three windows in all: one unknown, and the server can never be flagged.
  EXPECT_TRUE(coverage(table_of({{0}, {0}, {-1}}), 0, 3).never);
  EXPECT_TRUE(coverage(table_of({{0}, {0}, {-1}}), 0, 3).gap);
  EXPECT_FALSE(coverage(table_of({{0}, {0}, {0}}), 0, 3).gap);
  EXPECT_FALSE(coverage(table_of({{0}, {-1}, {0}, {0}}), 0, 3).gap);
}

// ---- rule 10: training ----

TEST(Rule10, LeastStepThatIsNotBelow) {
  EXPECT_DOUBLE_EQ(round_up_to_step(0, 0.1), 0.1);
  EXPECT_DOUBLE_EQ(round_up_to_step(0.1, 0.1), 0.1);
  EXPECT_DOUBLE_EQ(round_up_to_step(0.11, 0.1), 0.2);
  EXPECT_NEAR(round_up_to_step(0.3, 0.1), 0.3, 1e-12);
  EXPECT_NEAR(round_up_to_step(9.1957, 0.1), 9.2, 1e-12);
}

// The search of the paper: raise the threshold until no flag is left.
double search(const PeerTable& table, size_t server, double step) {
  int n = 1;
  while (!find_flags(table, server, limit(n * step), 3).empty()) ++n;
  return n * step;
}

TEST(Rule10, OrderStatisticsEqualTheSearch) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::vector<double>> rows(1 + random() % 20, std::vector<double>(1));
    for (auto& row : rows) {
      row[0] = static_cast<double>(random() % 9200) / 1000;
      if (random() % 5 == 0) row[0] = -1;                                       // unknown
      if (random() % 4 == 0) row[0] = static_cast<double>(random() % 92) / 10;  // on the grid
    }
    const PeerTable table = table_of(rows);
    const double least = least_unflagged_distance(table, 0, 3);
    EXPECT_DOUBLE_EQ(is_missing(least) ? 0.1 : round_up_to_step(least, 0.1), search(table, 0, 0.1)) << round;
  }
}

// ---- rule 12: congestion windows ----

TEST(Rule12, ShareOfTheMedianOfTheLogarithms) {
  SeriesSet set = make_series(3, 40);
  const double cwnd[] = {100, 100, 10};
  for (size_t i = 0; i < 3; ++i) fill(set, Metric::cwnd_to_clients, i, cwnd[i], 0, 1);
  const std::vector<Series> shares = log_shares(set, Metric::cwnd_to_clients, {});
  EXPECT_TRUE(is_missing(shares[0][14]));  // 15 of 31 ticks
  EXPECT_NEAR(shares[0][15], 1, 1e-12);
  EXPECT_NEAR(shares[2][39], 0.5, 1e-12);  // log 10 / log 100
}

TEST(Rule12, NeedsThreeSendingServers) {
  SeriesSet set = make_series(3, 40);
  for (size_t i = 0; i < 2; ++i) fill(set, Metric::cwnd_to_clients, i, 50, 0, 1);
  for (const Series& share : log_shares(set, Metric::cwnd_to_clients, {}))
    for (double v : share) EXPECT_TRUE(is_missing(v));
}

TEST(Rule12, LargestFractionOnTheGridWithoutAFlag) {
  EXPECT_NEAR(train_fraction({{{1.0, 0.837}, {1.1, kMissing}}}, 0.01), 0.83, 1e-12);
  EXPECT_NEAR(train_fraction({{{0.9}}, {{0.5}}}, 0.01), 0.5, 1e-12);
  EXPECT_TRUE(is_missing(train_fraction({{{kMissing}}}, 0.01)));
  EXPECT_TRUE(is_missing(train_fraction({{{1.0, 1.0}, {1.1, kMissing}}}, 0.01)));  // nobody ever sank
}

TEST(Rule12, MarginWidensTheDistanceFromTheMedian) {
  EXPECT_DOUBLE_EQ(congestion_limit(0.8, 1), 0.8);
  EXPECT_DOUBLE_EQ(congestion_limit(0.8, 1.5), 0.7);
}

TEST(Rule12, EveryTickBelowTheLimitIsFlagged) {
  const std::vector<Series> shares = {{1, 1, 0.5, 0.4, 1, kMissing, 0.6}};
  const std::vector<Flag> flags = find_congestion(shares, 0, Metric::cwnd_to_clients, 0.7, {});
  ASSERT_EQ(flags.size(), 2u);
  EXPECT_EQ(flags[0].flagged, TickRange(2, 4));
  EXPECT_DOUBLE_EQ(flags[0].distance, 0.4);
  EXPECT_EQ(flags[1].flagged, TickRange(6, 7));
}

// ---- rule 13: incidents and the checklist ----

Flag flag_at(size_t server, Metric metric, size_t from, size_t until) {
  Flag flag;
  flag.server = server;
  flag.metric = metric;
  flag.flagged = {from, until};
  flag.onset = {from - 64, from};
  flag.end = until - 32;
  flag.anomalous = {{from - 64, from}};
  flag.judged = flag.anomalous;
  return flag;
}

TEST(Rule13, GapsUpToAWindowAreJoined) {
  auto count = [](size_t second_from) {
    return find_incidents(
               {flag_at(0, Metric::await, 128, 192), flag_at(0, Metric::rd_sec, second_from, second_from + 32)}, 64)
        .size();
  };
  EXPECT_EQ(count(192 + 64), 1u);
  EXPECT_EQ(count(192 + 65), 2u);
}

TEST(Rule13, IncidentsBelongToOneServer) {
  EXPECT_EQ(find_incidents({flag_at(0, Metric::await, 128, 192), flag_at(1, Metric::await, 128, 192)}, 64).size(), 2u);
}

struct ChecklistCase {
  std::set<Metric> metrics;
  const char* cause;
  int step;
};

TEST(Rule13, EveryBranchOfTheChecklist) {
  using M = Metric;
  const ChecklistCase cases[] = {
      {{M::rd_sec}, "disk-hog", 1},
      {{M::wr_sec}, "disk-hog", 1},
      {{M::rd_sec, M::await, M::rxbyt, M::txbyt, M::cwnd_to_clients}, "disk-hog", 1},
      {{M::await}, "disk-busy", 2},
      {{M::await, M::rxbyt, M::txbyt, M::cwnd_from_clients}, "disk-busy", 2},
      {{M::rxbyt, M::txbyt}, "network-hog", 3},
      {{M::rxbyt, M::txbyt, M::cwnd_to_clients}, "network-hog", 3},
      {{M::rxbyt}, "network-hog", 3},
      {{M::txbyt}, "network-hog", 3},
      {{M::rxbyt, M::cwnd_to_clients}, "packet-loss", 4},
      {{M::txbyt, M::cwnd_from_clients}, "packet-loss", 4},
      {{M::cwnd_to_clients}, "packet-loss", 4},
      {{M::cwnd_from_clients}, "packet-loss", 4},
      {{M::cwnd_to_clients, M::cwnd_from_clients}, "packet-loss", 4},
  };
  for (const ChecklistCase& c : cases) {
    const Cause cause = find_cause(c.metrics);
    EXPECT_EQ(cause.name, c.cause);
    EXPECT_EQ(cause.step, c.step);
    EXPECT_EQ(cause.resource, c.step <= 2 ? Resource::disk : Resource::network);
  }
}

// ---- rule 14: onset and end ----

TEST(Rule14, OnsetIsTheFirstAnomalousWindowOfTheFlaggingFive) {
  // windows 0..8, anomalous 3 5 6 7: flagged first in 6 (3 5 6), last in 8 (5 6 7)
  const PeerTable table = table_of({{0}, {0}, {0}, {5}, {0}, {5}, {5}, {5}, {0}, {0}, {0}});
  const std::vector<Flag> flags = find_flags(table, 0, limit(1), 3);
  ASSERT_EQ(flags.size(), 1u);
  EXPECT_EQ(flags[0].onset, TickRange(3 * 32, 3 * 32 + 64));
  EXPECT_EQ(flags[0].flagged, TickRange(6 * 32 + 64, 9 * 32 + 64 + 32));
  EXPECT_EQ(flags[0].end, 7u * 32 + 64 - 32);  // the last anomalous window's end minus the shift
}

TEST(Rule14, ItIsOpenOnlyIfNothingJudgedLaterWasNormal) {
  // anomalous 5 6 7 of ten: the flag still stands in the last window, the fault does not
  const auto ended = find_flags(table_of({{0}, {0}, {0}, {0}, {0}, {5}, {5}, {5}, {0}, {0}}), 0, limit(1), 3);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_FALSE(ended[0].open);
  EXPECT_EQ(ended[0].end, 7u * 32 + 64 - 32);
  EXPECT_TRUE(find_flags(table_of({{0}, {0}, {5}, {5}, {5}}), 0, limit(1), 3).at(0).open);
  EXPECT_TRUE(find_flags(table_of({{0}, {0}, {5}, {5}, {5}, {-1}}), 0, limit(1), 3).at(0).open);
  Series share(60, 1.0);
  share[50] = 0.1;
  EXPECT_FALSE(find_congestion({share}, 0, Metric::cwnd_to_clients, 0.7, {}).at(0).open);
  share[59] = 0.1;
  EXPECT_TRUE(find_congestion({share}, 0, Metric::cwnd_to_clients, 0.7, {}).at(1).open);
}

TEST(Rule14, CongestionBeganWithinTheSpanBeforeItsFlag) {
  Series share(100, 1.0);
  share[50] = 0.1;
  const std::vector<Flag> flags = find_congestion({share}, 0, Metric::cwnd_to_clients, 0.7, {});
  ASSERT_EQ(flags.size(), 1u);
  EXPECT_EQ(flags[0].onset, TickRange(19, 50));
}

TEST(Rule14, OfSeveralMetricsTheEarliestOnsetAndTheLatestEnd) {
  SeriesSet set = healthy(4, 600, 1);
  const std::vector<Incident> incidents =
      find_incidents({flag_at(1, Metric::await, 256, 352), flag_at(1, Metric::rd_sec, 192, 288)}, 64);
  ASSERT_EQ(incidents.size(), 1u);
  const Accusation accusation = accuse(set, incidents[0]);
  EXPECT_EQ(accusation.onset_from_ns, set.time_of(128));
  EXPECT_EQ(accusation.onset_until_ns, set.time_of(192));
  EXPECT_EQ(accusation.end_ns, set.time_of(320));
  EXPECT_EQ(accusation.known_ns, set.time_of(192));  // the first flag tells, not the last
  EXPECT_EQ(accusation.cause, "disk-hog");
  EXPECT_EQ(accusation.evidence[0].metric, "rd_sec");  // what decided comes first
}

}  // namespace
}  // namespace culprit
