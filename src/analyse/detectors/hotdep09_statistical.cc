// hotdep09_statistical: section 6 of HotDep'09. Servers that do alike take alike for the same system calls: per second
// and metric, a server's mean service time is held against the median of all servers that are not saturated; the
// threshold is the largest deviation it showed in fault-free training. dread and dwrite tell of the disk, nsread and
// ncread of the network. It cannot see a fault that slows every server, nor one that the page cache hides.
//
// The paper does not say how many seconds make a verdict. A new run has a fair chance to exceed the largest of a few
// training runs once, on some server and in some metric, so one second is nothing: 5 within 10 are asked for.
#include <algorithm>
#include <cmath>
#include <set>

#include "analyse/call_verdict.h"
#include "analyse/detector.h"
#include "analyse/windows.h"
#include "base/text.h"
#include "base/units.h"

namespace culprit {

namespace {

constexpr Parameter kParameters[] = {
    {"seconds", 5, 1, 1e6, "seconds with a deviation above the threshold that convict a server"},
    {"span", 10, 1, 1e6, "within so many seconds"},
    {"margin", 1, 0.01, 1000, "how many times the largest deviation of training is allowed"},
    {"floor_ms", 0.1, 0, 1e6, "ms by which a server must deviate at least"},
    {"saturated", 2, 1, 1000, "a server above so many times the median in most seconds is saturated", true},
    {"both_sides", 0, 0, 1, "1: a server that is faster than the others is anomalous, too"},
    {"least_servers", 3, 3, 1000, "servers with a value that a second needs"},
};

struct TimeInfo {
  CallTime time;
  const char* resource;
  const char* cause;
};

constexpr TimeInfo kTimes[] = {{CallTime::dread, "disk", "disk-slow"},
                               {CallTime::dwrite, "disk", "disk-slow"},
                               {CallTime::nsread, "network", "network-slow"},
                               {CallTime::ncread, "network", "network-slow"}};

// Mean service times of one metric, in ms: [server] of one second.
struct Table {
  std::vector<std::string> servers;
  std::map<int64_t, Series> seconds;
};

Table table_of(const CallData& data, CallTime time) {
  Table out;
  for (const NodeCalls& server : data.servers)
    if (server.does_io) out.servers.push_back(server.name);
  size_t i = 0;
  for (const NodeCalls& server : data.servers) {
    if (!server.does_io) continue;
    for (const auto& [second, sum] : server.times[static_cast<size_t>(time)])
      out.seconds.try_emplace(second, Series(out.servers.size(), kMissing)).first->second[i] = sum.mean_ms();
    ++i;
  }
  return out;
}

// The median of those who may stand for the others; kMissing when they are too few.
double representative(const Table& table, const Series& values, const std::set<std::string>& saturated, size_t least) {
  std::vector<double> known;
  for (size_t i = 0; i < values.size(); ++i)
    if (!is_missing(values[i]) && !saturated.count(table.servers[i])) known.push_back(values[i]);
  return known.size() < least ? kMissing : median_of(known);
}

double deviation(double value, double median, const Parameters& p) {
  return p["both_sides"] > 0 ? std::fabs(value - median) : value - median;
}

size_t least_servers(const Parameters& p) {
  return static_cast<size_t>(p.integer("least_servers"));
}

// ---- training ----

struct Share {
  int above = 0;
  int judged = 0;
};

// Calls visit(server, value, median) for everything that can be compared.
template <class Visit>
void compare(const Table& table, const std::set<std::string>& saturated, size_t least, const Visit& visit) {
  for (const auto& [second, values] : table.seconds) {
    const double median = representative(table, values, saturated, least);
    if (is_missing(median)) continue;
    for (size_t i = 0; i < values.size(); ++i)
      if (!is_missing(values[i])) visit(table.servers[i], values[i], median);
  }
}

std::set<std::string> find_saturated(const std::vector<Table>& tables, const Parameters& p) {
  std::map<std::string, Share> shares;
  for (const Table& table : tables)
    compare(table, {}, least_servers(p), [&](const std::string& server, double value, double median) {
      ++shares[server].judged;
      shares[server].above += value > p["saturated"] * median && value - median > p["floor_ms"];
    });
  std::set<std::string> out;
  for (const auto& [server, share] : shares)
    if (share.above * 2 > share.judged) out.insert(server);
  return out;
}

void train_metric(const std::vector<Table>& tables, const std::string& metric, const Parameters& p, Profile& profile) {
  const std::set<std::string> saturated = find_saturated(tables, p);
  std::map<std::string, double> largest;
  for (const Table& table : tables)
    compare(table, saturated, least_servers(p), [&](const std::string& server, double value, double median) {
      double& known = largest[server];
      known = std::max(known, deviation(value, median, p));
    });
  double any = 0;
  for (const auto& [server, most] : largest) {
    profile.thresholds[metric][server] = {{"deviation_ms", most}, {"saturated", saturated.count(server) ? 1.0 : 0.0}};
    any = std::max(any, most);
  }
  if (!largest.empty()) profile.thresholds[metric]["*"] = {{"deviation_ms", any}, {"saturated", 0.0}};
}

Result<Profile> train(std::span<const CallData> runs, const Parameters& p) {
  Profile profile;
  profile.detector = "hotdep09_statistical";
  profile.interval_ns = kNsPerSecond;
  for (const auto& [name, value] : p.all()) profile.parameters[name] = value;
  for (const CallData& run : runs) {
    profile.runs.push_back(run.run);
    profile.simulated |= run.origin == "simulated";
  }
  for (const TimeInfo& info : kTimes) {
    std::vector<Table> tables;
    for (const CallData& run : runs) tables.push_back(table_of(run, info.time));
    train_metric(tables, std::string(name_of(info.time)), p, profile);
  }
  if (profile.thresholds.empty())
    return input_error("in no second of these runs did three servers read or write",
                       "train on runs of three servers or more under load, with culprit syscap at work");
  return profile;
}

// ---- diagnosis ----

struct Row {
  double deviation_ms = 0;
  bool saturated = false;
};

// The row of a server, or that of one which was not there in training.
Result<Row> row_of(const std::map<std::string, std::map<std::string, double>>& rows, const std::string& server) {
  auto found = rows.find(server);
  if (found == rows.end()) found = rows.find("*");
  if (found == rows.end() || !found->second.count("deviation_ms") || !found->second.count("saturated"))
    return input_error("the profile has no threshold where it should have one", "train it again");
  return Row{found->second.at("deviation_ms"), found->second.at("saturated") > 0};
}

// What one server showed in one metric.
struct Finding {
  std::string server;
  const TimeInfo* info = nullptr;
  double threshold = 0;
  int judged = 0;
  std::vector<int64_t> seconds;  // with a deviation above the threshold
  int64_t first = 0;             // of the first span that convicts
  int64_t known = 0;             // its last second
  int64_t last = 0;              // of the last such span
  bool convicted = false;
  double most = 0;  // the largest deviation
};

void convict(const Parameters& p, Finding& finding) {
  const auto need = static_cast<size_t>(p.integer("seconds"));
  const int64_t span = p.integer("span");
  for (size_t i = need - 1; i < finding.seconds.size(); ++i) {
    const int64_t first = finding.seconds[i + 1 - need];
    if (finding.seconds[i] - first >= span) continue;
    if (!finding.convicted) {
      finding.first = first;
      finding.known = finding.seconds[i];
    }
    finding.convicted = true;
    finding.last = finding.seconds[i];
  }
}

Result<std::vector<Finding>> judge(const Table& table, const TimeInfo& info, const Profile& profile,
                                   const Parameters& p) {
  const auto& rows = profile.thresholds.at(std::string(name_of(info.time)));
  std::vector<Finding> out;
  std::set<std::string> saturated;
  for (const std::string& server : table.servers) {
    ASSIGN_OR_RETURN(const Row row, row_of(rows, server));
    if (row.saturated) saturated.insert(server);
    Finding finding;
    finding.server = server;
    finding.info = &info;
    finding.threshold = std::max(row.deviation_ms * p["margin"], p["floor_ms"]);
    out.push_back(std::move(finding));
  }
  for (const auto& [second, values] : table.seconds) {
    const double median = representative(table, values, saturated, least_servers(p));
    if (is_missing(median)) continue;
    for (size_t i = 0; i < values.size(); ++i) {
      if (is_missing(values[i])) continue;
      ++out[i].judged;
      const double distance = deviation(values[i], median, p);
      if (!(distance > out[i].threshold)) continue;
      out[i].seconds.push_back(second);
      out[i].most = std::max(out[i].most, distance);
    }
  }
  for (Finding& finding : out) convict(p, finding);
  return out;
}

double mean_in(const Table& table, size_t server, const std::vector<int64_t>& seconds) {
  double sum = 0;
  int count = 0;
  for (int64_t second : seconds) {
    const double value = table.seconds.at(second)[server];
    if (is_missing(value)) continue;
    sum += value;
    ++count;
  }
  return count == 0 ? kMissing : sum / count;
}

Evidence evidence_of(const Finding& finding, const Table& table) {
  Evidence out;
  out.metric = name_of(finding.info->time);
  out.unit = "ms";
  out.indicting = true;
  out.per_tick = true;
  out.windows = static_cast<int>(finding.seconds.size());
  out.windows_judged = finding.judged;
  out.distance = finding.most;
  out.threshold = finding.threshold;
  std::vector<double> others;
  for (size_t i = 0; i < table.servers.size(); ++i) {
    const double mean = mean_in(table, i, finding.seconds);
    if (table.servers[i] == finding.server)
      out.value = mean;
    else if (!is_missing(mean))
      others.push_back(mean);
  }
  out.peers = static_cast<int>(others.size());
  if (others.empty()) return out;
  out.peers_low = *std::min_element(others.begin(), others.end());
  out.peers_high = *std::max_element(others.begin(), others.end());
  out.peers_median = median_of(others);
  return out;
}

// A server's convictions are one accusation: the metric that left its threshold farthest behind decides.
Accusation accuse(std::vector<Finding> findings, const std::vector<Table>& tables, const CallData& data,
                  const Parameters& p) {
  std::sort(findings.begin(), findings.end(),
            [](const Finding& a, const Finding& b) { return a.most * b.threshold > b.most * a.threshold; });
  const Finding& first = findings.front();
  Accusation out;
  out.server = first.server;
  out.resource = first.info->resource;
  out.cause = first.info->cause;
  out.confidence = first.judged == 0 ? 0 : static_cast<double>(first.seconds.size()) / first.judged;
  int64_t onset = first.first, known = first.known, last = first.last;
  for (const Finding& finding : findings) {
    onset = std::min(onset, finding.first);
    known = std::min(known, finding.known);
    last = std::max(last, finding.last);
    out.evidence.push_back(evidence_of(finding, tables[static_cast<size_t>(finding.info->time)]));
  }
  out.onset_from_ns = onset * kNsPerSecond;
  out.onset_until_ns = (onset + 1) * kNsPerSecond;
  out.known_ns = (known + 1) * kNsPerSecond;
  const int64_t end_ns = (last + 1) * kNsPerSecond;
  if (end_ns + p.integer("span") * kNsPerSecond < data.end_ns) out.end_ns = end_ns;
  return out;
}

Verdict undecided(Verdict verdict, std::string reason) {
  verdict.answer = Answer::undecided;
  verdict.reason = std::move(reason);
  return verdict;
}

// What was not trained or never happened, and who was compared too rarely to be called healthy.
void list_not_judged(const std::vector<Finding>& findings, const TimeInfo& info, Verdict& verdict) {
  const bool any = std::any_of(findings.begin(), findings.end(), [](const Finding& f) { return f.judged > 0; });
  const std::string name(name_of(info.time));
  if (!any) {
    verdict.not_judged.push_back({"*", name, "in no second had three servers a value"});
    return;
  }
  for (const Finding& finding : findings)
    if (finding.judged == 0) verdict.not_judged.push_back({finding.server, name, "it had no value"});
}

// Adds the accusations; the resources of which something could be compared.
Result<std::set<std::string>> judge_all(const CallData& data, const Profile& profile, const Parameters& p,
                                        Verdict& verdict) {
  std::vector<Table> tables;  // by CallTime
  std::map<std::string, std::vector<Finding>> convicted;
  std::set<std::string> judged;
  for (const TimeInfo& info : kTimes) {
    tables.push_back(table_of(data, info.time));
    if (!profile.thresholds.count(std::string(name_of(info.time)))) {
      const bool happened = !tables.back().seconds.empty();
      verdict.not_judged.push_back(
          {"*", std::string(name_of(info.time)), happened ? "it did not happen in training" : "it did not happen"});
      continue;
    }
    ASSIGN_OR_RETURN(const std::vector<Finding> findings, judge(tables.back(), info, profile, p));
    list_not_judged(findings, info, verdict);
    for (const Finding& finding : findings) {
      if (finding.judged > 0) judged.insert(info.resource);
      if (finding.convicted) convicted[finding.server].push_back(finding);
    }
  }
  for (auto& [server, findings] : convicted) verdict.culprits.push_back(accuse(std::move(findings), tables, data, p));
  std::stable_sort(verdict.culprits.begin(), verdict.culprits.end(),
                   [](const Accusation& a, const Accusation& b) { return a.onset_from_ns < b.onset_from_ns; });
  return judged;
}

Result<Verdict> diagnose(const CallData& data, const Profile* profile, const Parameters& p) {
  Verdict verdict;
  note_gaps_in_data(data, verdict);
  size_t servers = 0;
  for (const NodeCalls& server : data.servers) servers += server.does_io;
  if (servers < least_servers(p)) return undecided(verdict, "fewer than three servers have data");
  if (!profile) {
    verdict.notes.push_back("train one on fault-free runs with culprit train --detector hotdep09_statistical");
    return undecided(verdict, "no profile");
  }
  ASSIGN_OR_RETURN(const std::set<std::string> judged, judge_all(data, *profile, p, verdict));
  verdict.answer = Answer::culprit;
  if (!verdict.culprits.empty()) return verdict;
  if (judged.empty()) return undecided(verdict, "in no second could three servers be compared");
  if (!judged.count("disk"))
    return undecided(verdict,
                     "of the disks nothing could be compared: training or this run has no reads and writes of the "
                     "servers' storage (is it right in cluster.toml?)");
  if (const std::string hidden = why_not_healthy(data); !hidden.empty()) return undecided(verdict, hidden);
  verdict.answer = Answer::healthy;
  verdict.reason = "no server's calls take longer than training and its peers allow";
  return verdict;
}

}  // namespace

extern const DetectorInfo detector_hotdep09_statistical;
const DetectorInfo detector_hotdep09_statistical = {
    "hotdep09_statistical",
    "service times of system calls against the median server, trained on fault-free runs (HotDep'09)",
    kParameters,
    nullptr,
    nullptr,
    train,
    diagnose};

}  // namespace culprit
