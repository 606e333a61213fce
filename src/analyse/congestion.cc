#include "analyse/congestion.h"

#include <algorithm>
#include <cmath>

#include "analyse/windows.h"

namespace culprit {

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

double train_fraction(const std::vector<std::vector<Series>>& runs, double step) {
  double lowest = kMissing;
  for (const auto& shares : runs)
    for (const Series& share : shares)
      for (double value : share)
        if (!is_missing(value) && !(value >= lowest)) lowest = value;
  if (is_missing(lowest)) return kMissing;
  double n = std::ceil(lowest / step) + 1;  // start above: the division may round either way
  while (n > 0 && n * step > lowest) --n;
  return n * step;
}

double congestion_limit(double fraction, double margin) {
  return 1 - margin * (1 - fraction);
}

std::vector<Flag> find_congestion(const std::vector<Series>& shares, size_t server, Metric metric, double limit,
                                  size_t span) {
  const Series& share = shares[server];
  std::vector<Flag> flags;
  for (size_t t = 0; t < share.size(); ++t) {
    if (!(share[t] < limit)) continue;  // also kMissing
    Flag flag;
    flag.server = server;
    flag.metric = metric;
    flag.threshold = limit;
    flag.onset = {t >= span ? t - span : 0, t};
    flag.distance = share[t];
    const size_t first = t;
    for (; t < share.size() && share[t] < limit; ++t) flag.distance = std::min(flag.distance, share[t]);
    flag.flagged = {first, t};
    flag.anomalous = {{first, t}};
    flag.windows = flag.windows_judged = static_cast<int>(t - first);
    flag.end = t;
    flag.per_tick = true;
    flag.open = std::all_of(share.begin() + static_cast<std::ptrdiff_t>(t), share.end(), is_missing);
    flags.push_back(std::move(flag));
  }
  return flags;
}

}  // namespace culprit
