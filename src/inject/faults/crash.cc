// The file system's daemons of a server die at once. SIGKILL by default: nothing of theirs runs any more, as after a
// fault of their own. The end of the fault is their restart.
#include <signal.h>

#include <array>

#include "base/text.h"
#include "base/units.h"
#include "inject/service.h"

namespace culprit {

namespace {

constexpr int64_t kDeathTimeout = 20 * kNsPerSecond;  // in the middle of I/O nobody can die

struct SignalName {
  std::string_view name;
  int number;
};
constexpr std::array kSignals = {SignalName{"KILL", SIGKILL}, SignalName{"TERM", SIGTERM}, SignalName{"ABRT", SIGABRT},
                                 SignalName{"SEGV", SIGSEGV}, SignalName{"BUS", SIGBUS}};

Result<int> chosen_signal(const FaultPart& part) {
  std::string word = word_param(part, "signal");
  std::string_view name = word;
  if (name.starts_with("SIG")) name.remove_prefix(3);
  for (const SignalName& known : kSignals)
    if (known.name == name) return known.number;
  return usage_error(cat("crash: signal cannot be '", printable(word), "'"), "it takes KILL, TERM, ABRT, SEGV or BUS");
}

Status prepare(FaultWork& work) {
  RETURN_IF_ERROR(chosen_signal(work.part));
  return note_services(work, Need::one);
}

Status apply(FaultWork& work) {
  ASSIGN_OR_RETURN(int number, chosen_signal(work.part));
  ASSIGN_OR_RETURN(std::vector<ProcessId> processes, noted_processes(work));
  for (const ProcessId& process : processes) signal_process(process, number);
  for (const ProcessId& process : processes)
    if (!wait_gone(process, kDeathTimeout))
      return unsupported_error(cat("process ", process.pid, " survived the signal"), "try --param signal=KILL");
  return Ok{};
}

Result<bool> active(const FaultWork& work) {
  ASSIGN_OR_RETURN(std::vector<Service> missing, missing_services(work));
  return !missing.empty();
}

}  // namespace

extern const FaultInfo fault_crash;
const FaultInfo fault_crash = {
    .name = "crash",
    .summary = "the server's daemons are killed, and started again at the end",
    .kind = FaultClass::restart,
    .held = HeldBy::journal,
    .params = {{"signal", "WORD", "KILL", "how they die: KILL, TERM, ABRT, SEGV, BUS"}, kRestartParam},
    .needs_daemons = true,
    .prepare = prepare,
    .apply = apply,
    .undo = restart_services,
    .active = active,
};

}  // namespace culprit
