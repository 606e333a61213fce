// PFault a-DevFail: a server's disk is gone for its file system, every request fails. Healing the disk is not enough:
// the local file system has been given up by the kernel meanwhile (xfs: shut down, ext4: read-only), so the end of the
// fault unmounts it, checks it, mounts it again and starts the daemons again. Data that was on the disk is still there.
#include "inject/diskfs.h"
#include "inject/service.h"
#include "inject/virtual_disk.h"

namespace culprit {

namespace {

constexpr std::string_view kEffect = "fail";

Status ask(const FaultWork& work) {
  return set_disk_effect(work, kEffect, "");
}

Status prepare(FaultWork& work) {
  RETURN_IF_ERROR(check_can_unmount(work));
  if (auto mount = chosen_mount(work))
    note_mount(work, *mount);  // a disk without a file system has nothing to bring back
  RETURN_IF_ERROR(note_services(work, Need::none));
  return note_virtual_disk(work, kEffect);
}

Status apply(FaultWork& work) {
  return ask(work);
}

Status undo(const FaultWork& work) {
  RETURN_IF_ERROR(heal_disk_effect(work, kEffect));
  ASSIGN_OR_RETURN(bool failed, disk_has_failed_requests(work));
  return bring_back(work, failed ? Remount::always : Remount::if_down);
}

Result<bool> active(const FaultWork& work) {
  ASSIGN_OR_RETURN(bool failing, disk_effect_is_active(work, kEffect));
  if (failing) return true;
  return needs_bringing_back(work);
}

}  // namespace

extern const FaultInfo fault_device_failure;
const FaultInfo fault_device_failure = {
    .name = "device_failure",
    .summary = "every request of the server's disk fails (EIO); its file system is repaired at the end",
    .kind = FaultClass::restart,
    .held = HeldBy::journal,
    .params = {kDiskParam, kRestartParam},
    .needs_virtual_disk = true,
    .needs_disk = true,
    .prepare = prepare,
    .apply = apply,
    .prolong = ask,
    .undo = undo,
    .active = active,
};

}  // namespace culprit
