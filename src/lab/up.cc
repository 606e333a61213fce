// Bringing a lab up: namespaces, links, disks, the file system, cluster.toml. Each step needs the one before.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "lab/disks.h"
#include "lab/keep.h"
#include "lab/lab.h"
#include "lab/lab_fs.h"
#include "lab/network.h"
#include "store/cluster_file.h"
#include "vdisk/client.h"

namespace culprit {

namespace {

constexpr LabTool kTools[] = {{"ip", "iproute2"},        {"tc", "iproute2"}, {"ethtool", "ethtool"},
                              {"nsenter", "util-linux"}, {"mount", "mount"}, {"setsid", "util-linux"}};
constexpr LabTool kXfs = {"mkfs.xfs", "xfsprogs"};
constexpr LabTool kExt4 = {"mkfs.ext4", "e2fsprogs"};

bool in_path(std::string_view program) {
  const char* path = std::getenv("PATH");
  for (std::string_view folder : split(path ? path : "/usr/sbin:/usr/bin:/sbin:/bin", ':'))
    if (::access(cat(folder, "/", program).c_str(), X_OK) == 0) return true;
  return false;
}

Status need(const LabTool& tool) {
  if (in_path(tool.program)) return Ok{};
  return system_error(cat("the lab needs the program ", tool.program), 0, cat("install the package ", tool.package));
}

Status check_free(const Lab& lab) {
  const std::string& name = lab.plan().name;
  bool images = path_exists(lab.images_folder());
  bool there = path_exists(lab.folder()) || !find_keepers(name).empty() || !attached_loops(lab).empty() ||
               (images && lab.plan().images == LabPlan().images);
  if (images && !there)  // `lab down` does not know of them
    return input_error(cat(lab.images_folder(), " is there already"),
                       "left by a lab before a reboot? remove it, or give this lab another --name or --images");
  if (!there) return Ok{};
  return input_error(cat("there is a lab ", name, " already"),
                     cat("take it down with `culprit lab down --name ", name, "`, or give this one another --name"));
}

// A file that some lab wrote may be replaced, somebody's own may not.
constexpr std::string_view kMark = "# Written by `culprit lab up`";

Status check_cluster_file(const std::string& path) {
  auto text = read_file(path);
  if (!text && !path_exists(path)) return Ok{};
  if (text && text->starts_with(kMark) && text->find("lab down") != std::string::npos) {
    std::string_view line = std::string_view(*text).substr(0, text->find('\n'));
    std::string other(line.substr(line.rfind(' ') + 1));
    if (!open_lab(other)) return Ok{};
    return input_error(cat(path, " belongs to the lab ", printable(other), ", which is up"),
                       "say where this lab's file goes with --cluster FILE");
  }
  return input_error(cat(path, " is there already, and no lab wrote it"),
                     "say where the lab's file goes with --cluster FILE");
}

Status write_cluster(const Lab& lab, const DiskDevices& devices) {
  std::string text = cat(kMark, "; taken away by: culprit lab down --name ", lab.plan().name, "\n",
                         format_cluster(lab_cluster(lab, devices)));
  RETURN_IF_ERROR(write_file_atomically(cat(lab.folder(), "/cluster.toml"), text));
  return write_file_atomically(lab.plan().cluster_file, text);
}

Status give_models(const Lab& lab) {
  ASSIGN_OR_RETURN(DiskClient control, DiskClient::connect(lab.socket_path()));
  for (const LabNode* node : lab.servers())
    RETURN_IF_ERROR(control.ask(cat("model ", node->disk, " ", lab.plan().disk)));
  return Ok{};
}

Status interrupted(const std::function<bool()>& stop) {
  return stop() ? Status(system_error("interrupted", 0)) : Status(Ok{});
}

Status start_keepers(const Lab& lab) {
  RETURN_IF_ERROR(start_keeper(lab, switch_of(lab)));
  for (const LabNode& node : lab.nodes()) RETURN_IF_ERROR(start_keeper(lab, node));
  return Ok{};
}

// The plan first, so that `down` finds the images. When their place is somebody else's, only our own folder is removed:
// `down` would take away both.
Status take_folders(const Lab& lab) {
  Status taken = write_file_atomically(cat(lab.folder(), "/plan"), format_plan(lab.plan()));
  if (taken) taken = make_images_folder(lab);
  if (taken) return taken;
  std::error_code failed;
  std::filesystem::remove_all(lab.folder(), failed);
  std::filesystem::path labs = std::filesystem::path(lab.folder()).parent_path();
  std::filesystem::remove(labs, failed);  // only when they are empty
  std::filesystem::remove(labs.parent_path(), failed);
  return taken;
}

Status build(const Lab& lab, const LabSay& say, const std::function<bool()>& stop) {
  say(cat("namespaces of ", lab.nodes().size(), " nodes"));
  RETURN_IF_ERROR(start_keepers(lab));
  RETURN_IF_ERROR(interrupted(stop));
  say("links");
  RETURN_IF_ERROR(make_network(lab));
  RETURN_IF_ERROR(interrupted(stop));
  say("disks");
  ASSIGN_OR_RETURN(DiskDevices devices, make_disks(lab));
  RETURN_IF_ERROR(interrupted(stop));
  say(cat(lab.plan().fs, ", ", lab.plan().layout));
  RETURN_IF_ERROR(find_lab_fs(lab.plan().fs)->start(lab));
  RETURN_IF_ERROR(interrupted(stop));
  RETURN_IF_ERROR(give_models(lab));
  return write_cluster(lab, devices);
}

}  // namespace

Status can_run_lab(const LabFs& fs, std::string_view format) {
  if (::geteuid() != 0)
    return system_error("a lab needs root: namespaces, loop devices and mounts", 0, "sudo culprit lab up ...");
  for (const LabTool& tool : kTools) RETURN_IF_ERROR(need(tool));
  RETURN_IF_ERROR(need(format == "ext4" ? kExt4 : kXfs));
  for (const LabTool& tool : fs.tools) RETURN_IF_ERROR(need(tool));
  for (const char* device : {"/dev/loop-control", "/dev/fuse"})
    if (!path_exists(device)) return unsupported_error(cat("this kernel has no ", device), "`culprit check` says more");
  return Ok{};
}

Status lab_up(const Lab& lab, const LabSay& say, const std::function<bool()>& stop) {
  RETURN_IF_ERROR(can_run_lab(*find_lab_fs(lab.plan().fs), lab.plan().format));
  RETURN_IF_ERROR(check_room(lab));
  RETURN_IF_ERROR(check_free(lab));
  RETURN_IF_ERROR(check_cluster_file(lab.plan().cluster_file));
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(lab.folder()).parent_path(), failed);
  if (!std::filesystem::create_directory(lab.folder(), failed))  // of two that start at once, one gets it
    return input_error(cat("there is a lab ", lab.plan().name, " already"), "give this one another --name");
  RETURN_IF_ERROR(take_folders(lab));
  Status built = build(lab, say, stop);
  if (built) return built;
  say("it failed; taking down what was made");
  if (Status down = lab_down(lab.plan().name, say); !down) say(down.error().message());
  return built;
}

}  // namespace culprit
