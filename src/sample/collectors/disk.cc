// Disk counters from /proc/diskstats: whole devices, each byte once. The kernel prints times as 32-bit milliseconds
// that wrap after 49 days (the weighted one of a busy disk after one or two); they are unwrapped here, where it is
// cheap.
#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <utility>

#include "base/procfile.h"
#include "base/text.h"
#include "sample/block.h"
#include "sample/collector.h"
#include "sample/presence.h"

namespace culprit {

namespace {

using Row = std::array<int64_t, disk_column::count>;

// The columns in the order of the file; -1 is a field we do not keep.
constexpr int kFields[] = {disk_column::reads,           disk_column::reads_merged,
                           disk_column::sectors_read,    disk_column::read_ms,
                           disk_column::writes,          disk_column::writes_merged,
                           disk_column::sectors_written, disk_column::write_ms,
                           disk_column::in_flight,       disk_column::io_ms,
                           disk_column::weighted_ms,     disk_column::discards,
                           -1 /* discards merged */,     disk_column::sectors_discarded,
                           disk_column::discard_ms,      disk_column::flushes,
                           disk_column::flush_ms};
constexpr size_t kOldestFields = 11;  // before Linux 4.18; partitions of 2.6.24 and older have 4, which say too little

constexpr int kTimes[] = {disk_column::read_ms,     disk_column::write_ms,   disk_column::io_ms,
                          disk_column::weighted_ms, disk_column::discard_ms, disk_column::flush_ms};
constexpr int64_t kWrap = int64_t{1} << 32;

struct Device {
  std::string name;
  bool wanted = false;
  bool counted = false;  // nothing else has its rows: its end would be missed
  uint32_t key = 0;      // 0: it has had no activity yet
  uint64_t requests = 0;
  std::array<int64_t, std::size(kTimes)> last{};  // as the kernel printed them
  std::array<int64_t, std::size(kTimes)> wraps{};
  Presence presence;
  std::string head;                // of a path of NVMe's multipathing: the device above it, where that one is named
  std::vector<std::string> paths;  // of such a device
  bool by_paths = false;           // it counts nothing: the sums of its paths stand for it
};

bool parse_fields(std::string_view line, Row& row) {
  row.fill(kAbsent);
  size_t found = 0;
  for (int column : kFields) {
    int64_t value = 0;
    if (!next_number(line, value)) break;
    ++found;
    if (column >= 0 && value >= 0) row[static_cast<size_t>(column)] = value;
  }
  int64_t& in_flight = row[disk_column::in_flight];
  if (in_flight >= kWrap / 2) in_flight = kAbsent;  // a negative count, printed unsigned: some kernels lose track of it
  return found >= kOldestFields;
}

bool is_idle(const Row& row) {
  return std::all_of(row.begin(), row.end(), [](int64_t value) { return value == 0 || value == kAbsent; });
}

void add_to(Row& sum, const Row& row) {
  for (size_t i = 0; i < row.size(); ++i) {
    if (row[i] == kAbsent) continue;
    if (sum[i] == kAbsent)
      sum[i] = row[i];
    else if (__builtin_add_overflow(sum[i], row[i], &sum[i]))
      sum[i] = kAbsent;
  }
}

// A time that fell while the requests did not has wrapped; if both fell, the device was replaced.
void unwrap_times(Device& device, Row& row) {
  auto count = [&](int column) {
    return static_cast<uint64_t>(std::max<int64_t>(row[static_cast<size_t>(column)], 0));
  };
  uint64_t requests = count(disk_column::reads) + count(disk_column::writes);
  bool replaced = requests < device.requests;
  device.requests = requests;
  for (size_t i = 0; i < std::size(kTimes); ++i) {
    int64_t& value = row[static_cast<size_t>(kTimes[i])];
    if (value == kAbsent) continue;
    int64_t fall = device.last[i] - value;
    if (replaced) device.wraps[i] = 0;
    if (!replaced && fall > kWrap / 2 && device.last[i] < kWrap) ++device.wraps[i];
    device.last[i] = value;
    if (value < kWrap) value += device.wraps[i] * kWrap;
  }
}

class DiskCollector : public Collector {
 public:
  DiskCollector(const SampleEnv& env, KeyCounter& keys)
      : root_(env.root), keys_(keys), file_(env.root + "/proc/diskstats") {
    for (const std::string& name : env.node.disks) wanted_.push_back(kernel_block_name(root_, name));
    leave_out_lower_ones();
  }

  Status collect(Sample& sample) override {
    ASSIGN_OR_RETURN(std::string_view text, file_.read());
    sample.notes.insert(sample.notes.end(), notes_.begin(), notes_.end());
    notes_.clear();
    ++tick_;
    heads_.clear();
    path_sums_.clear();
    std::string_view line;
    size_t position = 0;
    while (next_line(text, line)) {
      next_word(line);
      next_word(line);
      std::string_view name = next_word(line);
      if (!name.empty()) collect_device(sample, device_at(position++, name), line);
    }
    for (auto& [device, row] : heads_) collect_head(sample, *device, row);
    say_what_is_special(sample);
    for (Device& device : devices_)
      if (device.counted) device.presence.say_changes(tick_, "disk", device.name, sample.notes);
    return Ok{};
  }

 private:
  // Lines keep their order, so the device is nearly always the one at the same position as in the last tick.
  Device& device_at(size_t position, std::string_view name) {
    if (position < devices_.size() && devices_[position].name == name) return devices_[position];
    for (Device& device : devices_)
      if (device.name == name) return device;
    Device device;
    device.name = name;
    device.wanted = wanted_.empty() ? is_whole_device(root_, name) : is_named(name);
    if (!wanted_.empty()) know_paths(device);
    return devices_.emplace_back(std::move(device));
  }

