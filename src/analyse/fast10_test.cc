// The detectors as a whole: what they answer to made-up series whose fault is known. Properties hold for all detectors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analyse/detector.h"
#include "analyse/test_series.h"

namespace culprit {
namespace {

const DetectorInfo& detector(const char* name) {
  return *find_detector(name).value();
}

// Those that read system calls have their properties in hotdep09_test.cc.
std::vector<const DetectorInfo*> series_detectors() {
  std::vector<const DetectorInfo*> out;
  for (const DetectorInfo* each : analyse_detectors())
    if (!each->reads_calls()) out.push_back(each);
  return out;
}

Profile trained(const std::vector<SeriesSet>& runs, const std::map<std::string, double>& parameters = {}) {
  Parameters p(detector("fast10").parameters);
  EXPECT_TRUE(p.set_all(parameters));
  return detector("fast10").train(runs, p).value();
}

Verdict fast10(const SeriesSet& set, const Profile* profile, const std::map<std::string, double>& parameters = {}) {
  Parameters p(detector("fast10").parameters);
  EXPECT_TRUE(p.set_all(parameters));
  return detector("fast10").diagnose(set, profile, p).value();
}

Verdict answer_of(const DetectorInfo& d, const SeriesSet& set, const Profile& profile) {
  return d.diagnose(set, d.train ? &profile : nullptr, Parameters(d.parameters)).value();
}

std::vector<SeriesSet> healthy_runs(size_t servers = 5) {
  std::vector<SeriesSet> runs;
  for (unsigned seed = 1; seed <= 10; ++seed) runs.push_back(healthy(servers, 600, seed));  // as many as the paper has
  return runs;
}

// One server differs by a factor in one metric between ticks 150 and 450.
SeriesSet faulty(Metric metric, size_t server, double level, unsigned seed = 50) {
  SeriesSet set = healthy(5, 600, seed);
  fill(set, metric, server, level, 0.1, seed + 1, 150, 450);
  return set;
}

TEST(Fast10, NamesServerResourceAndCause) {
  const Profile profile = trained(healthy_runs());
  struct Case {
    Metric metric;
    double level;
    const char* resource;
    const char* cause;
  };
  const Case cases[] = {{Metric::rd_sec, 20000, "disk", "disk-hog"},
                        {Metric::wr_sec, 40000, "disk", "disk-hog"},
                        {Metric::await, 60, "disk", "disk-busy"},
                        {Metric::rxbyt, 30e6, "network", "network-hog"},
                        {Metric::txbyt, 30e6, "network", "network-hog"},
                        {Metric::cwnd_to_clients, 3, "network", "packet-loss"},
                        {Metric::cwnd_from_clients, 3, "network", "packet-loss"}};
  for (const Case& c : cases) {
    const Verdict verdict = fast10(faulty(c.metric, 2, c.level), &profile);
    ASSERT_EQ(verdict.answer, Answer::culprit) << c.cause;
    ASSERT_EQ(verdict.culprits.size(), 1u) << c.cause;
    EXPECT_EQ(verdict.culprits[0].server, "s3");
    EXPECT_EQ(verdict.culprits[0].resource, c.resource);
    EXPECT_EQ(verdict.culprits[0].cause, c.cause);
    EXPECT_EQ(verdict.culprits[0].evidence[0].metric, info(c.metric).name);
    EXPECT_GT(verdict.culprits[0].evidence[0].windows, 2);
    EXPECT_GT(verdict.culprits[0].end_ns, verdict.culprits[0].onset_from_ns);
  }
}

TEST(Fast10, OnsetHoldsTheFault) {
  const Profile profile = trained(healthy_runs());
  const SeriesSet set = faulty(Metric::await, 1, 60);
  const Accusation culprit = fast10(set, &profile).culprits.at(0);
  EXPECT_LE(culprit.onset_from_ns, set.time_of(150));
  EXPECT_GE(culprit.onset_until_ns, set.time_of(150));
}

TEST(Fast10, HealthyRunsAreHealthy) {
  const Profile profile = trained(healthy_runs());
  for (unsigned seed = 100; seed < 120; ++seed) {
    const Verdict verdict = fast10(healthy(5, 600, seed), &profile);
    EXPECT_EQ(verdict.answer, Answer::healthy)
        << seed << ": " << verdict.culprits.at(0).server << " " << verdict.culprits[0].evidence[0].metric << " "
        << verdict.culprits[0].evidence[0].distance << " above " << verdict.culprits[0].evidence[0].threshold;
  }
}

TEST(Fast10, TrainingRunsThemselvesAreNeverFlagged) {
  const std::vector<SeriesSet> runs = healthy_runs();
  const Profile profile = trained(runs);
  for (const SeriesSet& run : runs) EXPECT_EQ(fast10(run, &profile).answer, Answer::healthy);
}

// Peers that differ fourfold in training leave thresholds near the ceiling, where distances say nothing any more.
TEST(Fast10, SlowByAFactorOf180WithAProfileOfPeersThatDifferFourfold) {
  for (double noise : {0.0, 0.01, 0.1, 0.3, 0.6}) {
    std::vector<SeriesSet> runs;
    const double level[] = {1, 1.75, 2.5, 3.25, 4};
    for (unsigned seed = 1; seed <= 4; ++seed) {
      runs.push_back(healthy(5, 600, seed));
      for (size_t i = 0; i < 5; ++i) fill(runs.back(), Metric::await, i, 8 * level[i], noise, seed);
    }
    const Profile profile = trained(runs);
    for (size_t victim = 0; victim < 5; ++victim) {
      SeriesSet set = healthy(5, 600, 77);
      for (size_t i = 0; i < 5; ++i) fill(set, Metric::await, i, 8 * level[i], noise, 77);
      EXPECT_EQ(fast10(set, &profile).answer, Answer::healthy) << noise;
      fill(set, Metric::await, victim, 180 * 8 * level[victim], noise, 78, 100, 500);
      const Verdict verdict = fast10(set, &profile);
      ASSERT_EQ(verdict.culprits.size(), 1u) << "noise " << noise << " victim " << victim;
      EXPECT_EQ(verdict.culprits[0].server, set.servers[victim]);
      EXPECT_EQ(verdict.culprits[0].cause, "disk-busy");
    }
  }
}

TEST(Fast10, WeakServersAreListedAsNotJudged) {
  std::vector<SeriesSet> runs = {healthy(5, 600, 1)};
  const double level[] = {1, 1.75, 2.5, 3.25, 4};
  for (size_t i = 0; i < 5; ++i) fill(runs[0], Metric::await, i, 8 * level[i], 0.02, 1);
  const Profile profile = trained(runs);
  EXPECT_GT(profile.thresholds.at("await").at("s1").at("used"), 7.8);
  const Verdict verdict = fast10(runs[0], &profile);
  EXPECT_EQ(verdict.answer, Answer::healthy);
  EXPECT_TRUE(std::any_of(verdict.not_judged.begin(), verdict.not_judged.end(),
                          [](const NotJudged& row) { return row.metric == "await" && row.server == "s1"; }));
  // The rule as the paper's thresholds alone have it: nothing can stand out.
  SeriesSet slow = runs[0];
  fill(slow, Metric::await, 0, 180 * 8, 0.3, 9, 100, 500);
  EXPECT_EQ(fast10(slow, &profile, {{"weak_factor", 0}}).answer, Answer::healthy);
}

// ---- rule 10: thresholds ----

TEST(Rule10, DoubledButNeverMoreThanHalfwayToTheCeiling) {
  const Profile profile = trained(healthy_runs());
  constexpr double kCeiling = 9.19572;
  for (const char* metric : {"rd_sec", "wr_sec", "await", "rxbyt", "txbyt"})
    for (const auto& [server, row] : profile.thresholds.at(metric)) {
      const double t = row.at("trained");
      EXPECT_NEAR(row.at("used"), std::min(2 * t, (t + kCeiling) / 2), 1e-4) << metric << server;
    }
}

TEST(Rule10, AServerThatWasNotInTrainingGetsTheMaximum) {
  const Profile profile = trained(healthy_runs());
  double most = 0;
  for (const auto& [server, row] : profile.thresholds.at("await"))
    if (server != "*") most = std::max(most, row.at("used"));
  EXPECT_DOUBLE_EQ(profile.thresholds.at("await").at("*").at("used"), most);
  SeriesSet renamed = faulty(Metric::await, 2, 600);
  renamed.servers[2] = "new";
  EXPECT_EQ(fast10(renamed, &profile).culprits.at(0).server, "new");
}

TEST(Rule10, AMetricWithoutActivityInTrainingIsNotJudged) {
  std::vector<SeriesSet> runs = healthy_runs();
  for (SeriesSet& run : runs)
    for (Series& s : run.make(Metric::rd_sec)) std::fill(s.begin(), s.end(), 0.0);
  const Profile profile = trained(runs);
  EXPECT_EQ(profile.thresholds.count("rd_sec"), 0u);
  const Verdict verdict = fast10(healthy(5, 600, 30), &profile);
  EXPECT_EQ(verdict.answer, Answer::undecided);  // it was active and nobody could judge it
  ASSERT_FALSE(verdict.not_judged.empty());
  EXPECT_EQ(verdict.not_judged[0].metric, "rd_sec");
}

TEST(Rule10, TheMajorityRuleIsOffInTraining) {
  // Two of four differ all the time: were the rule on, nothing would be known and every threshold would be the least.
  SeriesSet run = healthy(4, 600, 3);
  for (size_t i = 2; i < 4; ++i) fill(run, Metric::await, i, 80, 0.1, 3);
  EXPECT_GT(trained({run}).thresholds.at("await").at("s1").at("trained"), 5);
}

TEST(Rule10, AServerKnownTooRarelyInTrainingGetsTheMaximum) {
  std::vector<SeriesSet> runs = healthy_runs();
  for (SeriesSet& run : runs) {
    Series& await = run.make(Metric::await)[1];
    std::fill(await.begin() + 60, await.end(), kMissing);  // two windows: it cannot be flagged in them
  }
  const Profile profile = trained(runs);
  EXPECT_EQ(profile.thresholds.at("await").count("s2"), 0u);
  EXPECT_EQ(profile.thresholds.at("await").count("s1"), 1u);
}

TEST(Rule10, WithoutAProfileItIsUndecided) {
  const Verdict verdict = fast10(healthy(5, 600, 1), nullptr);
  EXPECT_EQ(verdict.answer, Answer::undecided);
  EXPECT_EQ(verdict.reason, "no profile");
}

TEST(Rule10, TooShortToTrain) {
  Parameters p(detector("fast10").parameters);
  const std::vector<SeriesSet> runs = {healthy(5, 127, 1)};
  EXPECT_FALSE(detector("fast10").train(runs, p));
}

// ---- rules 12, 8, 15 ----

TEST(Rule12, DefaultMarginIsOneAndAHalf) {
  const Profile profile = trained(healthy_runs());
  const double f = profile.thresholds.at("cwnd_to_clients").at("*").at("fraction");
  auto with_share = [&](double share) {
    SeriesSet set = healthy(5, 600, 8, 0);
    fill(set, Metric::cwnd_to_clients, 0, std::exp(std::log(60) * share), 0, 1, 200, 400);
    return set;
  };
  const SeriesSet at_edge = with_share(1 - 1.25 * (1 - f));
  EXPECT_EQ(fast10(at_edge, &profile).answer, Answer::healthy);
  EXPECT_EQ(fast10(at_edge, &profile, {{"cwnd_margin", 1}}).answer, Answer::culprit);
  EXPECT_EQ(fast10(with_share(1 - 1.75 * (1 - f)), &profile).answer, Answer::culprit);
}

TEST(Rule8, TheMajorityDeviates) {
  const Profile profile = trained(healthy_runs(4));
  SeriesSet set = healthy(4, 600, 9);
  for (size_t i = 2; i < 4; ++i) fill(set, Metric::await, i, 80, 0.1, 9, 150, 450);
  const Verdict verdict = fast10(set, &profile);
  EXPECT_EQ(verdict.answer, Answer::undecided);
  EXPECT_EQ(verdict.reason, "the majority deviates");
}

TEST(Rule15, MissingDataNeverReadsAsHealthy) {
  const Profile profile = trained(healthy_runs());
  SeriesSet set = healthy(5, 600, 10);
  for (auto& metric : set.by_metric)
    if (!metric.empty()) std::fill(metric[4].begin() + 50, metric[4].end(), kMissing);
  std::fill(set.sampled[4].begin() + 50, set.sampled[4].end(), false);
  EXPECT_EQ(fast10(set, &profile).answer, Answer::undecided);
}

TEST(Rule15, AServerWithoutDiskDataIsNotHealthy) {
  const Profile profile = trained(healthy_runs());
  SeriesSet set = healthy(5, 600, 10);  // heard of all the time, but its disk has gone
  for (Metric metric : {Metric::rd_sec, Metric::wr_sec, Metric::await}) {
    Series& series = set.make(metric)[3];
    std::fill(series.begin(), series.end(), kMissing);
  }
  EXPECT_EQ(fast10(set, &profile).answer, Answer::undecided);
}

TEST(Rule15, WhereNothingCanBeJudgedNothingIsHealthy) {
  const Profile profile = trained(healthy_runs());
  EXPECT_EQ(fast10(healthy(5, 600, 10), &profile, {{"average_least", 6}, {"cwnd_least", 32}}).answer,
            Answer::undecided);
}

TEST(Rule15, AServerWithoutSocketsIsNamed) {
  const Profile profile = trained(healthy_runs());
  SeriesSet set = healthy(5, 600, 10);
  std::fill(set.make(Metric::cwnd_to_clients)[3].begin(), set.make(Metric::cwnd_to_clients)[3].end(), kMissing);
  const Verdict verdict = fast10(set, &profile);
  EXPECT_TRUE(std::any_of(verdict.not_judged.begin(), verdict.not_judged.end(),
                          [](const NotJudged& row) { return row.server == "s4" && row.metric == "cwnd_to_clients"; }));
}

TEST(Rule15, AServerThatDiesInAShortRunIsNotHealthy) {
  const Profile profile = trained(healthy_runs());
  SeriesSet set = healthy(5, 140, 10);
  for (auto& metric : set.by_metric)
    if (!metric.empty()) std::fill(metric[2].begin() + 80, metric[2].end(), kMissing);
  std::fill(set.sampled[2].begin() + 80, set.sampled[2].end(), false);
  EXPECT_EQ(fast10(set, &profile).answer, Answer::undecided);
}

TEST(Rule15, AnIdleFileSystemIsNotHealthy) {
  const Profile profile = trained(healthy_runs());
  SeriesSet set = healthy(5, 600, 10);
  for (Metric metric : {Metric::rd_sec, Metric::wr_sec, Metric::rxbyt, Metric::txbyt})
    for (Series& s : set.make(metric)) std::fill(s.begin(), s.end(), 0.0);
  for (Series& s : set.make(Metric::await)) std::fill(s.begin(), s.end(), kMissing);
  for (const DetectorInfo* d : series_detectors())
    EXPECT_EQ(answer_of(*d, set, profile).answer, Answer::undecided) << d->name;
}

TEST(Rule15, TooShortIsUndecided) {
  const Profile profile = trained(healthy_runs());
  EXPECT_EQ(fast10(healthy(5, 127, 1), &profile).reason, "the run has 127 ticks, a verdict needs 128");
}

TEST(Fast10, UsesTheMetricsThereAre) {
  const Profile profile = trained(healthy_runs());
  SeriesSet set = faulty(Metric::await, 2, 60);
  for (size_t m = 0; m < kMetrics; ++m)
    if (static_cast<Metric>(m) != Metric::await) set.by_metric[m].clear();
  const Verdict verdict = fast10(set, &profile);
  ASSERT_EQ(verdict.culprits.size(), 1u);
  EXPECT_EQ(verdict.culprits[0].server, "s3");
  EXPECT_EQ(verdict.not_judged.size(), 6u);  // the other indicting metrics
}

TEST(Fast10, WithoutThroughputItDoesNotClaimThatItIsTheSame) {
  const Profile profile = trained(healthy_runs());
  SeriesSet set = faulty(Metric::await, 2, 60);
  EXPECT_THAT(fast10(set, &profile).culprits.at(0).why, testing::HasSubstr("as much as its peers"));
  set.by_metric[static_cast<size_t>(Metric::rd_sec)].clear();
  EXPECT_THAT(fast10(set, &profile).culprits.at(0).why, testing::HasSubstr("not judged"));
}

TEST(Fast10, AFaultThatHasJustBegunIsNoted) {
  const Profile profile = trained(healthy_runs());
  SeriesSet set = healthy(5, 224, 60);  // windows end at 64, 96, ... 224
  fill(set, Metric::await, 1, 60, 0.1, 61, 150);
  const Verdict verdict = fast10(set, &profile, {{"k", 5}});
  EXPECT_EQ(verdict.answer, Answer::healthy);
  EXPECT_THAT(verdict.notes, testing::Contains(testing::HasSubstr("s2 deviates in the last")));
}

TEST(Fast10, AProfileOfAnotherIntervalDecidesNothing) {
  Profile profile = trained(healthy_runs());
  profile.interval_ns /= 10;
  EXPECT_EQ(fast10(faulty(Metric::await, 2, 60), &profile).answer, Answer::undecided);
}

TEST(Fast10, TwoCulpritsAtOnce) {
  std::vector<SeriesSet> runs = healthy_runs(7);
  const Profile profile = trained(runs);
  SeriesSet set = healthy(7, 600, 60);
  fill(set, Metric::rd_sec, 1, 20000, 0.1, 61, 100, 400);
  fill(set, Metric::rxbyt, 4, 40e6, 0.1, 61, 100, 400);
  const Verdict verdict = fast10(set, &profile);
  ASSERT_EQ(verdict.culprits.size(), 2u);
  EXPECT_EQ(verdict.culprits[0].server, "s2");
  EXPECT_EQ(verdict.culprits[1].server, "s5");
}

TEST(Fast10, DamagedProfilesAreRefused) {
  Profile profile = trained(healthy_runs());
  profile.thresholds["await"]["s2"].erase("used");
  EXPECT_FALSE(detector("fast10").diagnose(healthy(5, 600, 1), &profile, Parameters(detector("fast10").parameters)));
  profile.thresholds["await"].erase("*");
  EXPECT_FALSE(detector("fast10").diagnose(healthy(5, 600, 1), &profile, Parameters(detector("fast10").parameters)));
}

// ---- properties of every detector ----

TEST(EveryDetector, IdenticalSeriesAreNeverFlagged) {
  const Profile profile = trained(healthy_runs());
  for (const DetectorInfo* d : series_detectors()) {
    SeriesSet set = healthy(5, 600, 21, 0.9);
    for (auto& metric : set.by_metric)
      for (Series& s : metric) s = metric[0];
    EXPECT_TRUE(answer_of(*d, set, profile).culprits.empty()) << d->name;
  }
}

TEST(EveryDetector, TwoServersAreUndecided) {
  const Profile profile = trained(healthy_runs());
  for (const DetectorInfo* d : series_detectors())
    EXPECT_EQ(answer_of(*d, healthy(2, 600, 1), profile).answer, Answer::undecided) << d->name;
}

TEST(EveryDetector, NoTicksIsUndecided) {
  const Profile profile = trained(healthy_runs());
  for (const DetectorInfo* d : series_detectors())
    EXPECT_EQ(answer_of(*d, make_series(5, 0), profile).answer, Answer::undecided) << d->name;
}

TEST(EveryDetector, PermutingTheServersPermutesTheVerdict) {
  const Profile profile = trained(healthy_runs());
  const size_t order[] = {3, 0, 4, 2, 1};
  for (const DetectorInfo* d : series_detectors()) {
    for (Metric metric : {Metric::rd_sec, Metric::await, Metric::cwnd_to_clients}) {
      const SeriesSet set = faulty(metric, 2, metric == Metric::cwnd_to_clients ? 3 : 90000);
      SeriesSet permuted = set;
      for (size_t i = 0; i < 5; ++i) {
        permuted.servers[i] = set.servers[order[i]];
        for (size_t m = 0; m < kMetrics; ++m)
          if (!set.by_metric[m].empty()) permuted.by_metric[m][i] = set.by_metric[m][order[i]];
      }
      const Verdict a = answer_of(*d, set, profile);
      const Verdict b = answer_of(*d, permuted, profile);
      ASSERT_EQ(a.culprits.size(), 1u) << d->name;
      ASSERT_EQ(b.culprits.size(), 1u) << d->name;
      EXPECT_EQ(a.culprits[0].server, "s3");
      EXPECT_EQ(b.culprits[0].server, "s3");
      EXPECT_EQ(a.culprits[0].cause, b.culprits[0].cause);
      EXPECT_EQ(a.culprits[0].onset_from_ns, b.culprits[0].onset_from_ns);
      EXPECT_DOUBLE_EQ(a.culprits[0].evidence[0].distance, b.culprits[0].evidence[0].distance);
    }
  }
}

TEST(MedianRatio, TwiceTheMedianInMostTicks) {
  const DetectorInfo& d = detector("median_ratio");
  SeriesSet set = healthy(5, 200, 3);
  fill(set, Metric::await, 0, 8 * 1.8, 0, 1, 50, 150);
  EXPECT_EQ(answer_of(d, set, {}).answer, Answer::healthy);  // below twice
  fill(set, Metric::await, 0, 8 * 2.5, 0, 1, 50, 150);
  const Verdict verdict = answer_of(d, set, {});
  ASSERT_EQ(verdict.culprits.size(), 1u);
  EXPECT_EQ(verdict.culprits[0].server, "s1");
  EXPECT_EQ(verdict.culprits[0].cause, "disk-busy");
}

TEST(Parameters, OutOfRangeAndUnknownAreRefused) {
  Parameters p(detector("fast10").parameters);
  EXPECT_TRUE(p.set("k", 4));
  EXPECT_FALSE(p.set("k", 0));
  EXPECT_FALSE(p.set("k", std::nan("")));
  const Status unknown = p.set("windowsize", 64);
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().hint, testing::HasSubstr("window_size"));
}

}  // namespace
}  // namespace culprit
