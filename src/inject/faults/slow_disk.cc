// A disk that still does everything, but slower: bad sectors that are read again and again, a rebuild, an old drive.
// Each request takes a multiple of its time at the virtual disk, so it shows in the device's own counters.
#include "inject/diskfs.h"
#include "inject/virtual_disk.h"

namespace culprit {

namespace {

constexpr std::string_view kEffect = "slow";
constexpr double kMostFactor = 1000;

Status ask(const FaultWork& work) {
  ASSIGN_OR_RETURN(double factor, number_param(work.part, "factor", 1, kMostFactor));
  return set_disk_effect(work, kEffect, "factor=" + std::to_string(factor));
}

Status prepare(FaultWork& work) {
  RETURN_IF_ERROR(number_param(work.part, "factor", 1, kMostFactor));
  RETURN_IF_ERROR(note_virtual_disk(work, kEffect));
  ASSIGN_OR_RETURN(std::string disk, noted_virtual_disk(work));
  ASSIGN_OR_RETURN(DiskAnswer answer, ask_disk("status " + disk));
  if (answer["rate"] != "0") return Ok{};
  return unsupported_error("slow_disk: the disk has no model, so it has no time to be multiplied",
                           "culprit lab up --disk barracuda7200");
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

extern const FaultInfo fault_slow_disk;
const FaultInfo fault_slow_disk = {
    .name = "slow_disk",
    .summary = "the server's disk takes a multiple of its time for every request",
    .kind = FaultClass::leased,
    .held = HeldBy::kernel,
    .params = {{"factor", "FACTOR", "4", "how many times longer a request takes, 1 to 1000"}, kDiskParam},
    .needs_virtual_disk = true,
    .needs_disk = true,
    .prepare = prepare,
    .apply = apply,
    .prolong = ask,
    .undo = undo,
    .active = active,
};

}  // namespace culprit