  bool is_named(std::string_view name) const {
    return std::find(wanted_.begin(), wanted_.end(), name) != wanted_.end();
  }

  // Without names all paths are recorded, and the device above them is one that is stacked.
  void know_paths(Device& device) const {
    std::string head = nvme_head(device.name);
    if (!device.wanted && is_named(head)) device.head = head;
    if (!device.wanted) return;
    for (std::string& slave : describe_block(root_, device.name).slaves)
      if (nvme_head(slave) == device.name) device.paths.push_back(std::move(slave));
  }

  void collect_device(Sample& sample, Device& device, std::string_view fields) {
    Row row;
    if ((!device.wanted && device.head.empty()) || !parse_fields(fields, row)) return;
    device.presence.seen(tick_);
    if (!device.head.empty()) {
      unwrap_times(device, row);
      auto [sum, is_new] = path_sums_.try_emplace(device.head);
      if (is_new) sum->second.fill(kAbsent);
      add_to(sum->second, row);
    } else if (!device.paths.empty()) {
      heads_.emplace_back(&device, row);  // its paths may stand below it in the file
    } else {
      add_row(sample, device, row);
    }
  }

  // Older kernels count the requests of NVMe's multipathing at the paths only, newer ones at both.
  void collect_head(Sample& sample, Device& device, Row& row) {
    auto sum = path_sums_.find(device.name);
    const bool paths_count = sum != path_sums_.end() && !is_idle(sum->second);
    if (!device.by_paths && paths_count && is_idle(row)) {
      device.by_paths = true;
      sample.notes.push_back(cat("disk ", device.name, " counts nothing itself: the sums of its paths ",
                                 join(device.paths, ", "), " are recorded for it"));
    }
    if (!device.by_paths) return add_row(sample, device, row);
    if (sum != path_sums_.end()) add_row(sample, device, sum->second);
  }

  void add_row(Sample& sample, Device& device, Row& row) {
    if (device.key == 0 && wanted_.empty() && is_idle(row)) return;  // a named one is idle, not absent
    if (device.key == 0) announce(sample, device);
    if (!device.by_paths) unwrap_times(device, row);
    sample.add(source_disk, device.key, row);
  }

  void announce(Sample& sample, Device& device) {
    BlockDevice block = describe_block(root_, device.name);
    std::string detail = cat("kind=", block.kind);
    if (!block.dm_name.empty()) detail += cat(" dm=", block.dm_name);
    if (!block.slaves.empty()) detail += cat(" slaves=", join(block.slaves, ","));
    if (!block.slaves.empty()) stacked_.push_back(device.name);
    device.counted = !wanted_.empty() || (block.slaves.empty() && block.kind != "loop");
    if (std::erase(missing_, device.name) > 0) sample.notes.push_back(cat("disk ", device.name, " is there now"));
    device.key = keys_.add(sample, source_disk, device.name, detail);
  }

  void leave_out_lower_ones() {
    for (const std::string& upper : std::vector<std::string>(wanted_)) {
      for (const std::string& lower : devices_below(root_, upper)) {
        if (std::erase(wanted_, lower) == 0) continue;
        notes_.push_back(cat("disk ", upper, " is stacked on ", lower, ", and both are named: ", lower,
                             " is left out, so that nothing counts twice"));
      }
    }
  }

  void say_what_is_special(Sample& sample) {
    if (!stacked_.empty() && !said_stacked_ && wanted_.empty()) {
      said_stacked_ = true;
      sample.notes.push_back(
          cat("disks stacked on others: ", join(stacked_, ", "),
              "; only the disks beneath are summed, unless cluster.toml names disks, so that nothing counts twice"));
    }
    if (said_missing_) return;
    said_missing_ = true;
    for (const std::string& name : wanted_) {
      bool there =
          std::any_of(devices_.begin(), devices_.end(), [&](const Device& device) { return device.name == name; });
      if (there) continue;
      sample.notes.push_back(cat("disk ", name, " is not on this node"));
      missing_.push_back(name);
    }
  }

  std::string root_;
  KeyCounter& keys_;
  ProcFile file_;
  std::vector<std::string> wanted_;  // empty: all whole devices
  std::deque<Device> devices_;
  std::vector<std::pair<Device*, Row>> heads_;  // of this tick, with their own counters
  std::map<std::string, Row> path_sums_;        // of this tick, by head
  std::vector<std::string> stacked_;
  std::vector<std::string> missing_;  // named, and not there at the start
  std::vector<std::string> notes_;    // for the next sample
  uint32_t tick_ = 0;
  bool said_stacked_ = false;
  bool said_missing_ = false;
};

Status probe(const SampleEnv& env) {
  ProcFile file(env.root + "/proc/diskstats");
  ASSIGN_OR_RETURN(std::string_view text, file.read());
  if (trim(text).empty()) return unsupported_error("/proc/diskstats is empty: this node has no block devices");
  return Ok{};
}

}  // namespace

extern const CollectorInfo collector_disk;
const CollectorInfo collector_disk = {
    .name = "disk",
    .summary = "requests, sectors and times of whole block devices",
    .source = &source_disk,
    .needs = "",
    .make = [](const SampleEnv& env, KeyCounter& keys) -> std::unique_ptr<Collector> {
      return std::make_unique<DiskCollector>(env, keys);
    },
    .probe = probe,
};

}  // namespace culprit
