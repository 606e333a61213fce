// HotDep'09 err-fsize: the server's daemons may write no file beyond a size: EFBIG, and the signal SIGXFSZ, of which
// most die. The paper starts a server under the limit; here the soft limit of a running one is lowered. The end of the
// fault raises it again and starts those that died.
#include "inject/limits.h"

namespace culprit {

namespace {

constexpr int64_t kMostBytes = int64_t{1} << 60;

Result<rlim_t> choose(const FaultWork& work, const ProcessId&) {
  ASSIGN_OR_RETURN(int64_t size, bytes_param(work.part, "size", 0, kMostBytes));
  return static_cast<rlim_t>(size);
}

Status prepare(FaultWork& work) {
  RETURN_IF_ERROR(bytes_param(work.part, "size", 0, kMostBytes));
  return note_services(work, Need::one);
}

Status apply(FaultWork& work) {
  return lower_limits(work, RLIMIT_FSIZE, choose);
}

Status undo(const FaultWork& work) {
  RETURN_IF_ERROR(raise_limits(work, RLIMIT_FSIZE));
  return restart_services(work);
}

Result<bool> active(const FaultWork& work) {
  ASSIGN_OR_RETURN(bool lowered, limits_are_lowered(work, RLIMIT_FSIZE));
  ASSIGN_OR_RETURN(std::vector<Service> missing, missing_services(work));
  return lowered || !missing.empty();
}

}  // namespace

extern const FaultInfo fault_err_fsize;
const FaultInfo fault_err_fsize = {
    .name = "err_fsize",
    .summary = "the server's daemons can write no file beyond a size (EFBIG, SIGXFSZ)",
    .kind = FaultClass::restart,
    .held = HeldBy::journal,
    .params = {{"size", "BYTES", "128MB", "the largest file they may write"}, kRestartParam},
    .needs_daemons = true,
    .prepare = prepare,
    .apply = apply,
    .undo = undo,
    .active = active,
};

}  // namespace culprit
