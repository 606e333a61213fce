// median_ratio: the baseline that every other detector must beat, and the answer without a profile. A server is
// anomalous in a window when, in more than half of its ticks, a metric is above twice the median of the other servers
// in the same tick (cwnd: below half of it). No training, no memory; the cause comes from the same checklist as
// fast10's.
#include <algorithm>

#include "analyse/activity.h"
#include "analyse/detector.h"
#include "analyse/flags.h"
#include "base/text.h"

namespace culprit {

namespace {

constexpr Parameter kParameters[] = {
    {"ratio", 2, 1, 1000, "how many times the others' median is too much"},
    {"share", 0.5, 0, 1, "share of a window's ticks that must be above it"},
    {"window_size", 64, 4, 100000, "ticks of a window"},
    {"window_shift", 32, 1, 100000, "ticks from a window to the next"},
    {"least_values", 24, 1, 100000, "ticks of a window in which a server must have been compared"},
    {"floor_sectors", 128, 0, 1e9, "sectors/s by which storage throughput must differ at least"},
    {"floor_await", 0.05, 0, 1e6, "ms by which await must differ at least"},
    {"floor_bytes", 10000, 0, 1e12, "bytes/s by which network throughput must differ at least"},
};

constexpr size_t kLeastServers = 3;  // of two nobody can say which one is odd

double median_of_sorted(const OthersSorted& others) {
  const size_t n = others.size();
  return n % 2 ? others[n / 2] : (others[n / 2 - 1] + others[n / 2]) / 2;
}

// exceeds[server][tick]: 1 too much, 0 not, kMissing not comparable.
std::vector<Series> exceedances(const SeriesSet& series, Metric metric, const Parameters& p) {
  const std::vector<Series>& all = series.of(metric);
  const double floor = floor_of(metric, p);
  const double ratio = p["ratio"];
  std::vector<Series> out(all.size(), Series(series.ticks, kMissing));
  std::vector<double> sorted;
  for (size_t t = 0; t < series.ticks; ++t) {
    sorted.clear();
    for (const Series& one : all)
      if (!is_missing(one[t])) sorted.push_back(one[t]);
    if (sorted.size() < kLeastServers) continue;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < all.size(); ++i) {
      const double value = all[i][t];
      if (is_missing(value)) continue;
      const double others = median_of_sorted(OthersSorted(sorted, value));
      const bool odd = is_cwnd(metric) ? value * ratio < others : value > others * ratio && value - others > floor;
      out[i][t] = odd ? 1 : 0;
    }
  }
  return out;
}

// The share of exceeding ticks takes the place of a distance, so that the same flagging code serves.
PeerTable shares_per_window(const SeriesSet& series, Metric metric, const Parameters& p) {
  const Windows geometry{static_cast<size_t>(p.integer("window_size")), static_cast<size_t>(p.integer("window_shift"))};
  PeerTable table{geometry, series.servers.size(), {}, {}};
  const std::vector<Series> odd = exceedances(series, metric, p);
  for (size_t w = 0; w < geometry.count(series.ticks); ++w) {
    std::vector<PeerCell> cells(table.servers);
    for (size_t i = 0; i < table.servers; ++i) {
      int compared = 0;
      double exceeding = 0;
      for (size_t t = geometry.begin(w); t < geometry.end(w); ++t) {
        if (is_missing(odd[i][t])) continue;
        ++compared;
        exceeding += odd[i][t];
      }
      if (compared < p.integer("least_values")) continue;
      cells[i].known = Known::yes;
      cells[i].distance = exceeding / compared;
    }
    table.windows.push_back(std::move(cells));
    table.active.push_back(true);
  }
  return table;
}

// Whether at least one server could be compared in at least half of the windows.
bool judge(const SeriesSet& series, Metric metric, const Parameters& p, std::vector<Flag>& flags, Verdict& verdict) {
  const std::string name(info(metric).name);
  if (!series.has(metric)) {
    verdict.not_judged.push_back({"*", name, "it was not recorded"});
    return false;
  }
  const PeerTable table = shares_per_window(series, metric, p);
  Threshold threshold;
  threshold.used = p["share"];
  bool judged = false;
  for (size_t i = 0; i < series.servers.size(); ++i) {
    for (Flag& flag : find_flags(table, i, threshold, 1)) {
      flag.metric = metric;
      flags.push_back(std::move(flag));
    }
    const Coverage seen = coverage(table, i, 1);
    const bool mostly = seen.missing * 2 <= seen.windows;
    judged |= mostly;
    if (!mostly)
      verdict.not_judged.push_back(
          {series.servers[i], name, cat("too few values in ", seen.missing, " of ", seen.windows, " windows")});
  }
  return judged;
}

// A server that was not heard of in most windows is not healthy, whatever the others are.
bool all_heard(const SeriesSet& series) {
  return std::all_of(series.sampled.begin(), series.sampled.end(), [&](const std::vector<bool>& ticks) {
    return static_cast<size_t>(std::count(ticks.begin(), ticks.end(), true)) * 2 >= series.ticks;
  });
}

std::string why_undecided(const SeriesSet& series, const Parameters& p, bool judged) {
  if (!any_activity(series, p)) return "nothing happened";
  if (!judged) return "no metric of any server could be compared";
  return all_heard(series) ? "" : "a server was not heard of most of the time";
}

Result<Verdict> diagnose(const SeriesSet& series, const Profile*, const Parameters& p) {
  Verdict verdict;
  const size_t window = static_cast<size_t>(p.integer("window_size"));
  if (series.servers.size() < kLeastServers) {
    verdict.reason = "fewer than three servers have data";
    return verdict;
  }
  if (series.ticks < window) {
    verdict.reason = cat("the run has ", series.ticks, " ticks, a verdict needs ", window);
    return verdict;
  }
  std::vector<Flag> flags;
  bool judged = false;
  for (const MetricInfo& metric : metrics())
    if (metric.indicting) judged |= judge(series, metric.id, p, flags, verdict);
  for (const Incident& incident : find_incidents(std::move(flags), window))
    verdict.culprits.push_back(accuse(series, incident));
  verdict.answer = Answer::culprit;
  if (!verdict.culprits.empty()) return verdict;
  verdict.reason = why_undecided(series, p, judged);
  verdict.answer = verdict.reason.empty() ? Answer::healthy : Answer::undecided;
  if (verdict.reason.empty()) verdict.reason = "no server deviates from its peers";
  return verdict;
}

}  // namespace

extern const DetectorInfo detector_median_ratio;
const DetectorInfo detector_median_ratio = {
    "median_ratio", "the baseline: most ticks of a window above twice the others' median; needs no training",
    kParameters, nullptr, diagnose};

}  // namespace culprit
