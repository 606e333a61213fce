// hotdep09_hang: section 7 of HotDep'09, crashes and hangs. An application's call that fails with a connection error,
// or does not return within 30 s, says that some server is gone; which one, its client tells: with the culprit the last
// thing that happened was a request without an answer. Where the servers' own calls are captured they tell more: a
// daemon that ended alone has crashed, and one that completed nothing while its peers worked and somebody waited for it
// hangs. It cannot see a server that answers some requests and forgets others. docs/hotdep09.md has the rules.
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <set>

#include "analyse/call_links.h"
#include "analyse/call_verdict.h"
#include "analyse/detector.h"
#include "base/text.h"
#include "base/units.h"
#include "calls/syscalls.h"

namespace culprit {

namespace {

constexpr Parameter kParameters[] = {
    {"timeout", 30, 5, 86400, "seconds without a return, an answer or a completed call that are a hang"},
    {"quiet", 0.5, 0, 1, "share of the timeout that a peer may be quiet and still count as at work"},
};

constexpr int64_t kNearStop = 5 * kNsPerSecond;  // a stop signal this close to a silence explains it
constexpr int64_t kInFlight = kNsPerSecond;      // a request this young is daily work
constexpr size_t kMostFacts = 10;
constexpr size_t kMostNotes = 10;
constexpr std::string_view kMayWait[] = {"flock", "fcntl"};  // a lock is waited for as long as somebody holds it
constexpr int kStops[] = {SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};

struct Look {
  const CallData& data;
  int64_t timeout_ns;
  int64_t quiet_ns;
};

// ---- what the applications saw ----

// The moment at which the paper looks at the connections: an application's call failed or timed out.
struct Trouble {
  int64_t t_ns = 0;
  const NodeCalls* client = nullptr;
  const AppCall* call = nullptr;
};

std::vector<Trouble> find_stalls(const Look& look) {
  std::vector<Trouble> out;
  for (const NodeCalls& client : look.data.clients)
    for (const AppCall& call : client.slow)
      if (call.end_ns - call.start_ns > look.timeout_ns &&
          std::find(std::begin(kMayWait), std::end(kMayWait), call.call) == std::end(kMayWait))
        out.push_back({call.start_ns + look.timeout_ns, &client, &call});
  return out;
}

std::vector<Trouble> find_connection_errors(const Look& look) {
  std::vector<Trouble> out;
  for (const NodeCalls& client : look.data.clients)
    for (const std::vector<AppCall>* list : {&client.failed, &client.slow})
      for (const AppCall& call : *list)
        if (is_connection_error(call.error)) out.push_back({call.end_ns, &client, &call});
  return out;
}

std::string trouble_text(const Trouble& trouble) {
  const AppCall& call = *trouble.call;
  const std::string what =
      cat(trouble.client->name, "'s ", call.call, call.name.empty() ? "" : cat(" on ", printable(call.name, 200)));
  if (is_connection_error(call.error))
    return cat(what, " got ", errno_name(call.error), " at ", format_time(call.end_ns));
  return cat(what, call.finished ? " took " : " has not returned for ", seconds_text(call.end_ns - call.start_ns),
             " from ", format_time(call.start_ns), " on");
}

// ---- who is behind it ----

struct Suspicion {
  const NodeCalls* server = nullptr;  // null when it has no log
  std::string name;
  std::string cause;
  int64_t onset_ns = 0;
  int64_t known_ns = 0;
  int64_t end_ns = 0;
  std::vector<std::string> facts;
};

// What a client waited for during a good part of this time; "" when nobody did.
std::string waiting_client(const Look& look, const std::string& server, int64_t from_ns, int64_t until_ns) {
  for (const NodeCalls& client : look.data.clients)
    for (const ClientLink& link : client.links)
      for (const LinkWait& wait : link.waits) {
        const int64_t shared = std::min(wait.until_ns, until_ns) - std::max(wait.from_ns, from_ns);
        if (link.server == server && shared >= look.quiet_ns)
          return cat(client.name, " sent requests to ", link.endpoint, " at ", format_time(wait.from_ns),
                     wait.answered ? " and waited " : " and got no answer for ",
                     seconds_text(wait.until_ns - wait.from_ns));
      }
  return "";
}

std::string stopped_by(const NodeCalls& server, const CallGap& gap) {
  for (const SignalSeen& seen : server.signals) {
    const bool stops = std::find(std::begin(kStops), std::end(kStops), seen.number) != std::end(kStops);
    if (stops && seen.process == gap.process && seen.t_ns >= gap.from_ns - kNearStop &&
        seen.t_ns <= gap.from_ns + kNearStop)
      return cat(signal_name(seen.number), " was delivered to process ", seen.process, " at ", format_time(seen.t_ns));
  }
  return "";
}

// At work: it was captured during the silence, and one of its daemons at least has no long silence of its own in it.
bool is_at_work(const Look& look, const NodeCalls& peer, const CallGap& gap) {
  if (peer.start_ns > gap.from_ns + look.quiet_ns || peer.end_ns < gap.until_ns - look.quiet_ns) return false;
  std::set<int32_t> silent;
  for (const CallGap& own : peer.gaps)
    if (std::min(own.until_ns, gap.until_ns) - std::max(own.from_ns, gap.from_ns) > look.quiet_ns)
      silent.insert(own.process);
  size_t serving = peer.serving;
  for (const ProcessEnd& end : peer.ends) serving += end.serving && end.t_ns > gap.from_ns;
  return silent.size() < std::max<size_t>(serving, 1);
}

bool most_peers_work(const Look& look, const NodeCalls& server, const CallGap& gap) {
  size_t peers = 0, working = 0;
  for (const NodeCalls& peer : look.data.servers) {
    if (&peer == &server || !peer.does_io || peer.calls == 0) continue;
    ++peers;
    working += is_at_work(look, peer, gap);
  }
  return peers > 0 && working * 2 > peers;
}

bool ended_near(const NodeCalls& server, const CallGap& gap) {
  return std::any_of(server.ends.begin(), server.ends.end(), [&](const ProcessEnd& end) {
    return end.process == gap.process && end.t_ns <= gap.from_ns + kNearStop && end.t_ns >= gap.from_ns - kNearStop;
  });
}

// What accuses nobody and is not healthy either.
struct Doubts {
  std::set<std::string> silent;    // servers whose silence has no peers at work beside it
  std::set<std::string> refusing;  // servers, half of them or more
  std::string ended;
};

// A server's silence counts when somebody has a reason to mind it; otherwise it may just have had nothing to do. Where
// nobody could be seen waiting, it counts when the whole server is silent.
void judge_silences(const Look& look, const std::vector<Trouble>& stalls, std::vector<Suspicion>& out, Doubts& doubts,
                    Verdict& verdict) {
  size_t idle = 0;
  const bool watched = std::any_of(look.data.clients.begin(), look.data.clients.end(),
                                   [](const NodeCalls& client) { return !client.links.empty(); });
  for (const NodeCalls& server : look.data.servers)
    for (const CallGap& gap : server.gaps) {
      if (gap.until_ns - gap.from_ns <= look.timeout_ns || ended_near(server, gap)) continue;
      const std::string stopped = stopped_by(server, gap);
      const std::string waiting = waiting_client(look, server.name, gap.from_ns, gap.until_ns);
      const bool minded = !stopped.empty() || !waiting.empty();
      if (!minded && !watched && !server.does_io) continue;  // nobody else does what a metadata server does
      if (!most_peers_work(look, server, gap) || (!minded && !watched && is_at_work(look, server, gap))) {
        if (minded || !watched) doubts.silent.insert(server.name);
        continue;
      }
      Suspicion found{&server, server.name, "hang", gap.from_ns, gap.from_ns + look.timeout_ns, 0, {}};
      if (gap.until_ns < server.end_ns) found.end_ns = gap.until_ns;
      found.facts.push_back(cat("process ", gap.process, " completed no call for ",
                                seconds_text(gap.until_ns - gap.from_ns), " from ", format_time(gap.from_ns),
                                " on, while most of its peers did"));
      if (!stopped.empty()) found.facts.push_back(stopped);
      if (!waiting.empty()) found.facts.push_back(waiting);
      if (watched && !minded) {
        if (++idle <= kMostNotes)
          verdict.notes.push_back(cat(server.name, ": ", found.facts.front(), ", but no client waited for it"));
        continue;
      }
      for (const Trouble& stall : stalls)
        if (stall.t_ns >= gap.from_ns && stall.call->start_ns <= gap.until_ns && found.facts.size() < 4)
          found.facts.push_back(trouble_text(stall));
      out.push_back(std::move(found));
    }
}

// The servers that owe this client an answer at this moment (section 7: the last call with them was a request), and
// since when. Waits as short as some that were forgotten would name a few of many.
std::map<std::string, int64_t> debtors(const NodeCalls& client, int64_t t_ns) {
  std::map<std::string, int64_t> out;
  for (const ClientLink& link : client.links)
    for (const LinkWait& wait : link.waits) {
      if (wait.from_ns > t_ns - kInFlight || wait.until_ns < t_ns) continue;
      if (wait.until_ns - wait.from_ns <= client.forgotten_wait_ns) continue;
      auto [found, is_new] = out.emplace(link.server, wait.from_ns);
      if (!is_new) found->second = std::min(found->second, wait.from_ns);
    }
  return out;
}

bool are_most(size_t some, size_t all) {
  return some * 2 >= all && some > 1;
}

// A call that did not return, and connections of which a few await an answer. It may have begun long before the server
// stopped answering.
void judge_stalls(const Look& look, const std::vector<Trouble>& stalls, std::vector<Suspicion>& out) {
  for (const Trouble& stall : stalls) {
    const std::map<std::string, int64_t> since = debtors(*stall.client, stall.t_ns);
    if (are_most(since.size(), look.data.server_count())) continue;
    for (const auto& [name, since_ns] : since) {
      const int64_t onset = std::max(stall.call->start_ns, since_ns);
      Suspicion found{look.data.server(name), name, "hang", onset, stall.t_ns, 0, {}};
      found.facts.push_back(waiting_client(look, name, stall.call->start_ns, stall.call->end_ns));
      if (found.facts.back().empty()) found.facts.back() = cat(stall.client->name, " waited for its answer");
      found.facts.push_back(trouble_text(stall));
      if (stall.call->finished) found.end_ns = stall.call->end_ns;
      out.push_back(std::move(found));
    }
  }
}

void judge_ends(const Look& look, std::vector<Suspicion>& out, Doubts& doubts, Verdict& verdict) {
  const DaemonEnds ends = find_ends(look.data, verdict.notes);
  doubts.ended = ends.together;
  for (const DaemonEnd& each : ends.lonely) {
    Suspicion found{each.server, each.server->name, "crash", each.end.t_ns, each.end.t_ns, 0, {}};
    found.facts.push_back(end_fact(each.end));
    for (const SignalSeen& seen : each.server->signals)
      if (seen.process == each.end.process && seen.t_ns >= each.end.t_ns - kNearStop && seen.t_ns <= each.end.t_ns &&
          found.facts.size() < 4)
        found.facts.push_back(cat(signal_name(seen.number), " was delivered to it at ", format_time(seen.t_ns),
                                  seen.sender == each.end.process ? ", sent by itself"
                                  : seen.sender == 0              ? ", sent by the kernel"
                                                                  : cat(", sent by process ", seen.sender)));
    out.push_back(std::move(found));
  }
}

// A refused connection means that nobody listens there any more. A closed or reset one convicts only a server whose own
// calls are not known, and only when an application suffered: clients close connections themselves, too.
bool convicts(int error, const NodeCalls* server, bool suffered) {
  return error == ECONNREFUSED || (!server && suffered && error != ETIMEDOUT);
}

void judge_refusals(const Look& look, bool suffered, std::vector<Suspicion>& out, Doubts& doubts) {
  std::set<std::string> refusing;
  for (const NodeCalls& client : look.data.clients)
    for (const auto& [name, errors] : client.refusals)
      for (const auto& [error, refusal] : errors)
        if (convicts(error, look.data.server(name), suffered)) refusing.insert(name);
  if (are_most(refusing.size(), look.data.server_count())) {
    doubts.refusing = std::move(refusing);
    return;
  }
  for (const NodeCalls& client : look.data.clients)
    for (const auto& [name, errors] : client.refusals)
      for (const auto& [error, refusal] : errors) {
        const NodeCalls* server = look.data.server(name);
        if (!convicts(error, server, suffered)) continue;
        Suspicion found{server, name, "crash", refusal.first_ns, refusal.first_ns, 0, {}};
        found.facts.push_back(cat(client.name, error == 0 ? "'s connection to it was closed" : "'s calls to it got ",
                                  error == 0 ? "" : errno_name(error), ", first at ", format_time(refusal.first_ns)));
        out.push_back(std::move(found));
      }
}

// ---- the verdict ----

// A daemon that ended explains every silence after it. One that was silent long before it ended hung, whoever ended it,
// and a silence explains why clients hung up.
const Suspicion* deciding(const std::vector<const Suspicion*>& all) {
  const Suspicion* crash = nullptr;
  const Suspicion* hang = nullptr;
  for (const Suspicion* each : all) {
    const Suspicion*& first = each->cause == "crash" ? crash : hang;
    if (!first || each->onset_ns < first->onset_ns) first = each;
  }
  if (!crash || !hang) return crash ? crash : hang;
  return crash->onset_ns <= hang->onset_ns + kNearStop ? crash : hang;
}

// One accusation per server.
Accusation accuse(const std::vector<const Suspicion*>& all, const std::vector<Trouble>& troubles) {
  const Suspicion* first = deciding(all);
  Accusation out;
  out.server = first->name;
  out.resource = "process";
  out.cause = first->cause;
  out.onset_from_ns = out.onset_until_ns = first->onset_ns;
  out.known_ns = first->known_ns;
  out.end_ns = first->end_ns;
  out.confidence = 1;
  out.facts = first->facts;
  auto add = [&](const std::string& fact) {
    if (out.facts.size() < kMostFacts && std::find(out.facts.begin(), out.facts.end(), fact) == out.facts.end())
      out.facts.push_back(fact);
  };
  for (const Suspicion* each : all) {
    out.known_ns = std::min(out.known_ns, each->known_ns);
    if (each->end_ns == 0 || (out.end_ns != 0 && each->end_ns > out.end_ns)) out.end_ns = each->end_ns;
    for (const std::string& fact : each->facts) add(fact);
  }
  out.known_ns = std::max(out.known_ns, out.onset_from_ns);
  if (!troubles.empty()) add(trouble_text(troubles.front()));
  return out;
}

std::vector<Accusation> accuse_all(const std::vector<Suspicion>& suspicions, const std::vector<Trouble>& troubles) {
  std::map<std::string, std::vector<const Suspicion*>> by_server;
  for (const Suspicion& each : suspicions) by_server[each.name].push_back(&each);
  std::vector<Accusation> out;
  for (const auto& [name, all] : by_server) out.push_back(accuse(all, troubles));
  std::stable_sort(out.begin(), out.end(),
                   [](const Accusation& a, const Accusation& b) { return a.onset_from_ns < b.onset_from_ns; });
  return out;
}

std::string aggregated_node(const CallData& data) {
  for (const std::vector<NodeCalls>* side : {&data.servers, &data.clients})
    for (const NodeCalls& node : *side)
      if (node.sums) return node.name;
  return "";
}

std::string names_of(const std::set<std::string>& servers) {
  return join(std::vector<std::string>(servers.begin(), servers.end()), " ");
}

std::string why_undecided(const CallData& data, const std::vector<Trouble>& troubles, const Doubts& doubts) {
  if (const std::string hidden = why_not_healthy(data); !hidden.empty()) return hidden;
  for (const NodeCalls& server : data.servers)
    if (server.does_io && !server.serves)
      return cat("no process of ", server.name,
                 " was seen with storage or a client's socket, so nobody knows whose silence matters there: give its "
                 "storage or the cluster's data_ports in cluster.toml");
  if (!troubles.empty()) return cat(trouble_text(troubles.front()), ", but no server can be told from the others");
  if (!doubts.ended.empty()) return doubts.ended;
  if (!doubts.silent.empty())
    return cat(
        "on ", names_of(doubts.silent),
        " a daemon completed no call for longer than the time-out, and nothing tells whether it hung or was idle");
  if (!doubts.refusing.empty())
    return cat("clients were refused by ", names_of(doubts.refusing), ", which no single server explains");
  return "";
}

Result<Verdict> diagnose(const CallData& data, const Profile*, const Parameters& p) {
  Verdict verdict;
  note_gaps_in_data(data, verdict);
  if (const std::string name = aggregated_node(data); !name.empty()) {
    verdict.reason = cat("the log of ", name, " holds sums, which do not tell when a call was the last");
    return verdict;
  }
  const auto timeout = static_cast<int64_t>(p["timeout"] * static_cast<double>(kNsPerSecond));
  const Look look{data, timeout, static_cast<int64_t>(p["quiet"] * static_cast<double>(timeout))};
  if (!data.watched_applications())
    verdict.not_judged.push_back({"*", "application calls", "no application's calls were captured"});
  const std::vector<Trouble> stalls = find_stalls(look);
  std::vector<Trouble> troubles = find_connection_errors(look);
  std::vector<Suspicion> suspicions;
  Doubts doubts;
  judge_ends(look, suspicions, doubts, verdict);
  judge_silences(look, stalls, suspicions, doubts, verdict);
  judge_stalls(look, stalls, suspicions);
  judge_refusals(look, !troubles.empty() || !stalls.empty(), suspicions, doubts);
  troubles.insert(troubles.end(), stalls.begin(), stalls.end());
  verdict.culprits = accuse_all(suspicions, troubles);
  verdict.answer = Answer::culprit;
  if (!verdict.culprits.empty()) return verdict;
  verdict.reason = why_undecided(data, troubles, doubts);
  verdict.answer = verdict.reason.empty() ? Answer::healthy : Answer::undecided;
  if (verdict.reason.empty()) verdict.reason = "no daemon ended or fell silent, and no application waited in vain";
  return verdict;
}

}  // namespace

extern const DetectorInfo detector_hotdep09_hang;
const DetectorInfo detector_hotdep09_hang = {
    "hotdep09_hang",
    "crashed and hung servers, by what their clients and they themselves did last; needs no training (HotDep'09)",
    kParameters,
    nullptr,
    nullptr,
    nullptr,
    diagnose};

}  // namespace culprit
