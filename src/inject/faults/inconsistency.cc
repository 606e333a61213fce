// PFault b-Inconsist: a server's local file system is consistent in itself, but not with the other servers' any more,
// because its checker repaired it (method debugfs: inodes of a seeded share of the files are damaged, then e2fsck) or
// because files are missing (method delete). It stays damaged until the snapshot taken before is restored. A hidden
// folder, made after the snapshot and before the damage, marks the damaged image: a restored one does not have it.
#include <unistd.h>

#include <cerrno>

#include "base/subprocess.h"
#include "base/text.h"
#include "base/units.h"
#include "inject/diskfs.h"
#include "inject/hidden_folder.h"
#include "inject/service.h"
#include "inject/stored_files.h"
#include "inject/virtual_disk.h"

namespace culprit {

namespace {

constexpr int64_t kToolTimeout = 600 * kNsPerSecond;
constexpr int kMostChecks = 5;  // e2fsck may need several passes after heavy damage

bool by_debugfs(const FaultPart& part) {
  return word_param(part, "method") == "debugfs";
}

Result<bool> snapshot_exists(const FaultWork& work) {
  ASSIGN_OR_RETURN(std::string disk, noted_virtual_disk(work));
  ASSIGN_OR_RETURN(DiskAnswer answer, ask_disk(cat("status ", disk)));
  auto found = answer.find("snapshot");
  if (found == answer.end()) return input_error("the disk daemon does not say whether there is a snapshot");
  return found->second == "1";
}

Status ask_about_snapshot(const FaultWork& work, std::string_view verb) {
  ASSIGN_OR_RETURN(std::string disk, noted_virtual_disk(work));
  RETURN_IF_ERROR(ask_disk(cat(verb, " ", disk)));
  return Ok{};
}

Status check_params(const FaultPart& part) {
  std::string method = word_param(part, "method");
  if (method != "debugfs" && method != "delete")
    return usage_error(cat("inconsistency: method cannot be '", printable(method), "'"), "it takes debugfs or delete");
  std::string below = word_param(part, "below");
  if (below.starts_with('/') || below.find("..") != std::string::npos)
    return usage_error(cat("inconsistency: below cannot be '", printable(below), "'"), "a folder's path on the disk");
  RETURN_IF_ERROR(number_param(part, "percent", 0.0001, 100));
  return Ok{};
}

std::string data_folder(const FaultWork& work, const Mount& mount) {
  std::string below = word_param(work.part, "below");
  return below.empty() ? mount.target : cat(mount.target, "/", below);
}

Status prepare(FaultWork& work) {
  RETURN_IF_ERROR(check_params(work.part));
  ASSIGN_OR_RETURN(Mount mount, chosen_mount(work));
  RETURN_IF_ERROR(check_can_unmount(work));
  if (by_debugfs(work.part) && !is_ext(mount))
    return unsupported_error(cat("inconsistency: debugfs damages ext4, and ", mount.target, " is ", mount.type),
                             "--param method=delete, or a lab with culprit lab up --format ext4");
  ASSIGN_OR_RETURN(std::vector<StoredFile> files, list_files(data_folder(work, mount)));
  if (files.empty())
    return unsupported_error(cat("inconsistency: there is no file to damage below ", data_folder(work, mount)),
                             "write some through the file system first");
  RETURN_IF_ERROR(note_virtual_disk(work, "fail"));
  ASSIGN_OR_RETURN(bool old, snapshot_exists(work));
  work.notes["old_snapshot"] = std::string(1, old ? '1' : '0');
  note_mount(work, mount);
  return note_services(work, Need::none);
}

// debugfs tells of errors on stderr, and goes on.
Status damage(const Mount& mount, const std::vector<StoredFile>& files, uint64_t seed) {
  ASSIGN_OR_RETURN(Output output,
                   run_command({"debugfs", "-w", mount.source}, kToolTimeout, damage_script(files, seed)));
  if (output.exit_code == 0) return Ok{};
  return unsupported_error(
      cat("debugfs ended with exit code ", output.exit_code, ": ", printable(trim(output.err), 200)));
}

Status check_until_clean(const Mount& mount) {
  int exit_code = 0;
  for (int pass = 0; pass < kMostChecks; ++pass) {
    ASSIGN_OR_RETURN(Output output, run_command({"e2fsck", "-f", "-y", mount.source}, kToolTimeout));
    exit_code = output.exit_code;
    if (exit_code == 0) return Ok{};
  }
  return unsupported_error(cat("e2fsck does not get ", mount.source, " clean: exit code ", exit_code),
                           "the damage was too much for it; a smaller percent leaves more");
}

Status remove_files(const std::string& folder, const std::vector<StoredFile>& files) {
  for (const StoredFile& file : files)
    for (const std::string& path : file.paths)
      if (::unlink(cat(folder, "/", path).c_str()) != 0 && errno != ENOENT)
        return system_error(cat("cannot remove ", path), errno);
  return Ok{};
}

Status break_files(const FaultWork& work, const Mount& mount, const std::vector<StoredFile>& files) {
  if (!by_debugfs(work.part)) return remove_files(data_folder(work, mount), files);
  RETURN_IF_ERROR(unmount_fs(work, mount));
  RETURN_IF_ERROR(damage(mount, files, work.part.seed));
  RETURN_IF_ERROR(check_until_clean(mount));
  return mount_fs(work, mount);
}

Status apply(FaultWork& work) {
  ASSIGN_OR_RETURN(double percent, number_param(work.part, "percent", 0.0001, 100));
  ASSIGN_OR_RETURN(Mount mount, noted_mount(work));
  RETURN_IF_ERROR(stop_services(work));
  ASSIGN_OR_RETURN(std::vector<StoredFile> files, list_files(data_folder(work, mount)));
  std::vector<StoredFile> chosen = choose_share(std::move(files), percent, work.part.seed);
  RETURN_IF_ERROR(unmount_fs(work, mount));
  RETURN_IF_ERROR(ask_about_snapshot(work, "snapshot"));
  RETURN_IF_ERROR(mount_fs(work, mount));
  RETURN_IF_ERROR(make_hidden_folder(work));
  RETURN_IF_ERROR(sync_fs(mount));
  RETURN_IF_ERROR(break_files(work, mount, chosen));
  work.notes["files"] = cat(chosen.size());
  return restart_services(work);
}

// Unmounted, it was left in the middle of something: the mark tells whether it is damaged. What cannot be mounted is,
// if the snapshot can only be ours.
Result<bool> is_damaged(const FaultWork& work, const Mount& mount) {
  Status mounted = mount_fs(work, mount);
  if (mounted) return hidden_folder_exists(work);
  auto old = work.notes.find("old_snapshot");
  ASSIGN_OR_RETURN(bool taken, snapshot_exists(work));
  if (taken && old != work.notes.end() && old->second == "0") return true;
  return std::move(mounted).error();
}

Status restore(const FaultWork& work, const Mount& mount) {
  RETURN_IF_ERROR(stop_services(work));
  RETURN_IF_ERROR(unmount_fs(work, mount));
  RETURN_IF_ERROR(ask_about_snapshot(work, "restore"));
  RETURN_IF_ERROR(forget_device_cache(mount.source));
  return mount_fs(work, mount);
}

Status undo(const FaultWork& work) {
  if (!has_noted_mount(work) || !has_noted_virtual_disk(work)) return Ok{};  // prepare did not come that far
  ASSIGN_OR_RETURN(Mount mount, noted_mount(work));
  // Who is noted and still lives was perhaps asked to end when apply was cut off: it would be gone a moment later.
  ASSIGN_OR_RETURN(std::vector<ProcessId> first_ones, noted_processes(work));
  if (!first_ones.empty()) RETURN_IF_ERROR(stop_services(work));
  ASSIGN_OR_RETURN(bool damaged, is_damaged(work, mount));
  if (damaged) RETURN_IF_ERROR(restore(work, mount));
  return bring_back(work, Remount::if_down);
}

Result<bool> active(const FaultWork& work) {
  if (!has_noted_mount(work) || !has_noted_virtual_disk(work)) return false;
  ASSIGN_OR_RETURN(bool away, needs_bringing_back(work));
  if (away) return true;
  return hidden_folder_exists(work);
}

}  // namespace

extern const FaultInfo fault_inconsistency;
const FaultInfo fault_inconsistency = {
    .name = "inconsistency",
    .summary = "a share of the files that a server stores is damaged or lost; its local file system is whole",
    .kind = FaultClass::persistent,
    .held = HeldBy::journal,
    .params = {{"method", "WORD", "delete",
                "delete: files are removed; debugfs: inodes are damaged, then e2fsck (ext4)"},
               {"percent", "PERCENT", "10", "how many of the files"},
               {"below", "WORD", "", "only files below this folder of the disk"},
               kDiskParam,
               kRestartParam},
    .tools = {"mount", "e2fsck", "debugfs"},
    .needs_virtual_disk = true,
    .needs_disk = true,
    .prepare = prepare,
    .apply = apply,
    .undo = undo,
    .active = active,
};

}  // namespace culprit
