#include "cli/inject/run_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"
#include "base/units.h"
#include "cli/record/registry.h"
#include "store/manifest.h"
#include "store/run_path.h"
#include "store/run_reader.h"
#include "store/run_writer.h"

namespace culprit {

namespace {

constexpr int64_t kLongestBefore = 30 * kNsPerSecond;

// First and last counters of one NIC within a stretch of time.
struct Stretch {
  int64_t from_ns = 0, to_ns = 0;
  struct Ends {
    int64_t first_ns = 0, last_ns = 0, first = 0, last = 0;
  };
  std::map<uint32_t, Ends> nics = {};

  void add(const SampleInfo& sample, uint32_t key, int64_t bytes) {
    if (sample.t_ns < from_ns || sample.t_ns > to_ns) return;
    auto [ends, fresh] = nics.try_emplace(key, Ends{sample.t_ns, sample.t_ns, bytes, bytes});
    if (fresh || bytes < ends->second.last) {  // a counter that fell was reset: begin anew
      ends->second = {sample.t_ns, sample.t_ns, bytes, bytes};
    } else {
      ends->second.last_ns = sample.t_ns;
      ends->second.last = bytes;
    }
  }

  // Bytes per second of all together, and the longest time one was seen.
  std::pair<double, int64_t> rate() const {
    double sum = 0;
    int64_t longest = 0;
    for (const auto& [key, ends] : nics) {
      int64_t ns = ends.last_ns - ends.first_ns;
      if (ns > 0) sum += static_cast<double>(ends.last - ends.first) * 1e9 / static_cast<double>(ns);
      longest = std::max(longest, ns);
    }
    return {sum, longest};
  }
};

bool records(const RunReader& run, NodeKind kind) {
  std::set<size_t> heard;
  for (const SampleInfo& sample : run.samples()) heard.insert(sample.node);
  return std::any_of(heard.begin(), heard.end(), [&](size_t node) { return run.nodes()[node].kind == kind; });
}

}  // namespace

std::vector<std::string> recordings_of(const Node& node) {
  std::vector<std::string> runs;
  for (const RunningRecording& recording : running_recordings(registry_folders())) {
    auto folder = find_run(recording.run_path);
    auto manifest = folder ? read_manifest(*folder) : Result<Manifest>(folder.error());
    if (!manifest) continue;
    const Node* same = manifest->cluster.find(node.name);
    if (same && same->reach == node.reach) runs.push_back(recording.run_path);
  }
  return runs;
}

std::vector<std::string> write_events(const InjectPlan& plan, int64_t t_ns, const std::string& kind,
                                      const std::string& text) {
  std::vector<std::string> problems;
  for (const Node* target : plan.targets) {
    for (const std::string& run : recordings_of(*target)) {
      Status written = append_event(run, {t_ns, target->name, kind, text});
      if (!written) problems.push_back(cat("not noted in ", run, ": ", written.error().message()));
    }
  }
  return problems;
}

std::string event_text(const InjectPlan& plan, bool on) {
  std::string out = cat(plan.fault->name, on ? " on" : " off");
  const FaultPart& part = plan.parts[0].part;
  for (const auto& [name, value] : part.params) {
    if (!value.empty() && on) out += cat(", ", name, "=", printable(value, 60));
  }
  return on ? cat(out, ", seed ", part.seed, ", id ", part.id) : cat(out, ", id ", part.id);
}

Result<Cost> measure_cost(const std::string& run_path, int64_t on_ns, int64_t off_ns) {
  ASSIGN_OR_RETURN(RunReader run, RunReader::open(run_path));
  NodeKind kind = records(run, NodeKind::client) ? NodeKind::client : NodeKind::server;
  const Source* nic = run.source(source_nic.name);
  if (!nic) return input_error(cat(run_path, " has no traffic of NICs"));
  Stretch before{on_ns - kLongestBefore, on_ns}, during{on_ns, off_ns};
  RETURN_IF_ERROR(run.scan(*nic, [&](const SampleInfo& sample, uint32_t key, std::span<const int64_t> values) {
    if (run.nodes()[sample.node].kind != kind) return;
    int64_t received = values[nic_column::rx_bytes], sent = values[nic_column::tx_bytes];
    if (received == kAbsent || sent == kAbsent) return;
    before.add(sample, key, received + sent);
    during.add(sample, key, received + sent);
  }));
  Cost cost{run_path, kind == NodeKind::client ? "clients" : "servers"};
  std::tie(cost.before, cost.before_ns) = before.rate();
  std::tie(cost.during, cost.during_ns) = during.rate();
  if (cost.before_ns == 0 || cost.during_ns == 0)
    return input_error(cat(run_path, " has too few samples before or during the fault"));
  return cost;
}

std::string cost_text(const Cost& cost) {
  std::string change = cost.before > 0 ? fmt::format(", {:+.0f} %", (cost.during / cost.before - 1) * 100) : "";
  return fmt::format("the {} moved {}/s in the {:.0f} s before and {}/s in the {:.0f} s of the fault{}", cost.whose,
                     format_bytes(static_cast<int64_t>(cost.before)), static_cast<double>(cost.before_ns) / 1e9,
                     format_bytes(static_cast<int64_t>(cost.during)), static_cast<double>(cost.during_ns) / 1e9,
                     change);
}

}  // namespace culprit
