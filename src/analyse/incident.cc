#include "analyse/incident.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>

#include "analyse/checklist.h"
#include "analyse/windows.h"

namespace culprit {

namespace {

// The union of some ranges in the order of time, cut at the data's end.
std::vector<TickRange> union_of(std::vector<TickRange> ranges, size_t ticks) {
  std::sort(ranges.begin(), ranges.end());
  std::vector<TickRange> out;
  for (const TickRange& range : ranges) {
    const size_t until = std::min(range.second, ticks);
    if (range.first >= until) continue;
    if (!out.empty() && range.first <= out.back().second)
      out.back().second = std::max(out.back().second, until);
    else
      out.emplace_back(range.first, until);
  }
  return out;
}

// Mean of a series, or of its trailing average, over some ticks; kMissing when it has no value there.
double mean_over(const Series& series, const std::vector<TickRange>& ticks, const Average& average) {
  double sum = 0;
  int n = 0;
  for (const TickRange& range : ticks) {
    for (size_t t = range.first; t < range.second; ++t) {
      const double value = trailing_mean(series, t, average.span, average.least);
      if (is_missing(value)) continue;
      sum += value;
      ++n;
    }
  }
  return n ? sum / n : kMissing;
}

// The server against its peers in one metric over some ticks; false, and nothing is filled in, when there is nothing to
// compare.
bool weigh(const SeriesSet& series, Metric metric, size_t server, const std::vector<TickRange>& ticks,
           const Average& average, Evidence& out) {
  if (!series.has(metric)) return false;
  double value = kMissing;
  std::vector<double> peers;
  for (size_t i = 0; i < series.servers.size(); ++i) {
    const double mean = mean_over(series.of(metric)[i], ticks, average);
    if (i == server)
      value = mean;
    else if (!is_missing(mean))
      peers.push_back(mean);
  }
  if (is_missing(value) || peers.empty()) return false;
  out.value = value;
  out.metric = info(metric).name;
  out.unit = info(metric).unit;
  out.peers_low = *std::min_element(peers.begin(), peers.end());
  out.peers_high = *std::max_element(peers.begin(), peers.end());
  out.peers_median = median_of(peers);
  out.peers = static_cast<int>(peers.size());
  return true;
}

// Flags that follow each other share windows: each counts once.
int count_distinct(const std::vector<const Flag*>& flags, std::vector<TickRange> Flag::*member) {
  std::set<TickRange> all;
  for (const Flag* flag : flags) all.insert((flag->*member).begin(), (flag->*member).end());
  return static_cast<int>(all.size());
}

// The flags of one metric, in the order of time. Ticks are judged where they have a value, between two flags, too.
void count_windows(const std::vector<const Flag*>& flags, Evidence& out) {
  out.per_tick = flags[0]->per_tick;
  if (!out.per_tick) {
    out.windows = count_distinct(flags, &Flag::anomalous);
    out.windows_judged = count_distinct(flags, &Flag::judged);
    return;
  }
  auto length = [](const Flag& flag) { return flag.flagged.second - flag.flagged.first; };
  size_t anomalous = 0;
  for (const Flag* flag : flags) anomalous += length(*flag);
  out.windows = static_cast<int>(anomalous);
  const Flag& last = *flags.back();
  out.windows_judged = static_cast<int>(last.values_before + length(last) - flags[0]->values_before);
}

// One piece of evidence per flagged metric: its flags in this incident together.
Evidence convict(const SeriesSet& series, const std::vector<const Flag*>& flags) {
  Evidence evidence;
  std::vector<TickRange> anomalous;
  for (const Flag* flag : flags) {
    anomalous.insert(anomalous.end(), flag->anomalous.begin(), flag->anomalous.end());
    const bool worse = flag->per_tick ? flag->distance < evidence.distance : flag->distance > evidence.distance;
    if (flag == flags.front() || worse) evidence.distance = flag->distance;
    evidence.threshold = flag->threshold;
  }
  count_windows(flags, evidence);
  evidence.indicting = true;
  evidence.metric = info(flags[0]->metric).name;
  evidence.unit = info(flags[0]->metric).unit;
  // A server that had stopped sending may have no cwnd in the ticks that convicted it: what was judged is the average.
  weigh(series, flags[0]->metric, flags[0]->server, union_of(std::move(anomalous), series.ticks), flags[0]->average,
        evidence);
  return evidence;
}

// Where the ratio of medians convicted a weak server, its distance does not show why.
void add_ratio(const std::vector<const Flag*>& flags, std::vector<std::string>& facts) {
  for (const Flag* flag : flags) {
    if (!(flag->ratio_limit > 0)) continue;
    const std::string metric(info(flag->metric).name);
    char text[200];
    std::snprintf(text, sizeof text,
                  "the ratio of its median %s to its peers' is %.3g, beyond %.3g, the limit of the ratio test of weak "
                  "servers",
                  metric.c_str(), flag->ratio, flag->ratio_limit);
    facts.emplace_back(text);
    return;
  }
}

// Metrics that do not convict but belong to the resource, over all ticks of the incident.
void corroborate(const SeriesSet& series, const Incident& incident, Resource resource, std::vector<Evidence>& out) {
  std::vector<TickRange> anomalous;
  for (const Flag& flag : incident.flags)
    anomalous.insert(anomalous.end(), flag.anomalous.begin(), flag.anomalous.end());
  const std::vector<TickRange> ticks = union_of(std::move(anomalous), series.ticks);
  for (const MetricInfo& metric : metrics()) {
    if (metric.indicting || metric.resource != resource) continue;
    Evidence evidence;
    if (weigh(series, metric.id, incident.server, ticks, Average(), evidence)) out.push_back(evidence);
  }
}

// When it began and ended: of several metrics the earliest and the latest.
void fill_times(const SeriesSet& series, const Incident& incident, Accusation& out) {
  TickRange onset = incident.flags[0].onset;
  size_t end = 0;
  size_t known = incident.flags[0].flagged.first;
  bool open = false;
  for (const Flag& flag : incident.flags) {
    open |= flag.open;
    known = std::min(known, flag.flagged.first);
    onset = std::min(onset, flag.onset);
    end = std::max(end, flag.end);
  }
  out.onset_from_ns = series.time_of(onset.first);
  out.onset_until_ns = series.time_of(onset.second);
  out.end_ns = open ? 0 : series.time_of(end);
  out.known_ns = series.time_of(known);
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
  for (const Flag& flag : incident.flags) {
    by_metric[flag.metric].push_back(&flag);
    deviating.insert(flag.metric);
  }
  const Cause cause = find_cause(deviating);
  Accusation out;
  out.server = series.servers[incident.server];
  out.resource = name_of(cause.resource);
  out.cause = cause.name;
  out.step = cause.step;
  fill_times(series, incident, out);
  for (const auto& [metric, flags] : by_metric) {
    out.evidence.push_back(convict(series, flags));
    add_ratio(flags, out.facts);
  }
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
  out.why = explain_step(cause, out.evidence);
  corroborate(series, incident, cause.resource, out.evidence);
  return out;
}

}  // namespace culprit
