// HotDep'09 err-vmsize: the server's daemons get no more memory from the system (ENOMEM), at which many abort. Without
// a size the limit is what each has now, so that the next growth fails. The end of the fault raises the limit again and
// starts those that died.
#include <unistd.h>

#include "base/fd.h"
#include "base/procfile.h"
#include "base/text.h"
#include "inject/limits.h"

namespace culprit {

namespace {

constexpr int64_t kMostBytes = int64_t{1} << 60;

// The size of its address space now: the first number of /proc/PID/statm, in pages.
Result<rlim_t> size_now(const FaultWork& work, const ProcessId& process) {
  ASSIGN_OR_RETURN(std::string text, read_file(cat(work.proc, "/", process.pid, "/statm")));
  std::string_view rest = text;
  int64_t pages = 0;
  if (!next_number(rest, pages) || pages < 0)
    return input_error(cat("process ", process.pid, " does not say its size"));
  return static_cast<rlim_t>(pages) * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

Result<rlim_t> choose(const FaultWork& work, const ProcessId& process) {
  if (word_param(work.part, "size").empty()) return size_now(work, process);
  ASSIGN_OR_RETURN(int64_t size, bytes_param(work.part, "size", 0, kMostBytes));
  return static_cast<rlim_t>(size);
}

Status prepare(FaultWork& work) {
  if (!word_param(work.part, "size").empty()) RETURN_IF_ERROR(bytes_param(work.part, "size", 0, kMostBytes));
  return note_services(work, Need::one);
}

Status apply(FaultWork& work) {
  return lower_limits(work, RLIMIT_AS, choose);
}

Status undo(const FaultWork& work) {
  RETURN_IF_ERROR(raise_limits(work, RLIMIT_AS));
  return restart_services(work);
}

Result<bool> active(const FaultWork& work) {
  ASSIGN_OR_RETURN(bool lowered, limits_are_lowered(work, RLIMIT_AS));
  ASSIGN_OR_RETURN(std::vector<Service> missing, missing_services(work));
  return lowered || !missing.empty();
}

}  // namespace

extern const FaultInfo fault_err_vmsize;
const FaultInfo fault_err_vmsize = {
    .name = "err_vmsize",
    .summary = "the server's daemons get no more address space (ENOMEM, often SIGABRT)",
    .kind = FaultClass::restart,
    .held = HeldBy::journal,
    .params = {{"size", "BYTES", "", "the largest address space they may have; without it, what each has now"},
               kRestartParam},
    .needs_daemons = true,
    .prepare = prepare,
    .apply = apply,
    .undo = undo,
    .active = active,
};

}  // namespace culprit
