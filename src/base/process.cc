#include "base/process.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "base/clock.h"
#include "base/fd.h"
#include "base/procfile.h"
#include "base/text.h"
#include "base/units.h"

namespace culprit {

namespace {

constexpr int kThreads = 20;                  // field of /proc/PID/stat
constexpr int kStartTime = 22;                // likewise
constexpr int64_t kLookEvery = 5 * kNsPerMs;  // while waiting for an end

std::string read_stat(pid_t pid, const std::string& proc) {
  auto text = read_file(cat(proc, "/", pid, "/stat"));
  return text ? *text : "";
}

bool is_same(const ProcessId& process, const std::string& stat) {
  int64_t start = 0;
  return stat_field(stat, kStartTime, start) && start == process.start_ticks;
}

char state_in(const ProcessId& process, const std::string& stat) {
  if (!is_same(process, stat)) return 0;
  std::string_view rest = std::string_view(stat).substr(stat.rfind(')') + 1);
  return next_word(rest).front();
}

}  // namespace

bool stat_field(std::string_view stat, int number, int64_t& out) {
  size_t end_of_name = stat.rfind(')');
  if (end_of_name == std::string_view::npos || number < 3) return false;
  stat.remove_prefix(end_of_name + 1);
  for (int field = 3; field < number; ++field)
    if (next_word(stat).empty()) return false;
  return next_number(stat, out);
}

Result<ProcessId> identify_process(pid_t pid, const std::string& proc) {
  ProcessId process{pid, 0};
  if (!stat_field(read_stat(pid, proc), kStartTime, process.start_ticks))
    return system_error(cat("there is no process ", pid), ESRCH);
  return process;
}

char process_state(const ProcessId& process, const std::string& proc) {
  return state_in(process, read_stat(process.pid, proc));
}

// A first thread that has ended is shown as a zombie as long as others run.
bool is_alive(const ProcessId& process, const std::string& proc) {
  std::string stat = read_stat(process.pid, proc);
  char state = state_in(process, stat);
  int64_t threads = 0;
  if (state == 'Z') return stat_field(stat, kThreads, threads) && threads > 1;
  return state != 0 && state != 'X';
}

// By a descriptor of the process, so that a number that changes hands between the look and the signal does no harm.
// Where there are none (before Linux 5.3, or a container forbids them), right after the look.
bool signal_process(const ProcessId& process, int signal_number) {
  auto forbidden = [] { return errno == ENOSYS || errno == EPERM; };
  Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  if (!handle.valid() && !forbidden()) return false;
  if (!is_alive(process)) return false;
  if (handle.valid()) {
    if (::syscall(SYS_pidfd_send_signal, handle.get(), signal_number, nullptr, 0) == 0) return true;
    if (!forbidden()) return false;
  }
  return is_alive(process) && ::kill(process.pid, signal_number) == 0;
}

bool wait_gone(const ProcessId& process, int64_t timeout_ns) {
  int64_t end = monotonic_now_ns() + timeout_ns;
  while (is_alive(process)) {
    if (monotonic_now_ns() >= end) return false;
    timespec pause{0, kLookEvery};
    ::nanosleep(&pause, nullptr);
  }
  return true;
}

std::string format_process(const ProcessId& process) {
  return cat(process.pid, " ", process.start_ticks);
}

Result<ProcessId> parse_process(std::string_view text) {
  std::string_view rest = trim(text);
  int64_t pid = 0;
  ProcessId process;
  if (!next_number(rest, pid) || !next_number(rest, process.start_ticks) || pid <= 0 || pid > INT32_MAX ||
      !trim(rest).empty())
    return input_error(cat("not a process number with its start time: ", printable(text)));
  process.pid = static_cast<pid_t>(pid);
  return process;
}

}  // namespace culprit
