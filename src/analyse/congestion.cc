#include "analyse/congestion.h"

#include <algorithm>
#include <cmath>

#include "analyse/windows.h"

namespace culprit {

namespace {

double lowest_of(const std::vector<Series>& shares) {
  double lowest = kMissing;
  for (const Series& share : shares)
    for (double value : share)
      if (!is_missing(value) && !(value >= lowest)) lowest = value;
  return lowest;
}

}  // namespace

std::vector<Series> log_shares(const SeriesSet& series, Metric metric, const CongestionOptions& options) {
  std::vector<Series> logs;
  for (const Series& raw : series.of(metric)) {
    logs.push_back(trailing_average(raw, options.span, options.least));
    for (double& value : logs.back())
      if (!is_missing(value)) value = std::log(std::max(1.0, value));
  }
  std::vector<double> sending;
  for (size_t t = 0; t < series.ticks; ++t) {
    sending.clear();
    for (const Series& log : logs)
      if (!is_missing(log[t])) sending.push_back(log[t]);
    const double median = sending.size() >= options.least_servers ? median_of(sending) : kMissing;
    for (Series& log : logs) log[t] = median > 0 ? log[t] / median : kMissing;  // a missing one stays missing
  }
  return logs;
}

bool ever_differs(const std::vector<Series>& shares) {
  return lowest_of(shares) < 1;  // also kMissing
}

double train_fraction(const std::vector<std::vector<Series>>& runs, double step) {
  double lowest = kMissing;
  for (const auto& shares : runs)
    if (const double least = lowest_of(shares); !is_missing(least) && !(least >= lowest)) lowest = least;
  // Windows that never differed do not show how far healthy ones stray: a fraction of 1 would accuse anybody below the
  // median.
  if (!(lowest < 1)) return kMissing;
  double n = std::ceil(lowest / step) + 1;  // start above: the division may round either way
  while (n > 0 && n * step > lowest) --n;
  return n * step;
}

double congestion_limit(double fraction, double margin) {
  return 1 - margin * (1 - fraction);
}

std::vector<Flag> find_congestion(const std::vector<Series>& shares, size_t server, Metric metric, double limit,
                                  const CongestionOptions& options) {
  const Series& share = shares[server];
  std::vector<Flag> flags;
  size_t values = 0;  // ticks with one so far
  for (size_t t = 0; t < share.size(); ++t) {
    if (!is_missing(share[t])) ++values;
    if (!(share[t] < limit)) continue;  // also kMissing
    Flag flag;
    flag.server = server;
    flag.metric = metric;
    flag.threshold = limit;
    flag.onset = {t >= options.span ? t - options.span : 0, t};
    flag.distance = share[t];
    flag.values_before = values - 1;
    const size_t first = t;
    for (; t < share.size() && share[t] < limit; ++t) flag.distance = std::min(flag.distance, share[t]);
    flag.flagged = {first, t};
    flag.anomalous = {{first, t}};
    flag.end = t;
    flag.per_tick = true;
    flag.average = {options.span, options.least};
    flag.open = std::all_of(share.begin() + static_cast<std::ptrdiff_t>(t), share.end(), is_missing);
    flags.push_back(std::move(flag));
    values += t - first - 1;                                  // the first one is counted
    if (t < share.size() && !is_missing(share[t])) ++values;  // the loop steps over it
  }
  return flags;
}

}  // namespace culprit
