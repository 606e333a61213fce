// The file system's daemons of a server are stopped (SIGSTOP): their connections stay open and nobody answers. A
// stopped process stays stopped whoever dies, so the guard is the lease.
#include <dirent.h>
#include <signal.h>

#include <ctime>
#include <memory>

#include "base/clock.h"
#include "base/fd.h"
#include "base/procfile.h"
#include "base/text.h"
#include "base/units.h"
#include "inject/service.h"

namespace culprit {

namespace {

constexpr int64_t kTimeout = 10 * kNsPerSecond;  // a thread in the middle of I/O stops after it
constexpr int64_t kLookEvery = 5 * kNsPerMs;

struct Threads {
  int stopped = 0;
  int running = 0;
};

// Threads stop one by one, and one that waits for a disk stops only afterwards: so all of them are looked at.
Threads look_at_threads(const FaultWork& work, const ProcessId& process) {
  Threads threads;
  if (!is_alive(process, work.proc)) return threads;
  std::string path = cat(work.proc, "/", process.pid, "/task");
  std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  if (!folder) return threads;
  while (const dirent* entry = ::readdir(folder.get())) {
    if (!parse_int(entry->d_name)) continue;
    auto stat = read_file(cat(path, "/", entry->d_name, "/stat"));
    if (!stat || stat->rfind(')') == std::string::npos) continue;  // it has just ended
    std::string_view rest = std::string_view(*stat).substr(stat->rfind(')') + 1);
    std::string_view state = next_word(rest);
    if (state == "T")
      ++threads.stopped;
    else if (state != "Z" && state != "X")
      ++threads.running;
  }
  return threads;
}

Result<Threads> look_at_all(const FaultWork& work) {
  ASSIGN_OR_RETURN(std::vector<ProcessId> processes, noted_processes(work));
  Threads all;
  for (const ProcessId& process : processes) {
    Threads one = look_at_threads(work, process);
    all.stopped += one.stopped;
    all.running += one.running;
  }
  return all;
}

// Sends the signal to all, and waits until `done` holds.
Status signal_all(const FaultWork& work, int number, bool (*done)(const Threads&), std::string_view complaint) {
  ASSIGN_OR_RETURN(std::vector<ProcessId> processes, noted_processes(work));
  for (const ProcessId& process : processes) signal_process(process, number);
  int64_t end = monotonic_now_ns() + kTimeout;
  while (true) {
    ASSIGN_OR_RETURN(Threads threads, look_at_all(work));
    if (done(threads)) return Ok{};
    if (monotonic_now_ns() >= end) return unsupported_error(std::string(complaint));
    timespec pause{0, kLookEvery};
    ::nanosleep(&pause, nullptr);
  }
}

Status prepare(FaultWork& work) {
  RETURN_IF_ERROR(note_services(work, Need::one));
  ASSIGN_OR_RETURN(Threads threads, look_at_all(work));
  if (threads.stopped == 0) return Ok{};
  return unsupported_error(cat("a daemon on ", work.part.node, " is stopped already"),
                           "somebody else did it: kill -CONT it first, or it would go on at the end of this fault");
}

Status apply(FaultWork& work) {
  return signal_all(
      work, SIGSTOP, [](const Threads& threads) { return threads.stopped > 0 && threads.running == 0; },
      "the daemons did not stop");
}

Status undo(const FaultWork& work) {
  return signal_all(
      work, SIGCONT, [](const Threads& threads) { return threads.stopped == 0; }, "the daemons do not go on");
}

Result<bool> active(const FaultWork& work) {
  ASSIGN_OR_RETURN(Threads threads, look_at_all(work));
  return threads.stopped > 0;
}

}  // namespace

extern const FaultInfo fault_hang;
const FaultInfo fault_hang = {
    .name = "hang",
    .summary = "the server's daemons are stopped and answer nobody; they go on at the end",
    .kind = FaultClass::leased,
    .held = HeldBy::journal,
    .needs_daemons = true,
    .prepare = prepare,
    .apply = apply,
    .undo = undo,
    .active = active,
};

}  // namespace culprit
