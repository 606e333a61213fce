#include "analyse/call_data.h"

#include <algorithm>
#include <optional>
#include <set>

#include "analyse/call_reduce.h"
#include "base/text.h"
#include "base/units.h"

namespace culprit {

namespace {

constexpr std::string_view kTimeNames[] = {"dread", "dwrite", "nsread", "ncread"};
constexpr double kNsPerMsReal = 1e6;
constexpr size_t kMostEndNotes = 20;                // of captures about themselves: a screenful
constexpr size_t kMostNamed = 3;                    // nodes with the same note; of more it is the capture's as a whole
constexpr int64_t kMostLost = int64_t{1} << 40;     // per CPU; sums of what a log claims must not overflow
constexpr int64_t kLatestStart = int64_t{1} << 62;  // the year 2116; a log may claim anything
constexpr int64_t kFarAway = 1'000'000'000 * kNsPerSecond;  // 30 years: later than any run, and no sum overflows

const Node* node_named(const std::vector<Node>& nodes, std::string_view name) {
  for (const Node& node : nodes)
    if (node.name == name) return &node;
  return nullptr;
}

Result<int64_t> resolve_time(const std::string& text, int64_t start_ns, int64_t fallback) {
  if (text.empty()) return fallback;
  if (text[0] != '+') return parse_time(text);
  ASSIGN_OR_RETURN(const int64_t offset, parse_duration(std::string_view(text).substr(1)));
  return start_ns + std::min(offset, kFarAway);
}

int64_t offset_of(const RunReader& run, const std::string& node) {
  for (const NodeReport& report : run.manifest().nodes)
    if (report.name == node) return report.clock_offset_ns;
  return 0;
}

// Clients measure how long a server's answers take to read; the server is who is judged by it.
void hand_over_reads(CallData& data) {
  for (NodeCalls& client : data.clients)
    for (auto& [name, seconds] : client.reads_from)
      for (NodeCalls& server : data.servers) {
        if (server.name != name) continue;
        SecondSums& sums = server.times[static_cast<size_t>(CallTime::ncread)];
        for (const auto& [second, sum] : seconds) {
          sums[second].count += sum.count;
          sums[second].sum_ns += sum.sum_ns;
        }
      }
}

void set_range(CallData& data) {
  bool first = true;
  for (const std::vector<NodeCalls>* side : {&data.servers, &data.clients})
    for (const NodeCalls& node : *side) {
      data.start_ns = first ? node.start_ns : std::min(data.start_ns, node.start_ns);
      data.end_ns = first ? node.end_ns : std::max(data.end_ns, node.end_ns);
      first = false;
    }
}

Status check_excluded(const std::vector<std::string>& excluded, const CallData& data) {
  std::vector<std::string> names = data.unlogged;
  for (const NodeCalls& server : data.servers) names.push_back(server.name);
  for (const std::string& name : excluded) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string near = did_you_mean(name, names);
    return usage_error(cat("there is no server '", printable(name), "' to exclude"),
                       near.empty() ? cat("servers: ", join(names, " ")) : cat("did you mean ", near, "?"));
  }
  return Ok{};
}

void leave_out(const std::vector<std::string>& excluded, CallData& data) {
  auto out = [&](const std::string& name) {
    return std::find(excluded.begin(), excluded.end(), name) != excluded.end();
  };
  std::erase_if(data.servers, [&](const NodeCalls& node) { return out(node.name); });
  std::erase_if(data.unlogged, out);
}

struct OpenLogs {
  std::vector<CallLogReader> readers;
  std::vector<std::string> notes;
  int64_t start_ns = INT64_MAX;
};

// A log that cannot be opened is a note here and a missing log later; without any log there is nothing to judge.
Result<OpenLogs> open_logs(const RunReader& run, const std::vector<std::string>& names) {
  OpenLogs out;
  for (const std::string& name : names) {
    auto reader = CallLogReader::open(log_stem(run.path(), name));
    if (!reader) {
      if (names.size() == 1) return std::move(reader).error();
      out.notes.push_back(cat("the log of ", printable(name), " was left out: ", reader.error().message()));
      continue;
    }
    out.start_ns = std::min(out.start_ns, std::clamp(reader->header().start_ns, int64_t{0}, kLatestStart));
    out.readers.push_back(std::move(reader).value());
  }
  if (out.readers.empty())
    return input_error(cat("no log in ", run.path(), "/syscalls can be read"), out.notes.front());
  return out;
}

// What the captures noted about themselves. In a run of their own the manifest has it, in a recording that they joined
// only their logs do.
void add_end_notes(const OpenLogs& logs, const std::vector<std::string>& known, std::vector<std::string>& out) {
  std::map<std::string, std::vector<std::string>> nodes_of;
  for (const CallLogReader& reader : logs.readers)
    for (const std::string& note : reader.end() ? reader.end()->notes : std::vector<std::string>())
      if (std::none_of(known.begin(), known.end(),
                       [&](const std::string& k) { return k.find(note) != std::string::npos; }) &&
          nodes_of.size() < kMostEndNotes)
        nodes_of[printable(note, 300)].push_back(reader.header().node);
  for (const auto& [note, nodes] : nodes_of)
    out.push_back(nodes.size() > kMostNamed ? note : cat(join(nodes, ", "), ": ", note));
}

}  // namespace

