// hotdep09_errors: section 7 of HotDep'09, propagated errors. Training learns which calls fail in daily work; a server
// whose calls fail otherwise is the culprit when an application got the same errno within three seconds. Two steps past
// the paper, because file systems rarely tell their clients the truth: another errno, or a call that did not return, on
// a file of the same name is the server's error in disguise; and an error that reached nobody is accused as silent,
// because the data may be lost while everybody was told that all is well. docs/hotdep09.md has the rules.
#include <algorithm>

#include "analyse/call_errors.h"
#include "analyse/call_reached.h"
#include "analyse/call_verdict.h"
#include "analyse/detector.h"
#include "base/text.h"
#include "base/units.h"
#include "calls/syscalls.h"

namespace culprit {

namespace {

constexpr Parameter kParameters[] = {
    {"window", 3, 0, 86400, "seconds around a server's error within which a client's belongs to it"},
    {"stall", 10, 5, 86400, "seconds after which an application's call has stalled"},
    {"errno_only", 0, 0, 1, "1: an errno that training has seen is normal for every call, as in the paper"},
    {"answers", 0, 0, 1, "1: ENOENT, EEXIST and other truthful answers are held against a server, too"},
};

constexpr size_t kLeastServers = 3;  // of two nobody can say whether the workload or the server is odd
constexpr size_t kMostFacts = 10;    // a screenful; the first ones decide
constexpr size_t kMostNotes = 10;
constexpr size_t kShownPaths = 3;  // in a sentence; JSON has all that are kept

int64_t seconds(const Parameters& p, std::string_view name) {
  return static_cast<int64_t>(p[name] * static_cast<double>(kNsPerSecond));
}

Result<Profile> train(std::span<const CallData> runs, const Parameters& p) {
  Profile profile;
  profile.detector = "hotdep09_errors";
  profile.interval_ns = kNsPerSecond;
  for (const auto& [name, value] : p.all()) profile.parameters[name] = value;
  double calls = 0;
  for (const CallData& run : runs) {
    profile.runs.push_back(run.run);
    profile.simulated |= run.origin == "simulated";
    for (const NodeCalls& server : run.servers) calls += static_cast<double>(server.calls);
  }
  if (calls == 0)
    return input_error("no server of these runs made a system call",
                       "train on runs under load, captured with culprit syscap");
  profile.thresholds["seen"]["*"]["count"] = calls;
  learn_errors(runs, profile);
  return profile;
}

// One unexpected pair of one server.
struct Charge {
  ErrorKey key;
  const ErrorCount* error = nullptr;
  ClientTrace trace;
};

// What decides comes first: what reached a client, then what tells of a resource, then what came first.
bool weighs_more(const Charge& a, const Charge& b) {
  auto weight = [](const Charge& charge) {
    return std::pair(static_cast<int>(charge.trace.reached), resource_of(charge.key.error).empty() ? 0 : 1);
  };
  if (weight(a) != weight(b)) return weight(a) > weight(b);
  return std::pair(a.error->first_ns, a.key.call) < std::pair(b.error->first_ns, b.key.call);
}

std::string times_text(uint64_t count) {
  return count == 1 ? "once" : cat(count, " times");
}

// The first different names, of the examples that are kept.
std::vector<std::string> paths_of(const ErrorCount& error) {
  std::vector<std::string> out;
  for (const ErrorExample& example : error.examples) {
    std::string name = printable(example.name, 200);
    if (!name.empty() && std::find(out.begin(), out.end(), name) == out.end()) out.push_back(std::move(name));
  }
  return out;
}

std::string paths_text(const ErrorCount& error) {
  std::vector<std::string> paths = paths_of(error);
  const size_t more = paths.size() > kShownPaths ? paths.size() - kShownPaths : 0;
  paths.resize(paths.size() - more);
  return paths.empty() ? "" : cat(" on ", join(paths, ", "), more > 0 ? cat(" and at least ", more, " more") : "");
}

std::string charge_text(const Charge& charge, const CallData& data) {
  std::string out =
      cat(charge.key.call, " failed ", times_text(charge.error->count), " with ", errno_name(charge.key.error),
          " there, first at ", format_time(charge.error->first_ns), paths_text(*charge.error));
  if (charge.trace.reached != Reached::nobody) return cat(out, "; ", trace_text(charge.trace));
  return cat(out, data.watched_applications()
                      ? "; no application was told: data may be lost"
                      : "; no application's calls were captured, so nobody knows whether one was told");
}

// Deaths and fatal signals of the server's daemons belong to the picture; hotdep09_hang judges them.
void add_ends(const NodeCalls& server, Accusation& out) {
  for (const ProcessEnd& end : server.ends)
    if ((end.serving || (end.there && signal_of(end.status) != 0)) && out.facts.size() < kMostFacts + 2)
      out.facts.push_back(end_fact(end));
}

Accusation accuse(const NodeCalls& server, std::vector<Charge> charges, const CallData& data, const Parameters& p) {
  std::sort(charges.begin(), charges.end(), weighs_more);
  const Charge& first = charges.front();
  const bool reached = first.trace.reached != Reached::nobody;
  Accusation out;
  out.server = server.name;
  out.resource = resource_of(first.key.error);
  if (out.resource.empty()) out.resource = "process";
  out.cause = reached ? "propagated-error" : "silent-error";
  out.confidence = 1;
  out.onset_from_ns = first.error->first_ns;
  int64_t last = first.error->last_ns;
  for (const Charge& charge : charges) {
    out.onset_from_ns = std::min(out.onset_from_ns, charge.error->first_ns);
    last = std::max(last, charge.error->last_ns);
    if (out.facts.size() >= kMostFacts) continue;
    out.facts.push_back(charge_text(charge, data));
    out.failed_calls.push_back({charge.key.call, errno_name(charge.key.error), charge.error->count,
                                charge.error->first_ns, charge.error->last_ns, paths_of(*charge.error),
                                trace_text(charge.trace)});
  }
  if (charges.size() > kMostFacts)
    out.facts.push_back(cat(charges.size() - kMostFacts, " more pairs of call and errno"));
  out.onset_until_ns = out.onset_from_ns;
  // Nobody can say "silent" before the window is over.
  const int64_t window = seconds(p, "window");
  out.known_ns = reached ? std::max(first.trace.t_ns, first.error->first_ns) : first.error->first_ns + window;
  if (last + window < data.end_ns) out.end_ns = std::max(last, out.known_ns);  // nothing is over before it is known
  add_ends(server, out);
  return out;
}

struct Sorted {
  std::map<size_t, std::vector<Charge>> charges;  // by server
  std::vector<std::string> notes;
  std::string widespread;  // a failure of a resource on half of the servers or more
};

// Half of the servers or more with the same pair: that is what they were asked to do, not one that is odd.
bool is_widespread(const UnexpectedError& pair, const CallData& data) {
  const size_t all = comparable_servers(data);
  const auto with = static_cast<size_t>(
      std::count_if(pair.servers.begin(), pair.servers.end(), [&](size_t i) { return data.servers[i].does_io; }));
  return all >= kLeastServers && with * 2 >= all;
}

uint64_t count_of(const UnexpectedError& pair, const CallData& data) {
  uint64_t out = 0;
  for (size_t server : pair.servers) out += data.servers[server].errors.at(pair.key).count;
  return out;
}

void note_pair(const UnexpectedError& pair, const CallData& data, const std::string& why, Sorted& out) {
  if (out.notes.size() < kMostNotes)
    out.notes.push_back(cat(pair_text(pair.key), " was seen ", times_text(count_of(pair, data)), " on ",
                            pair.servers.size() == 1
                                ? data.servers[pair.servers[0]].name
                                : cat(pair.servers.size(), " of ", data.servers.size(), " servers"),
                            why));
}

Sorted sort_out(const CallData& data, const ExpectedErrors& expected, bool trained, const Parameters& p) {
  Sorted out;
  const ReachOptions reach{seconds(p, "window"), seconds(p, "stall")};
  for (const UnexpectedError& pair : unexpected_errors(data, expected)) {
    if (is_answer(pair.key) && p["answers"] == 0) {
      if (trained) note_pair(pair, data, " and not in training; it is an answer, not a failure", out);
      continue;
    }
    if (is_widespread(pair, data)) {
      if (!resource_of(pair.key.error).empty()) out.widespread = pair_text(pair.key);
      note_pair(pair, data, ": that is the workload, or all of them", out);
      continue;
    }
    for (size_t server : pair.servers) {
      const ErrorCount& error = data.servers[server].errors.at(pair.key);
      out.charges[server].push_back({pair.key, &error, trace_to_clients(pair.key, error, data, expected, reach)});
    }
  }
  return out;
}

// Why nothing found is not "healthy".
std::string why_undecided(const CallData& data, const Sorted& sorted, bool trained, Verdict& verdict) {
  if (const std::string hidden = why_not_healthy(data); !hidden.empty()) return hidden;
  if (!trained && comparable_servers(data) < kLeastServers)
    return "no profile, and fewer than three servers to compare: nobody can say which errors are daily work";
  if (!sorted.widespread.empty())
    return cat(sorted.widespread, " on half of the servers or more: no single one is at fault");
  const DaemonEnds ends = find_ends(data, verdict.notes);
  if (ends.lonely.empty()) return ends.together;
  const DaemonEnd& first = ends.lonely.front();
  return cat("no call failed unexpectedly, but on ", first.server->name, " ", end_fact(first.end),
             first.server->sums ? "" : ": --detector hotdep09_hang judges that");
}

void add_notes(const CallData& data, const Sorted& sorted, bool trained, Verdict& verdict) {
  verdict.notes.insert(verdict.notes.end(), sorted.notes.begin(), sorted.notes.end());
  if (!trained)
    verdict.notes.push_back(
        "no profile: what half of the servers or more get is taken as daily work; culprit train --detector "
        "hotdep09_errors FAULT_FREE_RUN... knows better");
  for (const NodeCalls& server : data.servers)
    if (server.startup_errors > 0)
      verdict.notes.push_back(cat(server.startup_errors, " failed calls of processes that had just begun on ",
                                  server.name, " were not looked at"));
}

Result<Verdict> diagnose(const CallData& data, const Profile* profile, const Parameters& p) {
  Verdict verdict;
  note_gaps_in_data(data, verdict);
  const ExpectedErrors expected = profile ? ExpectedErrors(*profile, p["errno_only"] > 0) : ExpectedErrors();
  const bool trained = profile != nullptr;
  Sorted sorted = sort_out(data, expected, trained, p);
  add_notes(data, sorted, trained, verdict);
  if (!data.watched_applications())
    verdict.not_judged.push_back({"*", "propagation", "no application's calls were captured"});
  // Without a profile only peers tell daily work from failure: two servers cannot, and a metadata server has none.
  const bool compared = comparable_servers(data) >= kLeastServers;
  for (auto& [server, charges] : sorted.charges)
    if (trained || (compared && data.servers[server].does_io))
      verdict.culprits.push_back(accuse(data.servers[server], std::move(charges), data, p));
  std::stable_sort(verdict.culprits.begin(), verdict.culprits.end(),
                   [](const Accusation& a, const Accusation& b) { return a.onset_from_ns < b.onset_from_ns; });
  verdict.answer = Answer::culprit;
  if (!verdict.culprits.empty()) return verdict;
  verdict.reason = why_undecided(data, sorted, trained, verdict);
  verdict.answer = verdict.reason.empty() ? Answer::healthy : Answer::undecided;
  if (verdict.reason.empty()) verdict.reason = "no call of a server failed unexpectedly";
  return verdict;
}

}  // namespace

extern const DetectorInfo detector_hotdep09_errors;
const DetectorInfo detector_hotdep09_errors = {
    "hotdep09_errors", "errors of servers' system calls that training has not seen, traced to the clients (HotDep'09)",
    kParameters,       nullptr,
    nullptr,           train,
    diagnose};

}  // namespace culprit
