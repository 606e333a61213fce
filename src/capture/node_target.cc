#include "capture/node_target.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.h"
#include "base/text.h"
#include "capture/processes.h"

namespace culprit {

namespace {

constexpr int64_t kMostCommandLine = 1 << 20;  // the kernel's own limit is 2 MB; daemons need less
constexpr size_t kMostStorage = 256;           // folders on one node
constexpr size_t kShownProcesses = 8;          // then only their number

// As the kernel has it (call.h), not as stat(2) packs it.
uint64_t device_number(dev_t device) {
  return uint64_t{major(device)} << 20 | minor(device);
}

template <class T>
void add_once(std::vector<T>& list, T value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(std::move(value));
}

std::string comm_of(pid_t pid) {
  auto text = read_file(cat("/proc/", pid, "/comm"), 4096);
  return text ? printable(trim(*text), 20) : "?";
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
  for (const std::string& folder : around.storage) {
    struct stat info {};
    if (::stat(cat("/proc/", root, "/root", folder).c_str(), &info) != 0) continue;
    add_once(around.devices, device_number(info.st_dev));
  }
}

Result<CaptureNode> find_target(const NodeOrder& order, pid_t root) {
  CaptureNode node;
  node.name = order.name;
  node.around = order.around;
  node.mount_namespace = mount_namespace_of(root);
  if (node.mount_namespace == 0)
    return system_error(cat("cannot see the namespaces of ", order.name), 0,
                        ::geteuid() == 0 ? "is it still there?" : "run as root");
  node.newcomers = order.daemons;
  node.all_newcomers = order.daemons.empty();
  node.processes =
      node.all_newcomers ? processes_in(node.mount_namespace) : processes_named(order.daemons, node.mount_namespace);
  // The keeper only waits, and we ourselves would be a loop.
  std::erase_if(node.processes,
                [&](const ProcessId& process) { return process.pid == root || process.pid == ::getpid(); });
  find_storage(node.processes, order.storage_option, root, node.around);
  return node;
}

std::string target_text(const CaptureNode& node) {
  if (node.all_newcomers) return "every process of the node";
  if (node.processes.empty())
    return node.newcomers.empty() ? "nothing" : cat(join(node.newcomers, ", "), ", which does not run yet");
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
