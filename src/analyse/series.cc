#include "analyse/series.h"

#include <algorithm>
#include <set>

#include "analyse/derive.h"
#include "base/text.h"
#include "base/units.h"

namespace culprit {

namespace {

constexpr double kLongestStep = 2.5;        // intervals: one missed tick is bridged, two are a gap
constexpr double kPlausible = 1e15;         // no rate of one machine is larger; what is would only hide the others
constexpr int64_t kMostTicks = 10'000'000;  // four months of seconds; more is a damaged clock
constexpr double kMostCells = 4e8;          // ticks x servers x metrics we are ready to hold
constexpr int64_t kFarAway =
    1'000'000'000 * kNsPerSecond;  // 30 years: later than any run, and adding it cannot overflow

int64_t nearest(int64_t t_ns, int64_t interval) {
  return (t_ns + interval / 2) / interval;
}

// Rule 1 of who is compared: servers that do I/O and are not left out.
Status choose_servers(Frame& frame, const SeriesOptions& options) {
  std::set<std::string> excluded(options.exclude.begin(), options.exclude.end());
  std::vector<std::string> names;
  for (const Node& node : frame.run.nodes()) {
    const bool server = node.kind == NodeKind::server;
    if (server) names.push_back(node.name);
    const bool out = excluded.erase(node.name) > 0;
    if (server && !out && !does_io(node))
      frame.note(cat(node.name, " does no I/O (roles ", join(node.roles, ","), ") and is not compared"));
    frame.server_of_node.push_back(server && !out && does_io(node) ? frame.out.servers.size() : kNoServer);
    if (frame.server_of_node.back() != kNoServer) frame.out.servers.push_back(node.name);
  }
  if (excluded.empty()) return Ok{};
  const std::string near = did_you_mean(*excluded.begin(), names);
  return usage_error(cat("there is no server '", printable(*excluded.begin()), "' to exclude"),
                     near.empty() ? cat("servers: ", join(names, " ")) : cat("did you mean ", near, "?"));
}

Result<int64_t> resolve_time(const std::string& text, int64_t start_ns, int64_t fallback) {
  if (text.empty()) return fallback;
  if (text[0] != '+') return parse_time(text);
  ASSIGN_OR_RETURN(const int64_t offset, parse_duration(std::string_view(text).substr(1)));
  return start_ns + std::min(offset, kFarAway);
}

// A clock is to blame only where most of the ticks are empty.
Error too_large(int64_t ticks, size_t servers, size_t samples) {
  const bool full = static_cast<double>(samples) >= 0.5 * static_cast<double>(ticks) * static_cast<double>(servers);
  return input_error(cat("the run spans ", ticks, " ticks of ", servers, " servers, more than can be held"),
                     full ? "look at a part of it, as with --since +1h --until +2h"
                          : "a clock may have been wrong; look at a part, as with --since +1h --until +2h");
}

Status choose_range(Frame& frame, const SeriesOptions& options) {
  SeriesSet& out = frame.out;
  int64_t first = INT64_MAX, last = INT64_MIN;
  size_t samples = 0;
  for (const SampleInfo& sample : frame.run.samples()) {
    if (frame.server_of_node[sample.node] == kNoServer) continue;
    first = std::min(first, sample.t_ns);
    last = std::max(last, sample.t_ns);
    ++samples;
  }
  if (first > last) return Ok{};  // no samples: no ticks
  ASSIGN_OR_RETURN(const int64_t since, resolve_time(options.since, first, first));
  ASSIGN_OR_RETURN(const int64_t until, resolve_time(options.until, first, last));
  if (since > until || since > last || until < first)
    return usage_error(
        "no sample lies between --since and --until",
        cat("the run has ", format_time(first), " to ", format_time(last), "; +60s counts from its start"));
  first = std::max(first, since);
  last = std::min(last, until);
  frame.first_tick = nearest(first, out.interval_ns);
  const int64_t ticks = nearest(last, out.interval_ns) - frame.first_tick + 1;
  if (ticks > kMostTicks ||
      static_cast<double>(ticks) * static_cast<double>(out.servers.size() * kMetrics) > kMostCells)
    return too_large(ticks, out.servers.size(), samples);
  out.ticks = static_cast<size_t>(ticks);
  out.start_ns = frame.first_tick * out.interval_ns;
  return Ok{};
}

void fill_sampled(Frame& frame) {
  frame.out.sampled.assign(frame.out.servers.size(), std::vector<bool>(frame.out.ticks, false));
  for (const SampleInfo& sample : frame.run.samples()) {
    const size_t server = frame.server_of_node[sample.node];
    size_t tick = 0;
    if (server != kNoServer && frame.tick_of(sample.t_ns, tick)) frame.out.sampled[server][tick] = true;
  }
}

// Devices that repeat what others count, as far as their names and details tell.
bool repeats_others(const KeyInfo& key) {
  if (!detail_value(key.detail, "slaves").empty() || !detail_value(key.detail, "lower").empty()) return true;
  static constexpr std::string_view kPrefixes[] = {"loop", "zram", "ram", "dm-",   "md",
                                                   "bond", "team", "br-", "virbr", "docker"};
  const std::string kind = detail_value(key.detail, "kind");
  const bool told = !kind.empty() && kind != "virtual";
  const bool loop = kind == "loop" || key.name == "lo";
  return loop || (!told && std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                                       [&](std::string_view prefix) { return key.name.starts_with(prefix); }));
}

// The ends of containers and virtual machines (veth, tap, tun): what they carry leaves the node through an interface
// with a device, which has it too, and with receiving and sending exchanged.
bool is_virtual(const KeyInfo& key) {
  return key.source == "nic" && detail_value(key.detail, "kind") == "virtual";
}

// Nodes with an interface that has a device. Those of a lab have virtual ones only: there they are all there is.
std::vector<bool> nodes_with_device(const Frame& frame) {
  std::vector<bool> found(frame.run.nodes().size(), false);
  for (const KeyInfo& key : frame.run.keys())
    if (key.source == "nic" && !is_virtual(key) && !repeats_others(key)) found[key.node] = true;
  return found;
}

const std::vector<std::string>& names_of(const Node& node, Resource resource) {
  return resource == Resource::disk ? node.disks : node.nics;
}

// By its own name, or by the one device-mapper gave it.
bool is_named(const std::vector<std::string>& names, const KeyInfo& key) {
  auto has = [&](const std::string& name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  return has(key.name) || has(detail_value(key.detail, "dm"));
}

// Whether the names in the cluster file are those of the run's keys. Where they are not (/dev/disk/by-id/...), what was
// recorded is what was meant, because a collector takes only what is named.
std::vector<bool> nodes_with_named(const Frame& frame, std::string_view source, Resource resource) {
  std::vector<bool> found(frame.run.nodes().size(), false);
  for (const KeyInfo& key : frame.run.keys())
    if (key.source == source && is_named(names_of(frame.run.nodes()[key.node], resource), key)) found[key.node] = true;
  return found;
}

// Devices that a device named in the cluster file is made of.
std::set<std::pair<size_t, std::string>> members_of_named(const Frame& frame) {
  std::set<std::pair<size_t, std::string>> out;
  for (const KeyInfo& key : frame.run.keys()) {
    const Node& node = frame.run.nodes()[key.node];
    if (!is_named(node.disks, key) && !is_named(node.nics, key)) continue;
    for (const char* word : {"slaves", "lower"}) {
      const std::string members = detail_value(key.detail, word);  // split's views point into it
      for (std::string_view member : split(members, ',')) out.emplace(key.node, member);
    }
  }
  return out;
}

}  // namespace

bool Frame::tick_of(int64_t t_ns, size_t& tick) const {
  const int64_t number = nearest(t_ns, out.interval_ns) - first_tick;
  if (number < 0 || number >= static_cast<int64_t>(out.ticks)) return false;
  tick = static_cast<size_t>(number);
  return true;
}

void Frame::put(Metric metric, size_t server, size_t tick, double value) {
  if (!std::isfinite(value) || std::fabs(value) > kPlausible) return;
  out.make(metric)[server][tick] = value;
}

void Frame::note(std::string text) {
  if (std::find(out.notes.begin(), out.notes.end(), text) == out.notes.end()) out.notes.push_back(std::move(text));
}

std::string detail_value(const std::string& detail, std::string_view word) {
  for (std::string_view pair : split(detail, ' '))
    if (pair.size() > word.size() && pair.starts_with(word) && pair[word.size()] == '=')
      return std::string(pair.substr(word.size() + 1));
  return "";
}

std::vector<bool> summed_keys(Frame& frame, std::string_view source, Resource resource) {
  const auto& keys = frame.run.keys();
  std::vector<bool> summed(keys.empty() ? 1 : keys.back().id + 1, false);
  summed[0] = true;
  const std::set<std::pair<size_t, std::string>> below = members_of_named(frame);
  const std::vector<bool> found = nodes_with_named(frame, source, resource);
  const std::vector<bool> with_device = nodes_with_device(frame);
  for (const KeyInfo& key : keys) {
    if (key.source != source) continue;
    const std::vector<std::string>& list = names_of(frame.run.nodes()[key.node], resource);
    const bool lists = !list.empty();
    const bool listed = lists && (is_named(list, key) || (!found[key.node] && source != "value"));
    const bool repeats = listed ? below.count({key.node, key.name}) > 0 : repeats_others(key);
    const bool beside = !listed && with_device[key.node] && is_virtual(key);
    summed[key.id] = key.name.empty() || ((listed || !lists) && !repeats && !beside);
    if (beside && !repeats && !lists && frame.server_of_node[key.node] != kNoServer)
      frame.note("virtual interfaces are not counted beside those with a device, so that nothing counts twice");
    if (repeats && key.name != "lo" && (listed || !lists) && frame.server_of_node[key.node] != kNoServer)
      frame.note(cat(key.name, listed ? " is part of another disk that is named, too, and is not counted twice"
                                      : " is stacked on other devices and is not counted twice"));
  }
  return summed;
}

std::vector<Series>& SeriesSet::make(Metric metric) {
  auto& series = by_metric[static_cast<size_t>(metric)];
  if (series.empty()) series.assign(servers.size(), Series(ticks, kMissing));
  return series;
}

Result<SeriesSet> load_series(const RunReader& run, const SeriesOptions& options) {
  SeriesSet out;
  out.run = run.path();
  out.origin = run.manifest().origin;
  out.partial = run.partial();
  out.interval_ns =
      std::clamp(run.manifest().interval_ns, int64_t{1}, kFarAway);  // the reader has estimated it if need be
  Frame frame{
      run, out, {}, 0, static_cast<int64_t>(kLongestStep * static_cast<double>(out.interval_ns)), options.cwnd_span};
  RETURN_IF_ERROR(choose_servers(frame, options));
  RETURN_IF_ERROR(choose_range(frame, options));
  fill_sampled(frame);
  RETURN_IF_ERROR(derive_disk(frame));
  RETURN_IF_ERROR(derive_network(frame));
  RETURN_IF_ERROR(derive_congestion(frame));
  RETURN_IF_ERROR(derive_node(frame));
  RETURN_IF_ERROR(derive_foreign(frame));
  RETURN_IF_ERROR(derive_values(frame));
  return out;
}

}  // namespace culprit
