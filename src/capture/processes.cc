// One pass over /proc per question: nothing is kept, because every answer is old when it is given.
#include "capture/processes.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <set>
#include <string_view>
#include <system_error>

#include "base/fd.h"
#include "base/procfile.h"
#include "base/text.h"

namespace culprit {

namespace {

constexpr size_t kMostComm = 15;               // characters of a name that the kernel keeps
constexpr int kParent = 4;                     // field of /proc/PID/stat
constexpr int kFlags = 9;                      // likewise
constexpr int64_t kKernelThread = 0x00200000;  // PF_KTHREAD among them
constexpr const char* kCgroups = "/sys/fs/cgroup";
constexpr size_t kMostGroups = 100000;  // folders below one group; more is a loop

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// Entries that are numbers: processes of /proc, threads of /proc/PID/task.
std::vector<pid_t> numbers_in(const std::string& path) {
  std::vector<pid_t> numbers;
  std::unique_ptr<DIR, CloseFolder> folder(::opendir(path.c_str()));
  if (!folder) return numbers;
  while (const dirent* entry = ::readdir(folder.get())) {
    auto number = parse_int(entry->d_name);
    if (number && *number > 0 && *number <= INT32_MAX) numbers.push_back(static_cast<pid_t>(*number));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::string comm_of(pid_t pid, const std::string& proc) {
  auto text = read_file(cat(proc, "/", pid, "/comm"), 4096);
  return text ? std::string(text->substr(0, text->find('\n'))) : std::string();
}

bool is_kernel_thread(pid_t pid, const std::string& proc) {
  auto stat = read_file(cat(proc, "/", pid, "/stat"), 65536);
  int64_t flags = 0;
  return !stat || !stat_field(*stat, kFlags, flags) || (flags & kKernelThread) != 0;
}

void keep_if_alive(pid_t pid, const std::string& proc, std::vector<ProcessId>& out) {
  auto process = identify_process(pid, proc);
  if (process && is_alive(*process, proc)) out.push_back(*process);
}

// One line per process. A process that has left since is skipped.
void add_members(const std::string& file, std::vector<ProcessId>& out) {
  auto text = read_file(file);
  if (!text) return;
  std::string_view rest = *text;
  std::string_view line;
  while (next_line(rest, line)) {
    auto pid = parse_int(trim(line));
    if (pid && *pid > 0 && *pid <= INT32_MAX) keep_if_alive(static_cast<pid_t>(*pid), "/proc", out);
  }
}

}  // namespace

std::vector<pid_t> threads_of(pid_t pid, const std::string& proc) {
  return numbers_in(cat(proc, "/", pid, "/task"));
}

uint64_t network_namespace_of(pid_t pid, const std::string& proc) {
  struct stat info {};
  if (::stat(cat(proc, "/", pid, "/ns/net").c_str(), &info) == 0) return info.st_ino;
  if (errno != ENOENT) return 0;
  for (pid_t tid : threads_of(pid, proc))  // a first thread that ended before the others shows none
    if (::stat(cat(proc, "/", pid, "/task/", tid, "/ns/net").c_str(), &info) == 0) return info.st_ino;
  return 0;
}

std::vector<ProcessId> processes_named(const std::vector<std::string>& names, uint64_t network_namespace,
                                       const std::string& proc) {
  std::set<std::string> wanted;
  for (const std::string& name : names) wanted.insert(name.substr(0, kMostComm));
  std::vector<ProcessId> found;
  for (pid_t pid : numbers_in(proc)) {
    const std::string comm = comm_of(pid, proc);
    if (!wanted.contains(comm.substr(0, comm.find('/')))) continue;  // some append their main thread's name
    if (network_namespace != 0 && network_namespace_of(pid, proc) != network_namespace) continue;
    keep_if_alive(pid, proc, found);
  }
  return found;
}

std::vector<ProcessId> processes_in(uint64_t network_namespace, const std::string& proc) {
  std::vector<ProcessId> found;
  if (network_namespace == 0) return found;
  for (pid_t pid : numbers_in(proc))
    if (network_namespace_of(pid, proc) == network_namespace && !is_kernel_thread(pid, proc))
      keep_if_alive(pid, proc, found);
  return found;
}

// Folder by folder: a group that vanishes or cannot be opened while we look costs nobody but its own.
std::vector<ProcessId> members_below(const std::string& folder) {
  std::vector<ProcessId> found;
  std::vector<std::string> groups = {folder};
  for (size_t i = 0; i < groups.size(); ++i) {
    add_members(groups[i] + "/cgroup.procs", found);
    std::error_code error;
    for (std::filesystem::directory_iterator it(groups[i], error), end; !error && it != end; it.increment(error)) {
      std::error_code ignored;
      bool is_group = it->symlink_status(ignored).type() == std::filesystem::file_type::directory;
      if (is_group && groups.size() < kMostGroups) groups.push_back(it->path().string());
    }
  }
  return found;
}

Result<std::vector<ProcessId>> processes_of_cgroup(const std::string& path) {
  std::string folder = path.starts_with("/sys/") ? path : cat(kCgroups, path.starts_with("/") ? "" : "/", path);
  if (!path_exists(folder + "/cgroup.procs"))
    return input_error(cat(printable(path, 200), " is not a control group"), "name a folder below /sys/fs/cgroup");
  return members_below(folder);
}

// By everybody's parent, one pass: /proc/PID/task/TID/children is not in every kernel.
std::vector<ProcessId> with_descendants(const std::vector<ProcessId>& processes, const std::string& proc) {
  struct Link {
    pid_t pid;
    int64_t parent;
  };
  std::vector<Link> links;
  if (processes.empty()) return {};
  for (pid_t pid : numbers_in(proc)) {
    auto stat = read_file(cat(proc, "/", pid, "/stat"), 65536);
    int64_t parent = 0;
    if (stat && stat_field(*stat, kParent, parent)) links.push_back({pid, parent});
  }
  std::vector<ProcessId> family = processes;
  std::set<int64_t> known;
  for (const ProcessId& process : processes) known.insert(process.pid);
  for (size_t i = 0; i < family.size(); ++i) {
    if (!is_alive(family[i], proc)) continue;  // the children are those of whoever has its number now
    for (const Link& link : links)
      if (link.parent == family[i].pid && known.insert(link.pid).second) keep_if_alive(link.pid, proc, family);
  }
  return family;
}

}  // namespace culprit
