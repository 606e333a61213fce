// Taking a lab down from outside. It asks nobody who may be dead: keepers and daemons are found by their command lines,
// loop devices by what they serve, and the kernel takes everything that was inside of a node with its first process.
#include <signal.h>

#include <array>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "hosts/keeper.h"
#include "lab/disks.h"
#include "lab/keep.h"
#include "lab/lab.h"
#include "lab/lab_fs.h"
#include "lab/network.h"

namespace culprit {

namespace {

constexpr int64_t kEndTime = 10 * kNsPerSecond;

// The plan, or, when `up` died before it wrote one, what can be said without it.
Lab whatever_is_left(const std::string& name) {
  if (auto lab = open_lab(name)) return std::move(*lab);
  LabPlan plan;
  plan.name = name;
  plan.fs = lab_filesystems().front()->name;
  plan.servers = 0;
  plan.clients = 0;
  return Lab(std::move(plan));
}

// All at once: a node waits for its processes, and a process may wait for another node.
Status end_keepers(std::string_view name) {
  std::vector<ProcessId> keepers = find_keepers(name);
  for (const ProcessId& keeper : keepers) signal_process(keeper, SIGKILL);
  for (const ProcessId& keeper : keepers)
    if (!wait_gone(keeper, kEndTime))
      return system_error(cat("the keeper of a node (process ", keeper.pid, ") does not end"), 0,
                          "a process in it may be stuck in the kernel; try `culprit lab down` again");
  return Ok{};
}

void remove_keeper_files(std::string_view name) {
  std::error_code failed;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(kKeeperFolder, failed))
    if (entry.path().filename().string().starts_with(cat(name, "-"))) files.push_back(entry.path());
  for (const auto& file : files) std::filesystem::remove(file, failed);
  std::filesystem::remove(kKeeperFolder, failed);  // only when it is empty
}

// cluster.toml, if it is still as we wrote it.
void remove_cluster_file(const Lab& lab) {
  auto written = read_file(cat(lab.folder(), "/cluster.toml"));
  auto found = read_file(lab.plan().cluster_file);
  std::error_code failed;
  if (written && found && *written == *found) std::filesystem::remove(lab.plan().cluster_file, failed);
}

Status remove_folders(const Lab& lab) {
  std::error_code failed;
  std::filesystem::remove_all(lab.images_folder(), failed);
  if (failed) return system_error(cat("cannot remove ", lab.images_folder()), failed.value());
  std::filesystem::remove_all(lab.folder(), failed);
  if (failed) return system_error(cat("cannot remove ", lab.folder()), failed.value());
  std::filesystem::path labs = std::filesystem::path(lab.folder()).parent_path();
  std::filesystem::remove(labs, failed);  // only when they are empty
  std::filesystem::remove(labs.parent_path(), failed);
  return Ok{};
}

}  // namespace

Status lab_down(const std::string& name, const LabSay& say) {
  RETURN_IF_ERROR(check_lab_name(name));
  Lab lab = whatever_is_left(name);
  bool anything = path_exists(lab.folder()) || path_exists(lab.images_folder()) || !find_keepers(name).empty() ||
                  !attached_loops(lab).empty();
  if (!anything) return input_error(cat("there is no lab ", name), "`culprit lab list` shows those there are");
  say("disks at full speed, nodes");
  relax_disks(lab);
  Status ended = end_keepers(name);
  Status released = release_loops(lab);
  Status stopped = stop_disk_daemon(lab);
  for (Status& result : std::array<Status, 3>{ended, released, stopped}) RETURN_IF_ERROR(result);
  remove_cluster_file(lab);
  remove_keeper_files(name);
  return remove_folders(lab);
}

}  // namespace culprit
