#include "cli/record/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"

namespace culprit {

namespace {

using Sums = std::map<std::string, std::vector<int64_t>>;

std::string rate(int64_t bytes, double seconds) {
  return format_bytes(static_cast<int64_t>(static_cast<double>(bytes) / seconds)) + "/s";
}

// The member with the largest `value`; end() when there is none.
template <class Value>
Sums::const_iterator busiest(const Sums& sums, Value value) {
  return std::max_element(sums.begin(), sums.end(),
                          [&](const auto& a, const auto& b) { return value(a.second) < value(b.second); });
}

constexpr std::string_view kLoopback = "lo";

// A node of another version may have other columns; what is read by position here must be where we know it.
bool starts_like(const Source& source, const Source& known) {
  if (source.name != known.name || source.columns.size() < known.columns.size()) return false;
  for (size_t i = 0; i < known.columns.size(); ++i)
    if (source.columns[i].name != known.columns[i].name) return false;
  return true;
}

}  // namespace

void NodeSummary::add(const Sample& sample) {
  if (first_mono_ns_ == 0) first_mono_ns_ = sample.mono_ns;
  last_mono_ns_ = std::max(last_mono_ns_, sample.mono_ns);
  for (const NewKey& key : sample.keys) {
    if (!key.source || key.name == kLoopback) continue;
    if (starts_like(*key.source, source_disk) || starts_like(*key.source, source_nic))
      keys_[key.id] = {key.source, key.name, {}};
  }
  for (const SampleRow& row : sample.rows) {
    auto key = keys_.find(row.key);
    if (key != keys_.end() && key->second.source == row.source) add_row(key->second, sample.row(row));
  }
}

void NodeSummary::add_row(Key& key, std::span<const int64_t> row) {
  Sums& all = key.source->name == source_disk.name ? disks_ : nics_;
  std::vector<int64_t>& sums = all[key.name];
  sums.resize(std::max(sums.size(), row.size()));
  for (size_t i = 0; i < row.size() && i < key.last.size(); ++i)
    if (key.last[i] != kAbsent && row[i] > key.last[i])
      sums[i] += row[i] - key.last[i];  // smaller: the counter was reset
  key.last.assign(row.begin(), row.end());
}

std::string NodeSummary::disk_line(double seconds) const {
  auto best = busiest(disks_, [](const std::vector<int64_t>& v) { return v[disk_column::io_ms]; });
  if (best == disks_.end()) return "";
  const std::vector<int64_t>& sums = best->second;
  if (sums[disk_column::reads] + sums[disk_column::writes] == 0)
    return cat("no disk was used (", disks_.size(), " watched)");
  return fmt::format("busiest disk {}: {} read, {} written, {:.0f} requests/s, {:.1f} % busy", best->first,
                     rate(sums[disk_column::sectors_read] * 512, seconds),
                     rate(sums[disk_column::sectors_written] * 512, seconds),
                     static_cast<double>(sums[disk_column::reads] + sums[disk_column::writes]) / seconds,
                     static_cast<double>(sums[disk_column::io_ms]) / seconds / 10);
}

std::string NodeSummary::nic_line(double seconds) const {
  auto best =
      busiest(nics_, [](const std::vector<int64_t>& v) { return v[nic_column::rx_bytes] + v[nic_column::tx_bytes]; });
  if (best == nics_.end()) return "";
  const std::vector<int64_t>& sums = best->second;
  return fmt::format("busiest NIC {}: {} received, {} sent, {:.0f} packets/s", best->first,
                     rate(sums[nic_column::rx_bytes], seconds), rate(sums[nic_column::tx_bytes], seconds),
                     static_cast<double>(sums[nic_column::rx_packets] + sums[nic_column::tx_packets]) / seconds);
}

std::vector<std::string> NodeSummary::lines() const {
  std::vector<std::string> found;
  double seconds = static_cast<double>(last_mono_ns_ - first_mono_ns_) / 1e9;
  if (seconds <= 0) return found;
  for (std::string line : {disk_line(seconds), nic_line(seconds)})
    if (!line.empty()) found.push_back(std::move(line));
  return found;
}

}  // namespace culprit
