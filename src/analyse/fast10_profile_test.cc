// What fast10 learns and what it does with a profile: of quiet runs, of other servers, of numbers that make no sense;
// and what it says of those it could not judge.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analyse/detector.h"
#include "analyse/test_series.h"

namespace culprit {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const DetectorInfo& fast10() {
  return *find_detector("fast10").value();
}

Profile trained(const std::vector<SeriesSet>& runs) {
  return fast10().train(runs, Parameters(fast10().parameters)).value();
}

Result<Verdict> ask(const SeriesSet& set, const Profile& profile) {
  return fast10().diagnose(set, &profile, Parameters(fast10().parameters));
}

std::vector<SeriesSet> healthy_runs() {
  std::vector<SeriesSet> runs;
  for (unsigned seed = 1; seed <= 10; ++seed) runs.push_back(healthy(5, 600, seed));
  return runs;
}

// Why a server was not judged in a metric; "" if it was.
std::string reason(const Verdict& verdict, const std::string& server, const std::string& metric) {
  for (const NotJudged& row : verdict.not_judged)
    if (row.server == server && row.metric == metric) return row.reason;
  return "";
}

void lose(SeriesSet& set, Metric metric, size_t server, size_t from, size_t until) {
  Series& series = set.make(metric)[server];
  std::fill(series.begin() + static_cast<std::ptrdiff_t>(from), series.begin() + static_cast<std::ptrdiff_t>(until),
            kMissing);
}

TEST(Rule10, AShortBurstInTrainingTeachesNothing) {
  std::vector<SeriesSet> runs = healthy_runs();
  for (SeriesSet& run : runs) {
    for (Series& series : run.make(Metric::rd_sec)) std::fill(series.begin(), series.end(), 0.0);
    fill(run, Metric::rd_sec, 0, 5000, 0, 1, 100, 110);  // two windows
  }
  const Profile profile = trained(runs);
  EXPECT_EQ(profile.thresholds.count("rd_sec"), 0u);
  EXPECT_EQ(profile.thresholds.count("wr_sec"), 1u);
  EXPECT_EQ(ask(runs[0], profile)->answer, Answer::healthy);  // nor does it matter
}

TEST(Rule10, AServerOfQuietRunsAloneGetsTheMaximum) {
  std::vector<SeriesSet> runs = healthy_runs();
  SeriesSet quiet = healthy(5, 600, 20);
  for (size_t i = 0; i < 5; ++i) quiet.servers[i] += "x";
  for (Series& series : quiet.make(Metric::rd_sec)) std::fill(series.begin(), series.end(), 0.0);
  runs.push_back(quiet);
  const Profile profile = trained(runs);
  EXPECT_EQ(profile.thresholds.at("rd_sec").count("s1"), 1u);
  EXPECT_EQ(profile.thresholds.at("rd_sec").count("s1x"), 0u);
  EXPECT_EQ(profile.thresholds.at("wr_sec").count("s1x"), 1u);
}

TEST(Rule12, WindowsThatNeverDifferedInTrainingTeachNothing) {
  std::vector<SeriesSet> runs = healthy_runs();
  for (SeriesSet& run : runs)
    for (size_t i = 0; i < 5; ++i) fill(run, Metric::cwnd_to_clients, i, 60, 0, 1);
  const Profile profile = trained(runs);
  EXPECT_EQ(profile.thresholds.count("cwnd_to_clients"), 0u);
  EXPECT_EQ(profile.thresholds.count("cwnd_from_clients"), 1u);
  EXPECT_EQ(ask(runs[0], profile)->answer, Answer::healthy);  // nobody differs here either
  const Verdict differs = ask(healthy(5, 600, 100), profile).value();
  EXPECT_EQ(differs.answer, Answer::undecided);
  EXPECT_THAT(reason(differs, "*", "cwnd_to_clients"), HasSubstr("no difference"));
}

TEST(Profiles, NumbersOutOfRangeAreRefused) {
  struct Case {
    const char* metric;
    const char* server;
    const char* name;
    double value;
  };
  const Case cases[] = {{"cwnd_to_clients", "*", "fraction", 1.5},
                        {"cwnd_to_clients", "*", "fraction", -0.1},
                        {"await", "s2", "used", 0},
                        {"await", "s2", "above", 0.5},
                        {"await", "*", "below", 1.5},
                        {"await", "*", "below", -1}};
  const Profile good = trained(healthy_runs());
  EXPECT_TRUE(ask(healthy(5, 600, 1), good));
  for (const Case& c : cases) {
    Profile bad = good;
    bad.thresholds[c.metric][c.server][c.name] = c.value;
    const Result<Verdict> answer = ask(healthy(5, 600, 1), bad);
    ASSERT_FALSE(answer) << c.name << " " << c.value;
    EXPECT_EQ(answer.error().kind, ErrorKind::input);
    EXPECT_THAT(answer.error().what, HasSubstr(c.name));
    EXPECT_THAT(answer.error().hint, HasSubstr("train it again"));
  }
}

TEST(Profiles, HostileIntervalsDecideNothing) {
  Profile profile = trained(healthy_runs());
  for (int64_t interval : {INT64_MIN, INT64_MAX, int64_t{0}}) {
    profile.interval_ns = interval;
    EXPECT_EQ(ask(healthy(5, 600, 1), profile)->answer, Answer::undecided) << interval;
  }
}

TEST(Profiles, OfOtherServersAreNoted) {
  const Profile profile = trained(healthy_runs());
  SeriesSet set = healthy(5, 600, 1);
  EXPECT_THAT(ask(set, profile)->notes, Not(Contains(HasSubstr("loosest"))));
  set.servers[2] = "new";
  EXPECT_THAT(ask(set, profile)->notes, Contains(HasSubstr("new was not in the training runs")));
  for (size_t i = 0; i < 5; ++i) set.servers[i] += "x";
  EXPECT_THAT(ask(set, profile)->notes, Contains(HasSubstr("the profile was trained on other servers")));
}

TEST(NotJudged, FewValuesAreNotNothing) {
  const Profile profile = trained(healthy_runs());
  SeriesSet set = healthy(5, 600, 1);
  for (size_t t = 0; t < 600; ++t)
    if (t % 10 != 0) set.make(Metric::await)[1][t] = kMissing;
  EXPECT_THAT(reason(ask(set, profile).value(), "s2", "await"), HasSubstr("too few values in"));
  lose(set, Metric::await, 1, 0, 600);
  EXPECT_THAT(reason(ask(set, profile).value(), "s2", "await"), HasSubstr("nothing to measure in"));
}

TEST(NotJudged, TheReasonOfMostWindowsIsSaid) {
  const Profile profile = trained(healthy_runs());
  SeriesSet set = healthy(5, 600, 1);
  lose(set, Metric::rd_sec, 3, 0, 160);
  for (size_t server : {size_t{1}, size_t{2}, size_t{4}}) lose(set, Metric::rd_sec, server, 300, 600);
  const Verdict verdict = ask(set, profile).value();
  EXPECT_THAT(reason(verdict, "s4", "rd_sec"), HasSubstr("fewer than three servers had data in"));
  EXPECT_THAT(reason(verdict, "s2", "rd_sec"), HasSubstr("no data in"));
}

TEST(NotJudged, ALogThatEndsWhileItsServerIsFlaggedIsSaid) {
  const Profile profile = trained(healthy_runs());
  SeriesSet set = healthy(5, 600, 50);
  fill(set, Metric::await, 2, 60, 0.1, 51, 150);
  for (size_t m = 0; m < kMetrics; ++m)
    if (!set.by_metric[m].empty()) lose(set, static_cast<Metric>(m), 2, 350, 600);
  std::fill(set.sampled[2].begin() + 350, set.sampled[2].end(), false);
  const Verdict verdict = ask(set, profile).value();
  ASSERT_EQ(verdict.culprits.size(), 1u);
  EXPECT_EQ(verdict.culprits[0].server, "s3");
  EXPECT_EQ(verdict.culprits[0].end_ns, 0);
  EXPECT_THAT(reason(verdict, "s3", "await"), HasSubstr("no data in"));
}

}  // namespace
}  // namespace culprit
