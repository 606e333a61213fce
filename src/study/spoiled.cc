// Was the machine fit for measuring? Looked at before any verdict, from the run's own counters.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyse/series.h"
#include "base/units.h"
#include "study/one_run.h"

namespace culprit {

namespace {

// The mean of each whole second (of each tick, where ticks are longer).
std::vector<double> by_second(const Series& series, int64_t interval_ns) {
  const size_t ticks = static_cast<size_t>(std::max<int64_t>(1, kNsPerSecond / interval_ns));
  std::vector<double> out;
  for (size_t from = 0; from + ticks <= series.size(); from += ticks) {
    double sum = 0;
    int known = 0;
    for (size_t t = from; t < from + ticks; ++t)
      if (!is_missing(series[t])) sum += series[t], ++known;
    if (known > 0) out.push_back(sum / known);
  }
  return out;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

}  // namespace

Result<std::string> spoiled_reason(const SpoiledRule& rule, const std::string& run_path, Attempt& attempt) {
  ASSIGN_OR_RETURN(const RunReader run, RunReader::open(run_path));
  ASSIGN_OR_RETURN(const SeriesSet series, load_series(run, {}));
  return spoiled_reason(rule, series, attempt);
}

std::string spoiled_reason(const SpoiledRule& rule, const SeriesSet& series, Attempt& attempt) {
  double fit_seconds = 100, idle_mean = 100, steal = 0, lost = 0;
  for (size_t s = 0; s < series.servers.size(); ++s) {
    const auto missing = std::count(series.sampled[s].begin(), series.sampled[s].end(), false);
    lost = std::max(lost, 100.0 * static_cast<double>(missing) / static_cast<double>(series.ticks));
    if (!series.has(Metric::cpu_busy)) continue;
    const std::vector<double> busy = by_second(series.of(Metric::cpu_busy)[s], series.interval_ns);
    const auto fit = std::count_if(busy.begin(), busy.end(), [&](double b) { return 100 - b >= rule.idle_percent; });
    if (!busy.empty())
      fit_seconds = std::min(fit_seconds, 100.0 * static_cast<double>(fit) / static_cast<double>(busy.size()));
    idle_mean = std::min(idle_mean, 100 - mean_of(busy));
    if (series.has(Metric::steal))
      steal = std::max(steal, mean_of(by_second(series.of(Metric::steal)[s], series.interval_ns)));
  }
  auto rounded = [](double value) { return std::round(value * 10) / 10; };
  attempt.measured["idle_seconds"] = rounded(fit_seconds);
  attempt.measured["idle_mean"] = rounded(idle_mean);
  attempt.measured["steal_mean"] = rounded(steal);
  attempt.measured["lost_percent"] = rounded(lost);
  if (!series.has(Metric::cpu_busy)) return "the run does not tell how busy the machine was";
  if (fit_seconds < rule.idle_seconds)
    return fmt::format("only {:.0f} % of the seconds had {:.0f} % idle CPU", fit_seconds, rule.idle_percent);
  if (steal > rule.steal_percent) return fmt::format("{:.1f} % of the CPU was taken by other machines", steal);
  if (lost > rule.lost_percent) return fmt::format("{:.1f} % of a server's samples were lost", lost);
  return "";
}

}  // namespace culprit
