#include "analyse/activity.h"

#include <algorithm>

#include "analyse/windows.h"

namespace culprit {

namespace {

constexpr Metric kRates[] = {Metric::rd_sec, Metric::wr_sec, Metric::rxbyt, Metric::txbyt};
constexpr size_t kAverageSpan = 5;   // as rule 3: a journal write in a single tick does not reach the floor
constexpr size_t kAverageLeast = 3;  // or three of them

// As many ticks as a server needs values to be judged in a window. It is counted in ticks, so an hour of 60 s ticks and
// a minute of 1 s ticks ask for the same; and never more than half a window, which the shortest run that is judged has.
size_t ticks_asked(const Parameters& p) {
  const int asked = std::min(p.integer("least_values"), p.integer("window_size") / 2);
  return static_cast<size_t>(std::max(1, asked));
}

// Whether one server's smoothed values reach `floor` in that many ticks.
bool is_sustained(const std::vector<Series>& all, double floor, size_t ticks) {
  return std::any_of(all.begin(), all.end(), [&](const Series& raw) {
    const Series smooth = trailing_average(raw, kAverageSpan, kAverageLeast);
    const auto busy = std::count_if(smooth.begin(), smooth.end(), [&](double v) { return v > 0 && v >= floor; });
    return static_cast<size_t>(busy) >= ticks;
  });
}

}  // namespace

bool is_cwnd(Metric metric) {
  return metric == Metric::cwnd_to_clients || metric == Metric::cwnd_from_clients;
}

double floor_of(Metric metric, const Parameters& p) {
  if (is_cwnd(metric)) return 0;
  if (metric == Metric::await) return p["floor_await"];
  return info(metric).resource == Resource::disk ? p["floor_sectors"] : p["floor_bytes"];
}

bool any_activity(const SeriesSet& series, const Parameters& p) {
  const size_t ticks = ticks_asked(p);
  bool rates = false;
  for (Metric metric : kRates) {
    rates |= series.has(metric);
    if (is_sustained(series.of(metric), floor_of(metric, p), ticks)) return true;
  }
  // Imports may hold latencies alone. Beside rates they prove nothing: a single request has one.
  return !rates && is_sustained(series.of(Metric::await), 0, ticks);
}

}  // namespace culprit
