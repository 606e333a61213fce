#include "analyse/activity.h"

#include <algorithm>

namespace culprit {

bool is_cwnd(Metric metric) {
  return metric == Metric::cwnd_to_clients || metric == Metric::cwnd_from_clients;
}

double floor_of(Metric metric, const Parameters& p) {
  if (is_cwnd(metric)) return 0;
  if (metric == Metric::await) return p["floor_await"];
  return info(metric).resource == Resource::disk ? p["floor_sectors"] : p["floor_bytes"];
}

bool any_activity(const SeriesSet& series, const Parameters& p) {
  for (Metric metric : {Metric::rd_sec, Metric::wr_sec, Metric::rxbyt, Metric::txbyt})
    for (const Series& one : series.of(metric))
      if (std::any_of(one.begin(), one.end(), [&](double v) { return v >= floor_of(metric, p); })) return true;
  for (const Series& one : series.of(Metric::await))  // imports may hold latencies alone
    if (std::any_of(one.begin(), one.end(), [](double v) { return v > 0; })) return true;
  return false;
}

}  // namespace culprit
