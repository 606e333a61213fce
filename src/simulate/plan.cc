#include "simulate/plan.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "simulate/random.h"

namespace culprit {

namespace {

constexpr int64_t kFirstStartNs = 1767225600 * kNsPerSecond;  // 2026-01-01T00:00:00Z
constexpr int64_t kStartDays = 30;                            // runs of different seeds begin within these

// The row of `table` with this name, or one sentence that says which names there are.
template <class Row>
Result<const Row*> find_row(std::span<const Row> table, const std::string& word, std::string_view kind) {
  std::vector<std::string> names;
  for (const Row& row : table) {
    if (row.name == word) return &row;
    names.emplace_back(row.name);
  }
  const std::string meant = did_you_mean(word, names);
  const std::string hint = meant.empty() ? cat("there are: ", join(names, " ")) : cat("did you mean ", meant, "?");
  return usage_error(cat("there is no ", kind, " '", printable(word), "' to simulate"), hint);
}

Result<int> find_victim(const SimulationRequest& request) {
  const std::string last = cat("s", request.servers);
  const std::string range = cat("the servers are s1 to ", last);
  const std::string_view word = request.on;
  if (request.fault == "none")
    return word.empty() ? Result<int>(-1) : usage_error("fault none has no victim", "leave out --on, or name a fault");
  if (word.empty()) return usage_error(cat("fault ", request.fault, " needs a victim"), cat("add --on s1; ", range));
  const auto number = word[0] == 's' ? parse_int(word.substr(1)) : std::nullopt;
  if (number && *number >= 1 && *number <= request.servers && cat("s", *number) == word)
    return static_cast<int>(*number - 1);
  std::vector<std::string> names;
  for (int i = 1; i <= std::min(request.servers, 100); ++i) names.push_back(cat("s", i));
  const std::string meant = number ? "" : did_you_mean(word, names);  // a number that is too high is no typing error
  return usage_error(cat("there is no server '", printable(word), "' in this run"),
                     meant.empty() ? range : cat("did you mean ", meant, "? ", range));
}

Status check_numbers(const SimulationRequest& r) {
  if (r.servers < 1 || r.servers > kMaxServers) return usage_error(cat("there can be 1 to ", kMaxServers, " servers"));
  if (r.clients < 1 || r.clients > kMaxClients) return usage_error(cat("there can be 1 to ", kMaxClients, " clients"));
  if (r.ticks < 2) return usage_error("a run needs at least 2 ticks", "rates are differences of counters");
  if (r.interval_ns < kNsPerMs || r.interval_ns > 3600 * kNsPerSecond)
    return usage_error("the interval must be between 1 ms and 1 h");
  if (!(r.spread >= 0 && r.spread <= 2)) return usage_error("the spread must be between 0 and 2", "0.05 is 5 %");
  if (r.fault_from < 0 || r.fault_for < 1)
    return usage_error("a fault begins at tick 0 or later and lasts a tick or more");
  if (r.fault != "none" && r.fault_from >= r.ticks)
    return usage_error(cat("the fault would begin at tick ", r.fault_from, ", after the run's ", r.ticks, " ticks"),
                       "choose --fault-from below --ticks");
  return Ok{};
}

}  // namespace

bool SimulationPlan::faulty_at(int64_t tick) const {
  return victim >= 0 && tick >= request.fault_from && tick - request.fault_from < request.fault_for;
}

Result<SimulationPlan> make_plan(const SimulationRequest& request) {
  SimulationPlan plan;
  plan.request = request;
  ASSIGN_OR_RETURN(plan.workload, find_row(workloads(), request.workload, "workload"));
  ASSIGN_OR_RETURN(plan.fault, find_row(simulated_faults(), request.fault, "fault"));
  RETURN_IF_ERROR(check_numbers(request));
  ASSIGN_OR_RETURN(plan.victim, find_victim(request));
  Random random(request.seed, ~uint64_t{0});
  const int64_t start = kFirstStartNs + random.between(0, kStartDays * 86400) * kNsPerSecond;
  plan.start_ns = start - start % request.interval_ns;
  return plan;
}

}  // namespace culprit
