// A way to see system calls. One file each in backends/; all make the same events of the same program.
#pragma once

#include <bitset>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"
#include "base/result.h"
#include "calls/call.h"
#include "calls/fd_class.h"
#include "calls/syscalls.h"

namespace culprit {

using CallSet = std::bitset<kMostSyscalls>;

// A node as a capture sees it. On this machine only: a lab's nodes share its kernel; other machines capture themselves.
struct CaptureNode {
  std::string name;
  Surroundings around;
  std::vector<ProcessId> processes;  // captured with all threads and all children they will have
  // Processes that appear later are captured from their exec on: those of these names in this network namespace. Each
  // node of a lab has its own; mount namespaces would not do, because systemd gives them to single daemons.
  std::vector<std::string> newcomers;  // as in /proc/PID/comm
  bool all_newcomers = false;          // every process that execs there
  uint64_t network_namespace = 0;      // inode of /proc/PID/ns/net; 0: no newcomers
  std::string cgroup;                  // who comes into this group is captured, too; found by looking once a second

  bool expects_newcomers() const {
    return !cgroup.empty() || (network_namespace != 0 && (all_newcomers || !newcomers.empty()));
  }
};

inline constexpr std::string_view kLookedForNote =
    "new processes were looked for once a second; what they did before they were found is not in the log";

struct CaptureOptions {
  std::vector<CaptureNode> nodes;
  std::vector<std::string>
      command;        // started by the backend and captured from its first call on, for nodes[0]; may be empty
  CallSet calls;      // which are wanted; signals and ends always are
  bool sums = false;  // aggregating mode
  size_t buffer_bytes = 64 << 20;
};

// Where events go. Times are wall clock. Within a node, calls come in order of completion; an fd record comes before
// the first call that needs it.
class CaptureSink {
 public:
  virtual ~CaptureSink() = default;
  virtual void on_call(size_t node, const Call& call) = 0;
  virtual void on_fd(size_t node, FdRecord record) = 0;  // its fd_class is not set yet
  virtual void on_sum(size_t node, const CallSum& sum) = 0;
};

struct CaptureReport {
  std::vector<int64_t> lost;       // events, per CPU
  std::vector<int64_t> unseen;     // completions of AIO and io_uring, per node
  std::vector<std::string> notes;  // what the user should know
  int command_status = -1;         // of the command, as wait(2) has it; -1: none, or it still runs
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual Status start(const CaptureOptions& options) = 0;
  // Handles what has come, waiting for it at most `wait_ns`. False when every target has ended.
  virtual Result<bool> turn(CaptureSink& sink, int64_t wait_ns) = 0;
  // Detaches without harm and hands over the rest; calls that have not returned come as kUnfinished.
  virtual Result<CaptureReport> stop(CaptureSink& sink) = 0;
  // Before stop(), when nothing can be kept of it: the command that it has started must not go on unseen.
  virtual void end_command() {}
  // Both for the caller's progress line.
  virtual size_t processes_alive() const = 0;
  virtual int64_t lost_so_far() const { return 0; }
};

struct BackendInfo {
  std::string_view name;
  std::string_view summary;
  Status (*check)();  // whether it can work on this machine for this user; the error says why not
  std::unique_ptr<Backend> (*make)();
};

std::span<const BackendInfo* const> capture_backends();
Result<const BackendInfo*> find_backend(std::string_view name);
// ebpf where it can work, ptrace otherwise; `why` says why not ebpf.
Result<const BackendInfo*> best_backend(std::string& why);

}  // namespace culprit
