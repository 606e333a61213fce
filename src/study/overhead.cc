#include "study/overhead.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "study/tables.h"

namespace culprit {

namespace {

double measured(const Attempt& attempt, const std::string& name) {
  auto found = attempt.measured.find(name);
  return found == attempt.measured.end() ? 0 : found->second;
}

struct Pair {
  const Attempt* on = nullptr;
  const Attempt* off = nullptr;
};
using Pairs = std::map<std::pair<size_t, int>, Pair>;  // by campaign and iteration

OverheadRow sum_up(const std::string& workload, const Pairs& pairs) {
  OverheadRow row;
  row.workload = workload;
  std::vector<double> changes;
  for (const auto& [key, pair] : pairs) {
    if (!pair.on || !pair.off || measured(*pair.off, "seconds") <= 0) continue;
    const double off = measured(*pair.off, "seconds");
    changes.push_back(100 * (measured(*pair.on, "seconds") - off) / off);
    row.seconds_off += off;
    row.recorder_cpu += measured(*pair.on, "recorder_cpu_percent");
    row.node_cpu += measured(*pair.on, "node_cpu_percent");
    row.bytes += measured(*pair.on, "bytes_per_node_second");
  }
  const double n = static_cast<double>(changes.size());
  if (changes.empty()) return row;
  for (double* mean : {&row.seconds_off, &row.recorder_cpu, &row.node_cpu, &row.bytes}) *mean /= n;
  for (double change : changes) row.percent += change / n;
  double squares = 0;
  for (double change : changes) squares += (change - row.percent) * (change - row.percent);
  const double half = n > 1 ? student_t(static_cast<int>(n) - 1) * std::sqrt(squares / (n - 1) / n) : INFINITY;
  row.pairs = static_cast<int>(n);
  row.interval = {row.percent - half, row.percent + half};
  return row;
}

}  // namespace

// Cornish-Fisher from the normal distribution's point; off by less than 1 % from 3 degrees of freedom on.
double student_t(int freedom) {
  if (freedom < 1) return INFINITY;
  if (freedom == 1) return 12.706;
  if (freedom == 2) return 4.303;
  const double z = 1.959964, n = freedom;
  return z + (std::pow(z, 3) + z) / (4 * n) + (5 * std::pow(z, 5) + 16 * std::pow(z, 3) + 3 * z) / (96 * n * n) +
         (3 * std::pow(z, 7) + 19 * std::pow(z, 5) + 17 * std::pow(z, 3) - 15 * z) / (384 * n * n * n);
}

std::vector<OverheadRow> tally_overhead(const std::vector<std::vector<Attempt>>& campaigns) {
  std::vector<std::string> order;
  std::map<std::string, Pairs> pairs;
  for (size_t i = 0; i < campaigns.size(); ++i)
    for (const Attempt& attempt : campaigns[i]) {
      const Experiment& it = attempt.experiment;
      if (it.set != RunSet::overhead || attempt.outcome != Outcome::kept) continue;
      if (!pairs.count(it.workload)) order.push_back(it.workload);
      Pair& pair = pairs[it.workload][{i, it.iteration}];
      (it.recorded ? pair.on : pair.off) = &attempt;
    }
  std::vector<OverheadRow> rows;
  for (const std::string& workload : order) {
    OverheadRow row = sum_up(workload, pairs[workload]);
    if (row.pairs > 0) rows.push_back(std::move(row));
  }
  return rows;
}

std::string overhead_text(const std::vector<OverheadRow>& rows, int64_t interval_ns) {
  Grid grid{
      fmt::format("What recording costs, a sample every {}", format_duration(interval_ns)),
      {"workload", "pairs", "s without", "change %", "95 %", "recorder CPU %", "CPU % per node", "B per node and s"},
      {},
      "change: how much longer the same work took with recording, mean over the pairs. CPU in per cent of a core; "
      "the recorder's includes all samplers.",
      1};
  for (const OverheadRow& row : rows)
    grid.rows.push_back({row.workload, std::to_string(row.pairs), fmt::format("{:.2f}", row.seconds_off),
                         fmt::format("{:+.2f}", row.percent),
                         fmt::format("{:+.2f} to {:+.2f}", row.interval.low, row.interval.high),
                         fmt::format("{:.2f}", row.recorder_cpu), fmt::format("{:.3f}", row.node_cpu),
                         fmt::format("{:.0f}", row.bytes)});
  return grid_text(grid);
}

std::string overhead_json(const std::vector<OverheadRow>& rows, int64_t interval_ns) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const OverheadRow& row : rows) {
    list.push_back({{"workload", row.workload},
                    {"pairs", row.pairs},
                    {"seconds_without", row.seconds_off},
                    {"change_percent", row.percent},
                    {"recorder_cpu_percent", row.recorder_cpu},
                    {"node_cpu_percent", row.node_cpu},
                    {"bytes_per_node_second", row.bytes}});
    // Of one pair nobody knows how sure it is, and JSON has no infinity.
    const bool known = std::isfinite(row.interval.low);
    list.back()["low"] = known ? Json(row.interval.low) : Json(nullptr);
    list.back()["high"] = known ? Json(row.interval.high) : Json(nullptr);
  }
  const Json out = {{"interval_ns", interval_ns}, {"overhead", std::move(list)}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace culprit
