#include "inject/virtual_disk.h"

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "inject/preflight.h"

namespace culprit {

namespace {

constexpr std::string_view kNote = "virtual_disk";

Result<bool> is_active(const std::string& disk, std::string_view effect) {
  ASSIGN_OR_RETURN(DiskAnswer answer, ask_disk(cat("status ", disk)));
  auto active = answer.find("active");
  if (active == answer.end()) return input_error("the disk daemon does not say what is active", "another version?");
  std::vector<std::string_view> names = split(active->second, ',');
  return std::find(names.begin(), names.end(), effect) != names.end();
}

Result<int64_t> failed_requests(const std::string& disk) {
  ASSIGN_OR_RETURN(DiskAnswer answer, ask_disk(cat("counters ", disk)));
  auto errors = parse_int(answer["errors"]);
  if (!errors) return input_error("the disk daemon does not count its errors", "another version?");
  return *errors;
}

}  // namespace

Status note_virtual_disk(FaultWork& work, std::string_view effect) {
  ASSIGN_OR_RETURN(std::string disk, virtual_disk_behind(chosen_disk(work.part), work.sys));
  ASSIGN_OR_RETURN(bool active, is_active(disk, effect));
  if (active)
    return unsupported_error(cat("the virtual disk ", disk, " is under ", effect, " already"),
                             "wait until that is over; its undo would be ours");
  ASSIGN_OR_RETURN(int64_t errors, failed_requests(disk));
  work.notes[std::string(kNote)] = disk;
  work.notes["disk_errors"] = cat(errors);
  return Ok{};
}

bool has_noted_virtual_disk(const FaultWork& work) {
  return work.notes.contains(kNote);
}

Result<std::string> noted_virtual_disk(const FaultWork& work) {
  auto found = work.notes.find(kNote);
  if (found == work.notes.end()) return input_error("the journal has no note of the virtual disk");
  return found->second;
}

Result<DiskAnswer> ask_disk(std::string_view line) {
  ASSIGN_OR_RETURN(DiskClient client, DiskClient::connect(std::string(kLabDiskSocket)));
  return client.ask(line);
}

Status set_disk_effect(const FaultWork& work, std::string_view effect, std::string_view arguments) {
  ASSIGN_OR_RETURN(std::string disk, noted_virtual_disk(work));
  int64_t lease_ms = std::max<int64_t>(work.part.lease_ns / kNsPerMs, 1);
  RETURN_IF_ERROR(ask_disk(cat(effect, " ", disk, arguments.empty() ? "" : " ", arguments, " for=", lease_ms, "ms")));
  return Ok{};
}

Status heal_disk_effect(const FaultWork& work, std::string_view effect) {
  if (!has_noted_virtual_disk(work)) return Ok{};  // prepare did not come that far
  ASSIGN_OR_RETURN(std::string disk, noted_virtual_disk(work));
  RETURN_IF_ERROR(ask_disk(cat("heal ", disk, " ", effect)));
  return Ok{};
}

Result<bool> disk_has_failed_requests(const FaultWork& work) {
  auto before = work.notes.find("disk_errors");
  if (before == work.notes.end() || !has_noted_virtual_disk(work)) return false;
  ASSIGN_OR_RETURN(std::string disk, noted_virtual_disk(work));
  ASSIGN_OR_RETURN(int64_t errors, failed_requests(disk));
  return cat(errors) != before->second;
}

Result<bool> disk_effect_is_active(const FaultWork& work, std::string_view effect) {
  if (!has_noted_virtual_disk(work)) return false;
  ASSIGN_OR_RETURN(std::string disk, noted_virtual_disk(work));
  return is_active(disk, effect);
}

}  // namespace culprit
