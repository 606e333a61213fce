#include "capture/node_target.h"

#include <unistd.h>

#include <algorithm>

#include "base/fd.h"
#include "base/text.h"
#include "capture/processes.h"
#include "capture/ptrace/task_status.h"
#include "capture/storage_device.h"

namespace culprit {

namespace {

constexpr int64_t kMostCommandLine = 1 << 20;  // the kernel's own limit is 2 MB; daemons need less
constexpr size_t kMostStorage = 256;           // folders on one node
constexpr size_t kShownProcesses = 8;          // then only their number

template <class T>
void add_once(std::vector<T>& list, T value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(std::move(value));
}

std::string comm_of(pid_t pid) {
  auto text = read_file(cat("/proc/", pid, "/comm"), 4096);
  return text ? printable(trim(*text), 20) : "?";
}

// Only of our own namespace: what a lab's node lacks runs on the lab's other nodes, and that is as it should be.
std::string missing_text(const CaptureNode& node) {
  std::string names = join(node.newcomers, ", ");
  bool ours = node.network_namespace == network_namespace_of(::getpid());
  std::vector<ProcessId> elsewhere = ours ? processes_named(node.newcomers, 0) : std::vector<ProcessId>();
  if (elsewhere.empty()) return cat(names, ", which does not run yet");
  pid_t first = elsewhere.front().pid;
  if (network_namespace_of(first) == 0) return cat(names, ", which only root can look at (process ", first, ")");
  return cat(names, ", which runs in another network namespace only (process ", first,
             ", a container's?): --pid takes such a process");
}

}  // namespace

std::vector<std::string> option_values(std::string_view cmdline, std::string_view option) {
  std::vector<std::string> values;
  std::vector<std::string_view> words = split(cmdline, '\0');
  for (size_t i = 0; i < words.size(); ++i) {
    std::string_view value;
    if (words[i] == option) {
      value = i + 1 < words.size() ? words[++i] : "";
    } else if (words[i].starts_with(option) && words[i].substr(option.size()).starts_with('=')) {
      value = words[i].substr(option.size() + 1);
    }
    if (!value.empty()) values.emplace_back(value);
  }
  return values;
}

void find_storage(const std::vector<ProcessId>& processes, std::string_view option, pid_t root, Surroundings& around) {
  if (around.storage.empty() && !option.empty()) {
    for (const ProcessId& process : processes) {
      auto cmdline = read_file(cat("/proc/", process.pid, "/cmdline"), kMostCommandLine);
      if (!cmdline) continue;
      for (std::string& folder : option_values(*cmdline, option))
        if (folder.starts_with('/') && around.storage.size() < kMostStorage)
          add_once(around.storage, std::move(folder));
    }
  }
  const std::vector<std::string> named = around.storage;
  for (const std::string& folder : named) {
    pid_t viewer = root;
    auto device = storage_device(viewer, folder);
    if (!device && !processes.empty()) {
      viewer = processes.front().pid;  // in its own mounts
      device = storage_device(viewer, folder);
    }
    if (!device) continue;
    add_once(around.devices, *device);
    std::string real = real_folder(viewer, folder);
    if (real.size() > 1 && around.storage.size() < kMostStorage) add_once(around.storage, std::move(real));
  }
}

Result<std::vector<ProcessId>> asked_processes(const NodeOrder& order) {
  std::vector<ProcessId> found;
  if (!order.cgroup.empty()) {
    ASSIGN_OR_RETURN(found, processes_of_cgroup(order.cgroup));
    std::erase_if(found, [](const ProcessId& process) { return process.pid == ::getpid(); });
    if (found.empty())
      return input_error(cat("no process is in the cgroup ", printable(order.cgroup)), "is its path right?");
  }
  for (pid_t pid : order.pids) {
    if (pid == ::getpid()) return usage_error("culprit cannot capture itself");
    auto status = task_status(pid);  // a thread's number has a folder in /proc, too
    if (status && status->process != pid)
      return usage_error(cat(pid, " is a thread of process ", status->process), cat("use --pid ", status->process));
    ASSIGN_OR_RETURN(ProcessId process, identify_process(pid));
    found.push_back(process);
  }
  return found;
}

Result<CaptureNode> find_target(const NodeOrder& order, pid_t root) {
  CaptureNode node;
  node.name = order.name;
  node.around = order.around;
  if (order.names_processes()) {
    node.cgroup = order.cgroup;
    ASSIGN_OR_RETURN(node.processes, asked_processes(order));
    find_storage(node.processes, order.storage_option, root, node.around);
    return node;
  }
  node.network_namespace = network_namespace_of(root);
  if (node.network_namespace == 0)
    return system_error(cat("cannot see the namespaces of ", order.name), 0,
                        ::geteuid() == 0 ? "is it still there?" : "run as root");
  node.newcomers = order.daemons;
  node.all_newcomers = order.daemons.empty();
  node.processes = node.all_newcomers ? processes_in(node.network_namespace)
                                      : processes_named(order.daemons, node.network_namespace);
  // The keeper only waits, and we ourselves would be a loop.
  std::erase_if(node.processes,
                [&](const ProcessId& process) { return process.pid == root || process.pid == ::getpid(); });
  find_storage(node.processes, order.storage_option, root, node.around);
  return node;
}

std::string target_text(const CaptureNode& node) {
  if (node.all_newcomers) return "every process of the node";
  if (node.processes.empty()) return node.newcomers.empty() ? "nothing" : missing_text(node);
  std::string text;
  std::string last;
  for (size_t i = 0; i < node.processes.size() && i < kShownProcesses; ++i) {
    std::string comm = comm_of(node.processes[i].pid);
    text += comm == last ? ", " : cat(text.empty() ? "" : "; ", comm, " ");
    text += std::to_string(node.processes[i].pid);
    last = comm;
  }
  if (node.processes.size() > kShownProcesses) text += cat(" and ", node.processes.size() - kShownProcesses, " more");
  return text;
}

}  // namespace culprit
