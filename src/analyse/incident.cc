#include "analyse/incident.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analyse/checklist.h"
#include "analyse/windows.h"

namespace culprit {

namespace {

// Mean of a series over the union of some ticks; kMissing when it has no value there.
double mean_over(const Series& series, const std::vector<bool>& ticks) {
  double sum = 0;
  int n = 0;
  for (size_t t = 0; t < series.size(); ++t) {
    if (!ticks[t] || is_missing(series[t])) continue;
    sum += series[t];
    ++n;
  }
  return n ? sum / n : kMissing;
}

void mark(std::vector<bool>& ticks, const std::vector<TickRange>& ranges) {
  for (auto [from, until] : ranges)
    for (size_t t = from; t < std::min(until, ticks.size()); ++t) ticks[t] = true;
}

// The server against its peers in one metric over some ticks; false when there is nothing to compare.
bool weigh(const SeriesSet& series, Metric metric, size_t server, const std::vector<bool>& ticks, Evidence& out) {
  if (!series.has(metric)) return false;
  std::vector<double> peers;
  for (size_t i = 0; i < series.servers.size(); ++i) {
    double mean = mean_over(series.of(metric)[i], ticks);
    if (i == server)
      out.value = mean;
    else if (!is_missing(mean))
      peers.push_back(mean);
  }
  if (is_missing(out.value) || peers.empty()) return false;
  out.metric = info(metric).name;
  out.unit = info(metric).unit;
  out.peers_low = *std::min_element(peers.begin(), peers.end());
  out.peers_high = *std::max_element(peers.begin(), peers.end());
  out.peers_median = median_of(peers);
  out.peers = static_cast<int>(peers.size());
  return true;
}

// One piece of evidence per flagged metric: its flags in this incident together.
Evidence convict(const SeriesSet& series, const std::vector<const Flag*>& flags) {
  Evidence evidence;
  std::vector<bool> ticks(series.ticks);
  for (const Flag* flag : flags) {
    mark(ticks, flag->anomalous);
    evidence.windows += flag->windows;
    evidence.windows_judged += flag->windows_judged;
    const bool worse = flag->per_tick ? flag->distance < evidence.distance : flag->distance > evidence.distance;
    if (flag == flags.front() || worse) evidence.distance = flag->distance;
    evidence.threshold = flag->threshold;
    evidence.per_tick = flag->per_tick;
  }
  if (flags[0]->per_tick)  // judged in every tick: those between two flags were judged, too
    evidence.windows_judged = static_cast<int>(flags.back()->flagged.second - flags[0]->flagged.first);
  evidence.indicting = true;
  weigh(series, flags[0]->metric, flags[0]->server, ticks, evidence);
  evidence.metric = info(flags[0]->metric).name;
  return evidence;
}

// Metrics that do not convict but belong to the resource, over all ticks of the incident.
void corroborate(const SeriesSet& series, const Incident& incident, Resource resource, std::vector<Evidence>& out) {
  std::vector<bool> ticks(series.ticks);
  for (const Flag& flag : incident.flags) mark(ticks, flag.anomalous);
  for (const MetricInfo& metric : metrics()) {
    if (metric.indicting || metric.resource != resource) continue;
    Evidence evidence;
    if (weigh(series, metric.id, incident.server, ticks, evidence)) out.push_back(evidence);
  }
}

}  // namespace

std::vector<Incident> find_incidents(std::vector<Flag> flags, size_t join) {
  std::sort(flags.begin(), flags.end(), [](const Flag& a, const Flag& b) {
    return std::tie(a.server, a.flagged, a.metric) < std::tie(b.server, b.flagged, b.metric);
  });
  std::vector<Incident> incidents;
  for (Flag& flag : flags) {
    const bool joins = !incidents.empty() && incidents.back().server == flag.server &&
                       flag.flagged.first <= incidents.back().flagged.second + join;
    if (!joins) incidents.push_back({flag.server, flag.flagged, {}});
    Incident& incident = incidents.back();
    incident.flagged.second = std::max(incident.flagged.second, flag.flagged.second);
    incident.flags.push_back(std::move(flag));
  }
  return incidents;
}

Accusation accuse(const SeriesSet& series, const Incident& incident) {
  std::map<Metric, std::vector<const Flag*>> by_metric;
  std::set<Metric> deviating;
  TickRange onset = incident.flags[0].onset;
  size_t end = 0;
  size_t known = incident.flags[0].flagged.first;
  bool open = false;
  for (const Flag& flag : incident.flags) {
    open |= flag.open;
    known = std::min(known, flag.flagged.first);
    by_metric[flag.metric].push_back(&flag);
    deviating.insert(flag.metric);
    onset = std::min(onset, flag.onset);
    end = std::max(end, flag.end);
  }
  Cause cause = find_cause(deviating);
  Accusation out;
  out.server = series.servers[incident.server];
  out.resource = name_of(cause.resource);
  out.cause = cause.name;
  out.step = cause.step;
  out.why = cause.why;
  out.onset_from_ns = series.time_of(onset.first);
  out.onset_until_ns = series.time_of(onset.second);
  out.end_ns = open ? 0 : series.time_of(end);
  out.known_ns = series.time_of(known);
  for (const auto& [metric, flags] : by_metric) out.evidence.push_back(convict(series, flags));
  // What decided comes first, the most often anomalous one at the front.
  std::stable_sort(out.evidence.begin(), out.evidence.end(), [&](const Evidence& a, const Evidence& b) {
    auto rank = [&](const Evidence& e) {
      const bool asked = cause.asked.count(find_metric(e.metric)->id) > 0;
      return std::make_pair(!asked, -static_cast<double>(e.windows) / std::max(1, e.windows_judged));
    };
    return rank(a) < rank(b);
  });
  const Evidence& first = out.evidence.front();
  out.confidence = static_cast<double>(first.windows) / std::max(1, first.windows_judged);
  corroborate(series, incident, cause.resource, out.evidence);
  return out;
}

}  // namespace culprit
