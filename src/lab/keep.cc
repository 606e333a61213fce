#include "lab/keep.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "hosts/keeper.h"
#include "lab/detach.h"

namespace culprit {

namespace {

constexpr int kNamespaces = CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWPID | CLONE_NEWIPC;
constexpr int64_t kStartTime = 10 * kNsPerSecond;

Status mount_at(const char* source, const char* target, const char* type, unsigned long flags, const char* data) {
  if (::mount(source, target, type, flags, data) == 0) return Ok{};
  return system_error(cat("cannot mount ", type ? type : source, " at ", target), errno);
}

Status make_folder(const char* path) {
  if (::mkdir(path, 0755) == 0 || errno == EEXIST) return Ok{};
  return system_error(cat("cannot make ", path), errno);
}

// The node's own view: processes, run-time files, and mount points; the rest of the tree is the machine's. The lab's
// folder lies below /run, so it is held open while /run is covered.
Status make_mounts(const std::string& folder) {
  RETURN_IF_ERROR(mount_at("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
  Fd shared(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!shared.valid()) return system_error(cat("cannot open ", folder), errno);
  RETURN_IF_ERROR(mount_at("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr));
  RETURN_IF_ERROR(mount_at("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755"));
  RETURN_IF_ERROR(make_folder("/run/culprit-lab"));
  RETURN_IF_ERROR(make_folder("/run/lock"));
  RETURN_IF_ERROR(mount_at(cat("/proc/self/fd/", shared.get()).c_str(), "/run/culprit-lab", nullptr, MS_BIND, nullptr));
  RETURN_IF_ERROR(mount_at("tmpfs", "/mnt", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755"));
  RETURN_IF_ERROR(make_folder("/mnt/disk"));
  return make_folder("/mnt/lab");
}

[[noreturn]] void reap_for_ever() {
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &children, nullptr);
  for (;;) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    int number = 0;
    ::sigwait(&children, &number);
  }
}

}  // namespace

Error keep_node(const std::string& lab, const std::string& node, const std::string& folder) {
  std::string host = cat(lab, "-", node);
  if (::sethostname(host.c_str(), host.size()) != 0) return system_error("cannot set the host name", errno);
  if (Status made = make_mounts(folder); !made) return std::move(made).error();
  if (::chdir("/") != 0) return system_error("cannot go to /", errno);
  if (Status said = write_all(STDOUT_FILENO, "ready\n", "stdout"); !said) return std::move(said).error();
  Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int fd : {0, 1, 2}) ::dup2(null.get(), fd);
  reap_for_ever();
}

Status start_keeper(const Lab& lab, const LabNode& node) {
  std::error_code failed;
  std::filesystem::create_directories(lab.node_folder(node), failed);
  std::filesystem::create_directories(kKeeperFolder, failed);
  std::string program = std::filesystem::read_symlink("/proc/self/exe", failed).string();
  if (failed) return system_error("cannot find our own program", failed.value());
  ASSIGN_OR_RETURN(ProcessId keeper,
                   start_detached({program, "lab", "keep", lab.plan().name, node.name, lab.node_folder(node)},
                                  kNamespaces, cat(lab.folder(), "/keepers.log"), kStartTime));
  return write_file_atomically(keeper_file(node.ns), format_process(keeper));
}

std::vector<ProcessId> find_keepers(std::string_view lab) {
  std::string wanted = cat(std::string_view("\0lab\0keep\0", 10), lab, '\0');
  std::vector<ProcessId> found;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failed)) {
    auto pid = parse_int(entry.path().filename().string());
    if (!pid) continue;
    auto line = read_file(cat(entry.path().string(), "/cmdline"));
    if (!line || line->find(wanted) == std::string::npos) continue;
    if (auto process = identify_process(static_cast<pid_t>(*pid)); process && is_alive(*process))
      found.push_back(*process);
  }
  return found;
}

}  // namespace culprit
