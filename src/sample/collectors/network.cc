// NIC counters from /proc/net/dev, which shows the network namespace of the reader: a lab node sees its own interfaces.
#include <algorithm>
#include <array>
#include <deque>

#include "base/fd.h"
#include "base/procfile.h"
#include "base/text.h"
#include "sample/collector.h"
#include "sample/folder.h"
#include "sample/presence.h"

namespace culprit {

namespace {

using Row = std::array<int64_t, nic_column::count>;

// bytes packets errs drop fifo frame compressed multicast, then the same eight for sending.
constexpr int kFields[] = {
    nic_column::rx_bytes, nic_column::rx_packets, nic_column::rx_errors, nic_column::rx_dropped, -1, -1, -1, -1,
    nic_column::tx_bytes, nic_column::tx_packets, nic_column::tx_errors, nic_column::tx_dropped};

struct Interface {
  std::string name;
  bool wanted = false;
  bool stacked = false;
  bool is_virtual = false;
  uint32_t key = 0;  // 0: no traffic yet
  Presence presence;
};

bool parse_fields(std::string_view fields, Row& row) {
  row.fill(kAbsent);
  for (int column : kFields) {
    int64_t value = 0;
    if (!next_number(fields, value)) return false;
    if (column >= 0 && value >= 0) row[static_cast<size_t>(column)] = value;
  }
  return true;
}

// Bonds, bridges and VLANs carry the same bytes as the interfaces they lie on.
std::vector<std::string> lower_interfaces(const std::string& root, const std::string& name) {
  std::vector<std::string> lower;
  for (const std::string& entry : folder_names(cat(root, "/sys/class/net/", name)))
    if (entry.starts_with("lower_")) lower.push_back(entry.substr(6));
  return lower;
}

// No hardware behind it: veth, tap, tun. Where sysfs is not to be seen, nothing is said about it.
bool has_no_device(const std::string& root, const std::string& name) {
  return name != "lo" && path_exists(cat(root, "/sys/devices/virtual/net/", name)) &&
         !path_exists(cat(root, "/sys/class/net/", name, "/device"));
}

class NetworkCollector : public Collector {
 public:
  NetworkCollector(const SampleEnv& env, KeyCounter& keys)
      : root_(env.root), keys_(keys), file_(env.root + "/proc/net/dev"), wanted_(env.node.nics) {}

  Status collect(Sample& sample) override {
    ASSIGN_OR_RETURN(std::string_view text, file_.read());
    ++tick_;
    std::string_view line;
    size_t position = 0;
    while (next_line(text, line)) {
      size_t colon = line.find(':');  // the kernel allows no colon in names
      if (colon == std::string_view::npos) continue;
      std::string_view name = trim(line.substr(0, colon));
      if (!name.empty()) collect_interface(sample, interface_at(position++, name), line.substr(colon + 1));
    }
    say_what_is_stacked(sample);
    say_what_is_special(sample);
    for (Interface& interface : interfaces_)
      if (is_counted(interface)) interface.presence.say_changes(tick_, "interface", interface.name, sample.notes);
    return Ok{};
  }

 private:
  Interface& interface_at(size_t position, std::string_view name) {
    if (position < interfaces_.size() && interfaces_[position].name == name) return interfaces_[position];
    for (Interface& interface : interfaces_)
      if (interface.name == name) return interface;
    Interface added;
    added.name = name;
    added.wanted = wanted_.empty() ? name != "lo" : std::find(wanted_.begin(), wanted_.end(), name) != wanted_.end();
    return interfaces_.emplace_back(std::move(added));
  }

  // Those whose end would be missed: virtual ones come and go with containers.
  bool is_counted(const Interface& interface) const {
    if (interface.key == 0) return false;
    return !wanted_.empty() || (!interface.stacked && !(interface.is_virtual && with_device_));
  }

  void collect_interface(Sample& sample, Interface& interface, std::string_view fields) {
    Row row;
    if (!interface.wanted || !parse_fields(fields, row)) return;
    interface.presence.seen(tick_);
    if (interface.key == 0) {
      bool idle = std::all_of(row.begin(), row.end(), [](int64_t value) { return value == 0; });
      if (idle && wanted_.empty()) return;  // a named one is idle, not absent
      announce(sample, interface);
    }
    sample.add(source_nic, interface.key, row);
  }

  void announce(Sample& sample, Interface& interface) {
    std::vector<std::string> lower = lower_interfaces(root_, interface.name);
    interface.stacked = !lower.empty();
    interface.is_virtual = lower.empty() && has_no_device(root_, interface.name);
    std::string detail = interface.is_virtual ? "kind=virtual" : "";
    if (interface.stacked) detail = cat("lower=", join(lower, ","));
    if (interface.stacked) stacked_.push_back(interface.name);
    if (interface.is_virtual) virtual_.push_back(interface.name);
    if (!interface.stacked && !interface.is_virtual && interface.name != "lo") with_device_ = true;
    if (std::erase(missing_, interface.name) > 0)
      sample.notes.push_back(cat("interface ", interface.name, " is there now"));
    interface.key = keys_.add(sample, source_nic, interface.name, detail);
  }

  void say_what_is_stacked(Sample& sample) {
    const bool beside = with_device_ && !virtual_.empty();
    if (said_stacked_ || !wanted_.empty() || (stacked_.empty() && !beside)) return;
    said_stacked_ = true;
    std::string text;
    if (!stacked_.empty())
      text = cat("interfaces stacked on others: ", join(stacked_, ", "), "; only the interfaces beneath are summed");
    if (beside)
      text += cat(text.empty() ? "" : "; ", "virtual interfaces: ", join(virtual_, ", "),
                  "; only those with a device are summed");
    sample.notes.push_back(text + ", unless cluster.toml names nics, so that nothing counts twice");
  }

  void say_what_is_special(Sample& sample) {
    if (said_rest_) return;
    said_rest_ = true;
    for (const std::string& name : wanted_) {
      bool there =
          std::any_of(interfaces_.begin(), interfaces_.end(), [&](const Interface& i) { return i.name == name; });
      if (there) continue;
      sample.notes.push_back(cat("interface ", name, " is not on this node"));
      missing_.push_back(name);
    }
    std::vector<std::string> rdma = folder_names(root_ + "/sys/class/infiniband");
    if (!rdma.empty())
      sample.notes.push_back(cat("RDMA traffic of ", join(rdma, ", "), " is not in the network and tcp counters"));
  }

  std::string root_;
  KeyCounter& keys_;
  ProcFile file_;
  std::vector<std::string> wanted_;  // empty: all but lo
  std::deque<Interface> interfaces_;
  std::vector<std::string> stacked_;
  std::vector<std::string> virtual_;
  std::vector<std::string> missing_;  // named, and not there at the start
  uint32_t tick_ = 0;
  bool with_device_ = false;  // at least one interface is neither virtual nor stacked
  bool said_stacked_ = false;
  bool said_rest_ = false;
};

Status probe(const SampleEnv& env) {
  ProcFile file(env.root + "/proc/net/dev");
  RETURN_IF_ERROR(file.read());
  return Ok{};
}

}  // namespace

extern const CollectorInfo collector_network;
const CollectorInfo collector_network = {
    .name = "network",
    .summary = "bytes, packets and drops of network interfaces",
    .source = &source_nic,
    .needs = "",
    .make = [](const SampleEnv& env, KeyCounter& keys) -> std::unique_ptr<Collector> {
      return std::make_unique<NetworkCollector>(env, keys);
    },
    .probe = probe,
};

}  // namespace culprit
