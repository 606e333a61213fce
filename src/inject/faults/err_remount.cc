// HotDep'09 err-remount: the kernel makes the file system that holds a server's data read-only in an emergency. The
// paper asks for it with sysrq, for all file systems of the machine; `mount -o remount,abort` does the same to one
// ext4: its journal is aborted, as after an error of the disk. There is no way back but unmount, check and mount.
#include "base/subprocess.h"
#include "base/text.h"
#include "base/units.h"
#include "inject/diskfs.h"
#include "inject/service.h"

namespace culprit {

namespace {

constexpr int64_t kTimeout = 60 * kNsPerSecond;

Status prepare(FaultWork& work) {
  ASSIGN_OR_RETURN(Mount mount, chosen_mount(work));
  RETURN_IF_ERROR(check_can_unmount(work));
  if (mount.type != "ext4")
    return unsupported_error(
        cat("err_remount: the ", mount.type, " at ", mount.target, " has no read-only state for emergencies"),
        "it needs ext4 below the server, as in: culprit lab up --format ext4; xfs shuts down "
        "instead, which device_failure shows");
  ASSIGN_OR_RETURN(FsState state, look_at_fs(work, mount));
  if (state != FsState::fine) return unsupported_error(cat("the file system at ", mount.target, " does not work now"));
  note_mount(work, mount);
  return note_services(work, Need::none);
}

Status apply(FaultWork& work) {
  ASSIGN_OR_RETURN(Mount mount, noted_mount(work));
  RETURN_IF_ERROR(sync_fs(mount));
  ASSIGN_OR_RETURN(Output output, run_command({"mount", "-o", "remount,abort", mount.target}, kTimeout));
  ASSIGN_OR_RETURN(FsState state, look_at_fs(work, mount));
  if (state == FsState::down) return Ok{};
  return unsupported_error(cat("mount -o remount,abort ", mount.target, " had no effect (exit code ", output.exit_code,
                               "): ", printable(trim(output.err), 200)));
}

Status undo(const FaultWork& work) {
  return bring_back(work, Remount::if_down);
}

}  // namespace

extern const FaultInfo fault_err_remount;
const FaultInfo fault_err_remount = {
    .name = "err_remount",
    .summary = "the file system that holds the server's data turns read-only in an emergency (EROFS); ext4 only",
    .kind = FaultClass::restart,
    .held = HeldBy::journal,
    .params = {kDiskParam, kRestartParam},
    .tools = {"mount", "e2fsck"},
    .needs_disk = true,
    .prepare = prepare,
    .apply = apply,
    .undo = undo,
    .active = needs_bringing_back,
};

}  // namespace culprit
