#include "study/tally.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/text.h"
#include "study/judge.h"
#include "study/paper.h"

namespace culprit {

namespace {

using Ranked = std::pair<size_t, std::string>;

// The paper's order, then by name.
Ranked rank_of(const std::string& fault, const std::map<std::string, std::string>& params) {
  const auto& faults = paper_faults();
  const size_t place = static_cast<size_t>(std::find(faults.begin(), faults.end(), fault) - faults.begin());
  return {place, label_of(fault, params)};
}

Ranked rank_of(const Experiment& truth) {
  return rank_of(truth.fault, truth.params);
}

void count(const Row& row, Scores& out) {
  const bool faulty = has_fault(row);
  ++out.runs;
  out.faulty += faulty;
  out.caused += faulty && has_right_cause(row.truth.fault);
  out.itp += row.itp;
  out.ifp += row.ifp;
  out.dtp += row.dtp;
  out.dfp += row.dfp;
  out.undecided += is_undecided(row);
}

template <class Key>
std::vector<Scores> values_of(const std::map<Key, Scores>& cells) {
  std::vector<Scores> out;
  for (const auto& [key, scores] : cells) out.push_back(scores);
  return out;
}

void count_named(Scores& scores, const std::string& name, const Row& row) {
  scores.name = name;
  count(row, scores);
}

// Of several accusations of the victim the right one counts: a wrong one beside it shows as DFP.
std::string named_cause(const Row& row) {
  if (is_undecided(row)) return std::string(kUndecided);
  if (row.accused.empty()) return std::string(kNothing);
  std::string first;
  for (const RowAccusation& accused : row.accused) {
    if (!finds_victim(row, accused)) continue;
    if (is_right_cause(row.truth.fault, accused.cause)) return accused.cause;
    if (first.empty()) first = accused.cause;
  }
  return first.empty() ? std::string(kOtherServer) : first;
}

void add_alarms(const Row& row, Alarms& out) {
  ++out.runs;
  out.accusations += static_cast<int>(row.accused.size());
  out.server_hours += row.servers * row.seconds / 3600;
}

std::vector<Confusion> confuse(const std::vector<Row>& rows) {
  std::map<Ranked, Confusion> cells;
  for (const Row& row : rows) {
    const bool control = row.truth.set == RunSet::control;
    const Ranked key = control ? Ranked(SIZE_MAX, "(control)") : rank_of(row.truth);
    Confusion& cell = cells[key];
    cell.fault = key.second;
    ++cell.named[named_cause(row)];
  }
  std::vector<Confusion> out;
  for (auto& [key, cell] : cells) out.push_back(std::move(cell));
  return out;
}

std::vector<Latency> latencies(const std::vector<Row>& rows) {
  std::map<std::pair<Ranked, int64_t>, Latency> cells;
  for (const Row& row : rows) {
    if (!row.latency_s) continue;
    const Ranked key = rank_of(row.truth);
    Latency& cell = cells[{key, row.interval_ns}];
    cell.fault = key.second;
    cell.interval_ns = row.interval_ns;
    if (*row.latency_s < 0)
      ++cell.early;
    else
      cell.seconds.push_back(*row.latency_s);
  }
  std::vector<Latency> out;
  for (auto& [key, cell] : cells) {
    std::sort(cell.seconds.begin(), cell.seconds.end());
    out.push_back(std::move(cell));
  }
  return out;
}

// Sums of fractions depend on the order of their parts in the last digit; sorted parts have one order.
void gather_alarms(std::vector<Row> rows, Tally& out) {
  std::sort(rows.begin(), rows.end(),
            [](const Row& a, const Row& b) { return std::tie(a.seconds, a.servers) < std::tie(b.seconds, b.servers); });
  for (const Row& row : rows) {
    if (row.truth.set == RunSet::control)
      add_alarms(row, out.control);
    else if (!has_fault(row))
      add_alarms(row, out.fault_free);
  }
}

}  // namespace

Scores count_scores(const std::vector<Row>& rows, std::string name) {
  Scores out;
  out.name = std::move(name);
  for (const Row& row : rows)
    if (row.truth.set == RunSet::score) count(row, out);
  return out;
}

Tally tally_rows(const std::vector<Row>& rows) {
  Tally out;
  std::map<Ranked, Scores> by_fault;
  std::map<std::string, Scores> by_workload, controls;
  std::map<std::pair<std::string, Ranked>, Scores> by_cell;
  for (const Row& row : rows) {
    const Experiment& truth = row.truth;
    out.method = method_of(row);
    ++out.campaigns[row.campaign];
    ++out.intervals[row.interval_ns];
    out.simulated += row.origin == "simulated";
    if (truth.set == RunSet::control) {
      count_named(controls[truth.workload], truth.workload, row);
      continue;
    }
    const Ranked fault = rank_of(truth);
    count(row, out.total);
    count_named(by_fault[fault], fault.second, row);
    count_named(by_workload[truth.workload], truth.workload, row);
    count_named(by_cell[{truth.workload, fault}], cat(truth.workload, " ", fault.second), row);
  }
  out.by_fault = values_of(by_fault);
  out.by_workload = values_of(by_workload);
  out.by_cell = values_of(by_cell);
  out.controls = values_of(controls);
  out.confusion = confuse(rows);
  out.latency = latencies(rows);
  gather_alarms(rows, out);
  return out;
}

std::map<std::string, std::vector<Row>> rows_by_method(const std::vector<Row>& rows) {
  std::map<std::string, std::vector<Row>> out;
  for (const Row& row : rows) out[method_of(row)].push_back(row);
  return out;
}

Discards tally_discards(const RowFile& file) {
  Discards out;
  using Key = std::tuple<RunSet, std::string, Ranked>;
  std::map<Key, DiscardCell> cells;
  for (const Discard& it : file.discards) {
    const Ranked fault = rank_of(it.fault, it.params);
    DiscardCell& cell = cells[{it.set, it.workload, fault}];
    cell.set = it.set;
    cell.workload = it.workload;
    cell.fault = fault.second;
    ++(it.outcome == Outcome::spoiled ? cell.spoiled : cell.failed);
    out.discarded += it.set != RunSet::train;
  }
  std::set<std::pair<std::string, std::string>> runs;  // judged by several detectors, they are still one run
  for (const Row& row : file.rows) {
    if (!runs.insert({row.campaign, row.truth.id}).second) continue;
    auto cell = cells.find({row.truth.set, row.truth.workload, rank_of(row.truth)});
    if (cell != cells.end()) ++cell->second.kept;
  }
  out.kept = static_cast<int>(runs.size());
  for (const auto& [key, cell] : cells) out.cells.push_back(cell);
  return out;
}

}  // namespace culprit
