// Somebody else uses the disk: load at the virtual disk that the server does not see, only feels (001, section 9, where
// a process reads through SCSI generic from a shared disk). It gets a share of the spindle's time, also while the
// server's own queue is full.
#include "base/text.h"
#include "inject/fault.h"
#include "inject/virtual_disk.h"

namespace culprit {

namespace {

constexpr std::string_view kEffect = "hidden";
constexpr double kMostShare = 0.95;  // with all of the time the disk would be hung, which is another fault
constexpr int64_t kSmallest = 4096;
constexpr int64_t kLargest = int64_t{64} << 20;

Result<std::string> load(const FaultWork& work) {
  ASSIGN_OR_RETURN(double share, number_param(work.part, "share", 0.01, kMostShare));
  ASSIGN_OR_RETURN(int64_t size, bytes_param(work.part, "size", kSmallest, kLargest));
  return cat("share=", std::to_string(share), " size=", size);
}

Status ask(const FaultWork& work) {
  ASSIGN_OR_RETURN(std::string words, load(work));
  return set_disk_effect(work, kEffect, words);
}

Status prepare(FaultWork& work) {
  RETURN_IF_ERROR(load(work));
  return note_virtual_disk(work, kEffect);
}

Status apply(FaultWork& work) {
  return ask(work);
}

Status undo(const FaultWork& work) {
  return heal_disk_effect(work, kEffect);
}

Result<bool> active(const FaultWork& work) {
  return disk_effect_is_active(work, kEffect);
}

}  // namespace

extern const FaultInfo fault_disk_busy;
const FaultInfo fault_disk_busy = {
    .name = "disk_busy",
    .summary = "somebody else uses the disk, unseen by the server",
    .params = {{"share", "FRACTION", "0.7", "of the spindle's time, 0.01 to 0.95"},
               {"size", "BYTES", "1MB", "size of a hidden request"},
               {"disk", "WORD", "", "which of the node's disks; without it: the first"}},
    .needs_virtual_disk = true,
    .needs_disk = true,
    .prepare = prepare,
    .apply = apply,
    .prolong = ask,
    .undo = undo,
    .active = active,
};

}  // namespace culprit
