#include "capture/ebpf/targets.h"

#include <bpf/bpf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/text.h"
#include "capture/processes.h"
#include "capture/storage_device.h"

namespace culprit {

namespace {

constexpr int kMostLooks =
    20;  // for children; a process that forks faster than we look is followed by the probes anyway
constexpr int kLastPort = 65535;

// Who sees the node's folders under the names that its processes use.
pid_t viewer_of(const CaptureNode& node) {
  return node.processes.empty() ? ::getpid() : node.processes.front().pid;
}

std::vector<uint64_t> storage_devices(const CaptureNode& node) {
  std::vector<uint64_t> devices = node.around.devices;
  for (const std::string& folder : node.around.storage)
    if (auto device = storage_device(viewer_of(node), folder)) devices.push_back(*device);
  return devices;
}

Status put(int map, const void* key, const void* value, const char* what) {
  if (bpf_map_update_elem(map, key, value, BPF_ANY) == 0) return Ok{};
  return system_error(cat("cannot tell the probes about ", what), errno);
}

std::string root_note(std::string_view node) {
  return cat("sums of ", node, ": its storage is on the device of /, so all files on that device count as storage");
}

}  // namespace

bool has_newcomers(const CaptureNode& node) {
  return node.network_namespace != 0 && (node.all_newcomers || !node.newcomers.empty());
}

syscap_name make_comm(uint32_t node, std::string_view name) {
  syscap_name key{};
  key.node = node;
  size_t length = std::min(name.size(), sizeof key.comm - 1);
  std::memcpy(key.comm, name.data(), length);
  return key;
}

syscap_ports make_ports(const Surroundings& around) {
  syscap_ports ports{};
  ports.server = around.server;
  for (const PortRange& range : around.data_ports)
    for (int port = std::max(range.first, 1); port <= std::min(range.last, kLastPort); ++port)
      ports.bits[port / 64] |= uint64_t{1} << (port % 64);
  return ports;
}

Status Targets::describe_home(const CaptureNode& node, uint32_t index) {
  if (!has_newcomers(node)) return Ok{};
  auto space = static_cast<uint32_t>(node.network_namespace);
  syscap_home home{index, node.all_newcomers};
  if (bpf_map_update_elem(probes_.map("homes"), &space, &home, BPF_NOEXIST) != 0) {
    if (errno != EEXIST) return system_error("cannot tell the probes where newcomers appear", errno);
    notes_.push_back(cat("newcomers of ", node.name,
                         " are not followed: it shares its network namespace with another node of the capture"));
    return Ok{};
  }
  for (const std::string& name : node.newcomers) {
    syscap_name key = make_comm(index, name);
    uint32_t yes = 1;
    RETURN_IF_ERROR(put(probes_.map("names"), &key, &yes, "the names of newcomers"));
  }
  return Ok{};
}

Status Targets::describe_classes(const CaptureNode& node, uint32_t index) {
  auto root = storage_device(viewer_of(node), "/");
  bool beside_root = false;
  for (uint64_t device : storage_devices(node)) {
    syscap_device key{index, static_cast<uint32_t>(device)};
    uint32_t yes = 1;
    RETURN_IF_ERROR(put(probes_.map("devices"), &key, &yes, "the storage"));
    beside_root = beside_root || device == root;
  }
  if (beside_root) notes_.push_back(root_note(node.name));
  syscap_ports ports = make_ports(node.around);
  return put(probes_.map("ports"), &index, &ports, "the data ports");
}

Status Targets::describe_nodes(const std::vector<CaptureNode>& nodes, bool sums) {
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    RETURN_IF_ERROR(describe_home(nodes[i], i));
    if (sums) RETURN_IF_ERROR(describe_classes(nodes[i], i));
  }
  return Ok{};
}

Status Targets::add(const ProcessId& process, size_t node, bool started) {
  added_.insert(process.pid);
  if (process.pid == ::getpid()) return Ok{};  // we would record our own recording for ever
  auto key = static_cast<uint32_t>(process.pid);
  __u64 epoch = __atomic_add_fetch(&probes_.shared().epochs, 1, __ATOMIC_RELAXED);
  syscap_target target{static_cast<uint32_t>(node), started, epoch};
  count(key, 1);  // before the entry: its end is looked at only where something is counted
  if (bpf_map_update_elem(probes_.map("targets"), &key, &target, BPF_NOEXIST) != 0) {
    int error = errno;
    count(key, -1);
    if (error == EEXIST) return Ok{};  // the probes were faster
    return system_error(cat("cannot tell the probes about process ", process.pid), error);
  }
  remove_if_gone(process);
  return Ok{};
}

void Targets::count(uint32_t process, int change) {
  syscap_shared& shared = probes_.shared();
  __atomic_add_fetch(&shared.watched[process % kSyscapSlots], static_cast<__u32>(change), __ATOMIC_SEQ_CST);
  __atomic_add_fetch(&shared.alive, static_cast<__u64>(int64_t{change}), __ATOMIC_SEQ_CST);
}

// The probes did not see its end: nobody else would ever take it away, and its number goes to another.
void Targets::remove_if_gone(const ProcessId& process) {
  auto key = static_cast<uint32_t>(process.pid);
  if (!is_alive(process) && bpf_map_delete_elem(probes_.map("targets"), &key) == 0) count(key, -1);
}

Status Targets::add_families(const std::vector<CaptureNode>& nodes) {
  for (const CaptureNode& node : nodes)
    for (const ProcessId& process : node.processes) remove_if_gone(process);
  bool found = true;
  for (int look = 0; found && look < kMostLooks; ++look) {
    found = false;
    for (size_t i = 0; i < nodes.size(); ++i) {
      for (const ProcessId& process : with_descendants(nodes[i].processes)) {
        if (added_.contains(process.pid)) continue;
        found = true;
        RETURN_IF_ERROR(add(process, i, true));
      }
    }
  }
  return Ok{};
}

}  // namespace culprit
