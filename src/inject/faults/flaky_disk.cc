// A disk of which some requests fail (EIO), by the seed's choice. What a local file system does with an error depends
// on where it hits: data, or its journal, and it may show only later. So the end of the fault, after an error, unmounts
// it, checks it, mounts it again and starts the daemons again.
#include "base/text.h"
#include "inject/diskfs.h"
#include "inject/service.h"
#include "inject/virtual_disk.h"

namespace culprit {

namespace {

constexpr std::string_view kEffect = "flaky";

Status ask(const FaultWork& work) {
  ASSIGN_OR_RETURN(double probability, number_param(work.part, "probability", 0, 1));
  return set_disk_effect(work, kEffect, cat("probability=", std::to_string(probability), " seed=", work.part.seed));
}

Status prepare(FaultWork& work) {
  RETURN_IF_ERROR(number_param(work.part, "probability", 0, 1));
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
  ASSIGN_OR_RETURN(bool flaky, disk_effect_is_active(work, kEffect));
  if (flaky) return true;
  return needs_bringing_back(work);
}

}  // namespace

extern const FaultInfo fault_flaky_disk;
const FaultInfo fault_flaky_disk = {
    .name = "flaky_disk",
    .summary = "requests of the server's disk fail with a probability (EIO)",
    .kind = FaultClass::restart,
    .held = HeldBy::journal,
    .params = {{"probability", "FRACTION", "0.01", "the share of the requests that fail"}, kDiskParam, kRestartParam},
    .needs_virtual_disk = true,
    .needs_disk = true,
    .prepare = prepare,
    .apply = apply,
    .prolong = ask,
    .undo = undo,
    .active = active,
};

}  // namespace culprit
