#include "analyse/call_verdict.h"

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "calls/syscalls.h"

namespace culprit {

namespace {

constexpr double kMostLostShare = 0.01;               // of all events; a rare errno hides in more than that
constexpr int64_t kTogether = 10 * kNsPerSecond;      // daemons that end within this were ended by the same hand
constexpr int kPolite[] = {SIGTERM, SIGINT, SIGHUP};  // how an admin ends a daemon
constexpr int kByShell = 128;                         // a shell tells of a death by a signal with 128 and its number

std::vector<const NodeCalls*> all_nodes(const CallData& data) {
  std::vector<const NodeCalls*> out;
  for (const NodeCalls& node : data.servers) out.push_back(&node);
  for (const NodeCalls& node : data.clients) out.push_back(&node);
  return out;
}

// One capture of several nodes has one buffer, and every log tells its losses: then they are of all calls.
bool losses_are_shared(const std::vector<const NodeCalls*>& nodes) {
  return nodes.size() > 1 && std::all_of(nodes.begin(), nodes.end(),
                                         [&](const NodeCalls* node) { return node->lost == nodes.front()->lost; });
}

double lost_share(const NodeCalls& node, int64_t calls) {
  const auto lost = static_cast<double>(node.all_lost());
  return lost == 0 ? 0 : lost / (lost + static_cast<double>(calls));
}

double largest_lost_share(const CallData& data) {
  const std::vector<const NodeCalls*> nodes = all_nodes(data);
  int64_t all = 0;
  double worst = 0;
  for (const NodeCalls* node : nodes) all += node->calls;
  for (const NodeCalls* node : nodes)
    worst = std::max(worst, lost_share(*node, losses_are_shared(nodes) ? all : node->calls));
  return worst;
}

bool is_polite(int number) {
  return std::find(std::begin(kPolite), std::end(kPolite), number) != std::end(kPolite);
}

// A stop that somebody asked for. Daemons that clean up first exit with 0, some with the number of SIGTERM
// (glusterfsd).
bool is_stop(int status) {
  const int number = signal_of(status);
  if (number != 0) return is_polite(number);
  const int code = (status >> 8) & 0xff;
  return code == 0 || code == SIGTERM || is_polite(code - kByShell);
}

// A manager without data (glusterd, for example) may be ended politely; a daemon that serves may not.
bool counts(const ProcessEnd& end, size_t servers) {
  if (end.serving) return servers > 1 || end.status != 0;
  const int number = signal_of(end.status);
  return end.there && number != 0 && !is_polite(number);
}

size_t servers_with_end_near(const CallData& data, int64_t t_ns) {
  size_t out = 0;
  for (const NodeCalls& server : data.servers)
    out += std::any_of(server.ends.begin(), server.ends.end(), [&](const ProcessEnd& end) {
      return counts(end, data.servers.size()) && end.t_ns >= t_ns - kTogether && end.t_ns <= t_ns + kTogether;
    });
  return out;
}

}  // namespace

void note_gaps_in_data(const CallData& data, Verdict& verdict) {
  verdict.notes.insert(verdict.notes.end(), data.notes.begin(), data.notes.end());
  const std::vector<const NodeCalls*> nodes = all_nodes(data);
  const bool shared = losses_are_shared(nodes);
  for (const NodeCalls* node : nodes) {
    if (node->all_lost() > 0)
      verdict.notes.push_back(cat("the capture", shared ? "" : cat(" on ", node->name), " lost ", node->all_lost(),
                                  " events: what they were is unknown"));
    if (node->all_lost() > 0 && shared) break;
  }
  for (const NodeCalls* node : nodes)
    if (node->cut) verdict.notes.push_back(cat("the log of ", node->name, " has no end: its capture was killed"));
  for (const std::string& name : data.unlogged)
    verdict.not_judged.push_back({name, "*", "its system calls were not captured"});
  for (const NodeCalls& server : data.servers)  // a metadata server, for example
    if (server.calls == 0 && !server.does_io)
      verdict.not_judged.push_back({server.name, "*", "no system call of its daemons was seen"});
}

std::string why_not_healthy(const CallData& data) {
  if (data.servers.empty()) return "no server's system calls were captured";
  if (!data.unlogged.empty()) return cat("the system calls of ", join(data.unlogged, " "), " were not captured");
  for (const NodeCalls& server : data.servers)
    if (server.calls == 0 && server.does_io)
      return cat("no system call of ", server.name,
                 " was seen: its daemons did not run, or hang, or are not called as cluster.toml says");
  for (const NodeCalls& server : data.servers)
    if (server.wanted != "all" && server.wanted != "io")
      return cat("of ", server.name, " only the calls ", printable(server.wanted),
                 " were captured: others may have failed");
  for (const NodeCalls& server : data.servers)
    if (static_cast<double>(server.unseen) > kMostLostShare * static_cast<double>(server.calls))
      return cat("on ", server.name, " ", server.unseen,
                 " completions of AIO or io_uring could not be seen, and what they hid could be what is asked for");
  if (largest_lost_share(data) > kMostLostShare)
    return "the capture lost more than 1 % of the events, and what it lost could be what is asked for";
  return "";
}

size_t comparable_servers(const CallData& data) {
  return static_cast<size_t>(std::count_if(data.servers.begin(), data.servers.end(),
                                           [](const NodeCalls& server) { return server.does_io && server.calls > 0; }));
}

int signal_of(int status) {
  const int low = status & 0x7f;
  return low == 0x7f ? 0 : low;  // 0x7f: stopped, which no end is
}

std::string end_text(int status) {
  if (const int number = signal_of(status)) return cat("killed by ", signal_name(number));
  return cat("exited with ", (status >> 8) & 0xff);
}

std::string end_fact(const ProcessEnd& end) {
  return cat("process ", end.process, signal_of(end.status) ? " was " : " ", end_text(end.status), " at ",
             format_time(end.t_ns));
}

DaemonEnds find_ends(const CallData& data, std::vector<std::string>& notes) {
  DaemonEnds out;
  std::set<std::string> together;
  bool stopped = true;
  const size_t all = data.servers.size();
  for (const NodeCalls& server : data.servers)
    for (const ProcessEnd& end : server.ends) {
      if (!counts(end, all)) continue;
      const size_t near = servers_with_end_near(data, end.t_ns);
      if (near >= 2 && near * 2 >= all) {
        together.insert(server.name);
        stopped &= is_stop(end.status) && near == all;
      } else {
        out.lonely.push_back({&server, end});
      }
    }
  if (together.empty()) return out;
  if (stopped)
    notes.push_back(cat("daemons of all ", all, " servers ended at about the same time: that is a stop, not a crash"));
  else
    out.together =
        cat("daemons of ", together.size(), " of ", all,
            " servers ended, of half of them or more at about the same time: no single server explains that");
  return out;
}

std::string file_of(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string seconds_text(int64_t ns) {
  char text[48];
  std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(ns) / static_cast<double>(kNsPerSecond));
  return text;
}

}  // namespace culprit
