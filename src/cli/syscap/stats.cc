#include "cli/syscap/stats.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "calls/syscalls.h"

namespace culprit {

namespace {

constexpr size_t kShownErrors = 3;  // of a row; then their number
constexpr int32_t kLastSignal = 64;

double mean_us(const StatsRow& row) {
  uint64_t timed = row.times.count();
  return timed == 0 ? 0 : row.sum_ns / static_cast<double>(timed) / 1e3;
}

double us(int64_t ns) {
  return static_cast<double>(ns) / 1e3;
}

// A row takes 8 kB, so numbers that no kernel has share one: a log may claim any.
std::string known_call(int32_t number) {
  return number >= 0 && number < kMostSyscalls ? syscall_name(number) : "unknown call";
}

std::string call_name(const Call& call) {
  switch (call.kind) {
    case CallKind::call:
      return known_call(call.number);
    case CallKind::signal:
      return call.number > 0 && call.number <= kLastSignal ? cat("signal ", signal_name(call.number))
                                                           : "unknown signal";
    case CallKind::exit:
      return call.number == 1 ? "process ends" : "thread ends";
    case CallKind::aio:
      return "aio completion";
    case CallKind::uring:
      return "io_uring completion";
  }
  return "?";
}

// "ENOSPC 12, EIO 1"; the most frequent first.
std::string errors_text(const std::map<int, uint64_t>& errors) {
  std::vector<std::pair<uint64_t, int>> sorted;
  for (const auto& [error, count] : errors) sorted.emplace_back(count, error);
  std::sort(sorted.rbegin(), sorted.rend());
  std::vector<std::string> parts;
  for (size_t i = 0; i < sorted.size() && i < kShownErrors; ++i)
    parts.push_back(cat(errno_name(sorted[i].second), " ", sorted[i].first));
  if (sorted.size() > kShownErrors) parts.push_back(cat(sorted.size() - kShownErrors, " more"));
  return join(parts, ", ");
}

}  // namespace

// Below 16 ns each has a step of its own; above, the four bits after the highest one choose it.
void TimeHistogram::add(int64_t ns, uint64_t count) {
  uint64_t value = static_cast<uint64_t>(std::max<int64_t>(0, ns));
  size_t step = static_cast<size_t>(value);
  if (value >= kSteps) {
    size_t power = 63 - static_cast<size_t>(std::countl_zero(value));
    step = (power - 3) * kSteps + static_cast<size_t>((value >> (power - 4)) & (kSteps - 1));
  }
  counts_[step] += count;
  count_ += count;
}

int64_t TimeHistogram::percentile(double share) const {
  double wanted = share * static_cast<double>(count_);
  double seen = 0;
  for (size_t step = 0; step < counts_.size(); ++step) {
    seen += static_cast<double>(counts_[step]);
    if (counts_[step] == 0 || seen < wanted) continue;
    if (step < kSteps) return static_cast<int64_t>(step);
    size_t power = step / kSteps + 3;
    int64_t width = int64_t{1} << (power - 4);
    return (int64_t{1} << power) + static_cast<int64_t>(step % kSteps) * width + width / 2;
  }
  return 0;
}

void CallStats::add(const std::string& node, const Call& call, const FdRecord* target) {
  StatsRow& row = rows_[Key{node, target ? target->fd_class : FdClass::other, call_name(call)}];
  ++row.count;
  if (call.kind == CallKind::signal || call.kind == CallKind::exit) return;
  if (!call.finished()) {
    ++row.unfinished;
    return;
  }
  if (call.failed() && call.errno_value() < kFirstRestart) {
    ++row.failed;
    ++row.errors[call.errno_value()];
  }
  row.sum_ns += static_cast<double>(call.duration_ns);
  row.max_ns = std::max(row.max_ns, call.duration_ns);
  row.times.add(call.duration_ns);
}

// Sums know their times to a power of two only: the middle of it counts, and the maximum is where its last one ends.
void CallStats::add(const std::string& node, const CallSum& sum) {
  StatsRow& row = rows_[Key{node, sum.fd_class, known_call(sum.number)}];
  row.count += sum.count;
  row.sum_ns += static_cast<double>(sum.sum_ns);
  for (size_t i = 0; i < sum.histogram.size(); ++i) {
    if (sum.histogram[i] == 0) continue;
    row.times.add((int64_t{3} << i) / 2, sum.histogram[i]);
    row.max_ns = std::max(row.max_ns, (int64_t{2} << i) - 1);
  }
  for (const auto& [error, count] : sum.errors) {
    row.failed += count;
    row.errors[error] += count;
  }
}

std::vector<const CallStats::Entry*> CallStats::sorted() const {
  std::vector<const Entry*> entries;
  for (const Entry& entry : rows_) entries.push_back(&entry);
  std::stable_sort(entries.begin(), entries.end(), [](const Entry* a, const Entry* b) {
    if (a->first.node != b->first.node) return a->first.node < b->first.node;
    if (a->first.fd_class != b->first.fd_class) return a->first.fd_class < b->first.fd_class;
    return a->second.sum_ns > b->second.sum_ns;
  });
  return entries;
}

std::string CallStats::text() const {
  size_t node_width = 4;
  size_t call_width = 4;
  for (const auto& [key, row] : rows_) {
    node_width = std::max(node_width, key.node.size());
    call_width = std::max(call_width, key.call.size());
  }
  std::string out =
      fmt::format("{:<{}}  {:<9}  {:<{}} {:>10} {:>8} {:>11} {:>11} {:>11} {:>12}  {}\n", "node", node_width, "class",
                  "call", call_width, "count", "errors", "mean us", "p50 us", "p99 us", "max us", "errno");
  for (const Entry* entry : sorted()) {
    const auto& [key, row] = *entry;
    std::string remarks = errors_text(row.errors);
    if (row.unfinished > 0) remarks += cat(remarks.empty() ? "" : ", ", row.unfinished, " not returned");
    std::string line =
        fmt::format("{:<{}}  {:<9}  {:<{}} {:>10} {:>8} {:>11.1f} {:>11.1f} {:>11.1f} {:>12.1f}  {}", key.node,
                    node_width, name_of(key.fd_class), key.call, call_width, row.count, row.failed, mean_us(row),
                    us(row.times.percentile(0.5)), us(row.times.percentile(0.99)), us(row.max_ns), remarks);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string CallStats::json() const {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const Entry* entry : sorted()) {
    const auto& [key, row] = *entry;
    nlohmann::ordered_json errors = nlohmann::ordered_json::object();
    for (const auto& [error, count] : row.errors) errors[errno_name(error)] = count;
    out.push_back({{"node", key.node},
                   {"class", name_of(key.fd_class)},
                   {"call", key.call},
                   {"count", row.count},
                   {"errors", row.failed},
                   {"unfinished", row.unfinished},
                   {"mean_us", mean_us(row)},
                   {"p50_us", us(row.times.percentile(0.5))},
                   {"p99_us", us(row.times.percentile(0.99))},
                   {"max_us", us(row.max_ns)},
                   {"errno", errors}});
  }
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace culprit
