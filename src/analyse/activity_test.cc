// Whether anything happened: work that goes on for a while is activity, a journal write or a single request is none.
#include "analyse/activity.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analyse/test_series.h"

namespace culprit {
namespace {

Parameters defaults() {
  return Parameters(find_detector("fast10").value()->parameters);
}

SeriesSet idle(size_t ticks) {
  SeriesSet set = make_series(4, ticks);
  for (Metric metric : {Metric::rd_sec, Metric::wr_sec, Metric::rxbyt, Metric::txbyt})
    for (Series& series : set.make(metric)) std::fill(series.begin(), series.end(), 0.0);
  return set;
}

TEST(Activity, AJournalWriteIsNone) {
  SeriesSet set = idle(600);
  set.make(Metric::wr_sec)[1][100] = 5000;
  set.make(Metric::await)[1][100] = 3;
  EXPECT_FALSE(any_activity(set, defaults()));
}

TEST(Activity, WorkMustGoOnForAWhile) {
  SeriesSet set = idle(600);
  fill(set, Metric::wr_sec, 1, 1000, 0, 1, 100, 110);
  EXPECT_FALSE(any_activity(set, defaults()));  // 14 ticks of the moving average
  fill(set, Metric::wr_sec, 1, 1000, 0, 1, 300, 320);
  EXPECT_TRUE(any_activity(set, defaults()));
  fill(set, Metric::wr_sec, 1, 100, 0, 1);
  EXPECT_FALSE(any_activity(set, defaults()));  // below the floor all the time
}

TEST(Activity, LatenciesCountWhereThereAreNoRates) {
  SeriesSet set = make_series(4, 600);
  fill(set, Metric::await, 0, 5, 0.1, 1);
  EXPECT_TRUE(any_activity(set, defaults()));
  std::fill(set.make(Metric::rd_sec)[0].begin(), set.make(Metric::rd_sec)[0].end(), 0.0);
  EXPECT_FALSE(any_activity(set, defaults()));
}

TEST(Activity, NeverMoreThanHalfAWindowIsAsked) {
  SeriesSet set = idle(40);
  fill(set, Metric::rxbyt, 2, 1e6, 0, 1, 10, 16);
  Parameters p = defaults();
  EXPECT_FALSE(any_activity(set, p));
  EXPECT_TRUE(p.set("window_size", 16));
  EXPECT_TRUE(any_activity(set, p));
}

}  // namespace
}  // namespace culprit
