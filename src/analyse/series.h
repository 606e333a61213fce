// A run as detectors see it: one series per server and metric on common ticks. fast10 rule 1.
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/metric.h"
#include "store/run_reader.h"

namespace culprit {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
inline bool is_missing(double value) {
  return std::isnan(value);
}

using Series = std::vector<double>;  // one value per tick, kMissing where there is none

struct SeriesSet {
  std::string run;
  std::string origin;
  bool partial = false;
  int64_t interval_ns = 0;
  int64_t start_ns = 0;  // wall clock of tick 0, a multiple of the interval
  size_t ticks = 0;
  std::vector<std::string> servers;
  // by_metric[metric][server]; an empty vector: nobody has this metric
  std::array<std::vector<Series>, kMetrics> by_metric;
  // sampled[server][tick]: the node was heard of. Tells an idle disk (no await) from a missing server.
  std::vector<std::vector<bool>> sampled;
  std::vector<std::string> notes;

  bool has(Metric metric) const { return !by_metric[static_cast<size_t>(metric)].empty(); }
  const std::vector<Series>& of(Metric metric) const { return by_metric[static_cast<size_t>(metric)]; }
  std::vector<Series>& make(Metric metric);  // all missing, if it was not there yet
  int64_t time_of(size_t tick) const { return start_ns + static_cast<int64_t>(tick) * interval_ns; }
};

struct SeriesOptions {
  std::vector<std::string> exclude;  // servers
  std::string since;                 // time, or +duration from the run's start; "" is the start
  std::string until;
  int cwnd_span = 31;  // ticks in which a socket must have sent to be counted (rule 11)
};

Result<SeriesSet> load_series(const RunReader& run, const SeriesOptions& options);

}  // namespace culprit