std::string_view name_of(CallTime time) {
  return kTimeNames[static_cast<size_t>(time)];
}

double TimeSum::mean_ms() const {
  return count == 0 ? 0 : sum_ns / static_cast<double>(count) / kNsPerMsReal;
}

int64_t NodeCalls::all_lost() const {
  int64_t sum = 0;
  for (int64_t each : lost) sum += std::clamp(each, int64_t{0}, kMostLost);
  return sum;
}

const NodeCalls* CallData::server(std::string_view name) const {
  for (const NodeCalls& node : servers)
    if (node.name == name) return &node;
  return nullptr;
}

bool CallData::watched_applications() const {
  return std::any_of(clients.begin(), clients.end(), [](const NodeCalls& client) { return client.applications; });
}

CallData join_nodes(std::vector<NodeCalls> logs, const std::vector<Node>& nodes) {
  CallData out;
  std::set<std::string> logged;
  for (NodeCalls& log : logs) {
    logged.insert(log.name);
    const Node* node = node_named(nodes, log.name);
    if (node && node->kind == NodeKind::other) {
      out.notes.push_back(cat(log.name, " is neither server nor client: its calls were not looked at"));
      continue;
    }
    if (node) log.server = node->kind == NodeKind::server;
    if (node) log.does_io = does_io(*node);
    for (const std::string& note : log.notes) out.notes.push_back(cat(log.name, ": ", note));
    (log.server ? out.servers : out.clients).push_back(std::move(log));
  }
  auto by_name = [](const NodeCalls& a, const NodeCalls& b) { return a.name < b.name; };
  std::sort(out.servers.begin(), out.servers.end(), by_name);
  std::sort(out.clients.begin(), out.clients.end(), by_name);
  for (const Node& node : nodes)
    if (node.kind == NodeKind::server && !logged.count(node.name)) out.unlogged.push_back(node.name);
  hand_over_reads(out);
  set_range(out);
  return out;
}

bool has_calls(const RunReader& run) {
  return !logged_nodes(run.path()).empty();
}

Result<CallData> load_call_data(const RunReader& run, const CallOptions& options) {
  const std::vector<std::string> names = logged_nodes(run.path());
  if (names.empty()) return input_error(cat(run.path(), " holds no system calls"), "capture them with culprit syscap");
  ASSIGN_OR_RETURN(OpenLogs logs, open_logs(run, names));
  ReduceOptions reduce;
  ASSIGN_OR_RETURN(reduce.since_ns, resolve_time(options.since, logs.start_ns, INT64_MIN));
  ASSIGN_OR_RETURN(reduce.until_ns, resolve_time(options.until, logs.start_ns, INT64_MAX));
  if (reduce.since_ns > reduce.until_ns) return usage_error("--since is later than --until");
  std::vector<NodeCalls> nodes;
  for (CallLogReader& reader : logs.readers) {
    reduce.offset_ns = offset_of(run, reader.header().node);
    const Node* node = node_named(run.nodes(), reader.header().node);
    reduce.server = node ? std::optional(node->kind == NodeKind::server) : std::nullopt;
    ASSIGN_OR_RETURN(NodeCalls reduced, reduce_log(reader, reduce));
    nodes.push_back(std::move(reduced));
  }
  CallData out = join_nodes(std::move(nodes), run.nodes());
  RETURN_IF_ERROR(check_excluded(options.exclude, out));
  leave_out(options.exclude, out);
  out.run = run.path();
  out.origin = run.manifest().origin;
  out.partial = run.partial();
  out.notes.insert(out.notes.begin(), logs.notes.begin(), logs.notes.end());
  add_end_notes(logs, run.manifest().notes, out.notes);
  return out;
}

}  // namespace culprit
