#include "lab/disks.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>

#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/units.h"
#include "lab/detach.h"
#include "lab/loop.h"
#include "vdisk/client.h"

namespace culprit {

namespace {

constexpr int64_t kFormatTime = 60 * kNsPerSecond;
constexpr int64_t kStepTime = 20 * kNsPerSecond;
constexpr int64_t kDirtyBytes = int64_t{16} << 20;  // of a server's disk in the wild preset: enough to be bursty
constexpr int64_t kInodes = 65536;                  // of an ext4 disk: few enough that err_inodes can use them up

std::string mount_folder(const Lab& lab) {
  return cat(lab.folder(), "/disks");
}

std::string settings_file(const Lab& lab) {
  return cat(lab.folder(), "/loops");
}

Status format_image(const Lab& lab, const LabNode& node) {
  std::string path = cat(lab.images_folder(), "/", node.disk, ".img");
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.valid()) return system_error(cat("cannot make ", path), errno);
  if (::ftruncate(file.get(), lab.plan().disk_bytes) != 0) return system_error(cat("cannot size ", path), errno);
  std::string uuid = disk_uuid(lab.plan().seed, node.disk);
  std::vector<std::string> command = {"mkfs.xfs", "-q", "-f", "-K", "-m", cat("uuid=", uuid), path};
  if (lab.plan().format == "ext4")
    command = {"mkfs.ext4",
               "-q",
               "-F",
               "-U",
               uuid,
               "-N",
               std::to_string(kInodes),
               "-E",
               "nodiscard,lazy_itable_init=0,lazy_journal_init=0",
               path};
  ASSIGN_OR_RETURN(Output made, run_command(command, kFormatTime));
  if (made.exit_code == 0) return Ok{};
  return system_error(cat(command[0], " failed: ", printable(trim(made.err), 200)), 0);
}

Result<std::string> find_disk_program() {
  std::error_code failed;
  auto folder = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
  for (const auto& path : {folder / "culprit-disk", folder.parent_path() / "libexec" / "culprit-disk"})
    if (::access(path.c_str(), X_OK) == 0) return path.string();
  return system_error(cat("there is no culprit-disk beside ", folder.string()), 0, "build or install all of culprit");
}

Result<ProcessId> start_daemon(const Lab& lab) {
  std::error_code failed;
  std::filesystem::create_directories(mount_folder(lab), failed);
  ASSIGN_OR_RETURN(std::string program, find_disk_program());
  return start_detached({program, "--folder", lab.images_folder(), "--socket", lab.socket_path(), "--mount",
                         mount_folder(lab), "--model", "none", "--private"},
                        0, cat(lab.folder(), "/disk.log"), kStepTime);
}

// Sets a file of the device in /sys and remembers what was there, because a loop device keeps it for its next user.
Status set_and_note(const std::string& path, std::string_view value, std::string& notes) {
  auto before = read_file(path);
  if (!before) return std::move(before).error();
  std::string old(trim(*before));
  if (size_t open = old.find('['); open != std::string::npos) old = old.substr(open + 1, old.find(']') - open - 1);
  notes += cat(path, " ", old, "\n");
  Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.valid()) return system_error(cat("cannot set ", path), errno);
  return write_all(file.get(), value, path);
}

Status tune(const Lab& lab, const LoopDevice& device, std::string& notes) {
  if (device.added) notes += cat("added ", device.name, "\n");
  std::string queue = cat("/sys/block/", device.name, "/queue/");
  RETURN_IF_ERROR(set_and_note(cat(queue, "scheduler"), "none", notes));
  RETURN_IF_ERROR(set_and_note(cat(queue, "read_ahead_kb"), "128", notes));
  if (lab.plan().preset != "wild") return Ok{};
  auto numbers = read_file(cat("/sys/block/", device.name, "/dev"));
  if (!numbers) return std::move(numbers).error();
  std::string bdi = cat("/sys/class/bdi/", trim(*numbers), "/");
  if (!path_exists(cat(bdi, "max_bytes"))) return Ok{};  // older kernels: the machine's own limit of dirty pages
  RETURN_IF_ERROR(set_and_note(cat(bdi, "strict_limit"), "1", notes));
  return set_and_note(cat(bdi, "max_bytes"), std::to_string(kDirtyBytes), notes);
}

// A process of the node keeps the device open, so that it stays attached while a fault unmounts the disk, and is
// detached by the kernel when the node dies.
Status mount_disk(const Lab& lab, const LabNode& node, const LoopDevice& device) {
  std::string script = cat("set -e\nmount -t ", lab.plan().format, " -o noatime /dev/", device.name, " /mnt/disk\n",
                           "setsid sleep infinity 9</dev/", device.name, " >/dev/null 2>&1 </dev/null &\n");
  auto done = lab.sh(node, script, kStepTime);
  if (!done) return std::move(done).error();
  return Ok{};
}

// The lab's virtual disk on the device. The daemon's mounts are never at the top of the machine's own tree, so a file
// that is really there is somebody else's.
std::string disk_on(const Lab& lab, const std::string& device) {
  std::string backing = loop_backing(device);
  bool real = backing.rfind('/') == 0 && path_exists(backing);
  return real ? std::string() : disk_behind(lab, backing);
}

void set_back(const DeviceSettings& settings) {
  for (const auto& [path, value] : settings) {
    Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (file.valid()) (void)write_all(file.get(), value, "a setting");  // the device may be gone
  }
}

}  // namespace

Status check_room(const Lab& lab) {
  const LabPlan& plan = lab.plan();
  const int64_t room = room_for_images(plan.images);
  const int64_t wanted = plan.disk_bytes * plan.servers;
  if (wanted <= room) return Ok{};
  return input_error(cat("full disks of ", format_bytes(plan.disk_bytes), " for ", plan.servers, " servers would take ",
                         format_bytes(wanted), ", and ", plan.images, " has room for ", format_bytes(room)),
                     "smaller ones with --disk-size, or a folder with more space with --images");
}

Status make_images_folder(const Lab& lab) {
  std::error_code failed;
  std::filesystem::create_directories(lab.plan().images, failed);
  if (failed) return system_error(cat("cannot make ", lab.plan().images), failed.value());
  if (::mkdir(lab.images_folder().c_str(), 0700) == 0) return Ok{};
  int why = errno;
  return system_error(
      cat("cannot make ", lab.images_folder()), why,
      why == EEXIST ? "somebody else's? give the lab another --name, or another place with --images" : "");
}

std::string disk_uuid(uint64_t seed, std::string_view disk) {
  std::string hex = hash_name(fnv1a64(cat(seed, " ", disk)));
  hex += hash_name(fnv1a64(hex));
  return cat(hex.substr(0, 8), "-", hex.substr(8, 4), "-4", hex.substr(13, 3), "-8", hex.substr(17, 3), "-",
             hex.substr(20, 12));
}

Result<DiskDevices> make_disks(const Lab& lab) {
  RETURN_IF_ERROR(for_each_node(lab.servers(), [&](const LabNode& node) { return format_image(lab, node); }));
  ASSIGN_OR_RETURN(ProcessId daemon, start_daemon(lab));
  for (const LabNode& node : lab.nodes()) {
    std::string own = cat(lab.node_folder(node), "/disk.sock");
    if (::link(lab.socket_path().c_str(), own.c_str()) != 0) return system_error(cat("cannot make ", own), errno);
  }
  DiskDevices devices;
  std::string notes;
  for (const LabNode* node : lab.servers()) {
    ASSIGN_OR_RETURN(LoopDevice device,
                     attach_loop(cat("/proc/", daemon.pid, "/root", mount_folder(lab), "/", node->disk, ".img")));
    RETURN_IF_ERROR(tune(lab, device, notes));
    RETURN_IF_ERROR(write_file_atomically(settings_file(lab), notes));
    RETURN_IF_ERROR(mount_disk(lab, *node, device));
    devices.emplace_back(node->disk, device.name);
  }
  return devices;
}

// The kernel shows the path in the daemon's mount namespace. When that has ended with the daemon, nothing is left
// above the file: "/lab-s1.img".
std::string disk_behind(const Lab& lab, std::string_view backing) {
  constexpr std::string_view kDeleted = " (deleted)", kImage = ".img";
  if (backing.ends_with(kDeleted)) backing.remove_suffix(kDeleted.size());
  if (!backing.starts_with('/') || !backing.ends_with(kImage)) return "";
  backing.remove_suffix(kImage.size());
  std::string_view folder = backing.substr(0, backing.rfind('/'));
  std::string disk(backing.substr(folder.size() + 1));
  if (!folder.empty() && folder != mount_folder(lab)) return "";
  std::string server = cat(lab.plan().name, "-s");  // the plan may be gone, so all that it could name
  auto number = disk.starts_with(server) ? parse_int(disk.substr(server.size())) : std::nullopt;
  return number && *number > 0 && disk == cat(server, *number) ? disk : "";
}

DiskDevices attached_loops(const Lab& lab) {
  DiskDevices found;
  for (const std::string& device : loop_devices()) {
    std::string disk = disk_on(lab, device);
    if (!disk.empty()) found.emplace_back(disk, device);
  }
  return found;
}

std::vector<ProcessId> find_disk_daemons(const std::string& images_folder) {
  std::vector<ProcessId> found;
  std::string wanted = cat("culprit-disk", std::string_view("\0--folder\0", 10), images_folder, '\0');
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failed)) {
    auto pid = parse_int(entry.path().filename().string());
    auto line = pid ? read_file(cat(entry.path().string(), "/cmdline")) : Result<std::string>(std::string());
    if (!line || line->find(wanted) == std::string::npos) continue;
    if (auto process = identify_process(static_cast<pid_t>(*pid)); process && is_alive(*process))
      found.push_back(*process);
  }
  return found;
}

void relax_disks(const Lab& lab) {
  for (const ProcessId& daemon : find_disk_daemons(lab.images_folder()))
    if (process_state(daemon) == 'T') signal_process(daemon, SIGKILL);  // stopped: it would never answer
  auto control = DiskClient::connect(lab.socket_path());
  bool answered = control.ok();
  for (const LabNode* node : lab.servers()) {
    if (answered) (void)control->ask(cat("heal ", node->disk));
    if (answered) (void)control->ask(cat("model ", node->disk, " none"));
  }
  if (!answered) (void)stop_disk_daemon(lab);
}

Status release_loops(const Lab& lab) {
  int64_t end = monotonic_now_ns() + 5 * kNsPerSecond;
  DiskDevices left = attached_loops(lab);
  while (!left.empty() && monotonic_now_ns() < end) {
    timespec pause{0, 20 * kNsPerMs};
    ::nanosleep(&pause, nullptr);
    left = attached_loops(lab);
  }
  Status result = Ok{};
  for (const auto& [disk, device] : left)
    if (Status done = detach_loop(device); !done) result = std::move(done);
  auto notes = read_file(settings_file(lab));
  if (!notes) return result;
  set_back(settings_to_give_back(*notes, [&](const std::string& device) {
    return !loop_backing(device).empty() && disk_on(lab, device).empty();
  }));
  for (std::string_view line : split(*notes, '\n'))
    if (line.starts_with("added ")) remove_loop(std::string(line.substr(6)));
  return result;
}

DeviceSettings settings_to_give_back(std::string_view notes,
                                     const std::function<bool(const std::string& device)>& somebody_elses) {
  constexpr std::string_view kBlock = "/sys/block/";
  DeviceSettings settings;
  bool ours = true;  // a device's lines stand together; not all of them name it
  for (std::string_view line : split(notes, '\n')) {
    size_t blank = line.find(' ');
    if (blank == std::string_view::npos || line.starts_with("added ")) continue;
    std::string_view path = line.substr(0, blank);
    if (path.starts_with(kBlock)) {
      std::string_view rest = path.substr(kBlock.size());
      ours = !somebody_elses(std::string(rest.substr(0, rest.find('/'))));
    }
    if (ours) settings.emplace_back(path, line.substr(blank + 1));
  }
  return settings;
}

Status stop_disk_daemon(const Lab& lab) {
  for (const ProcessId& daemon : find_disk_daemons(lab.images_folder())) {
    signal_process(daemon, SIGTERM);
    if (wait_gone(daemon, 2 * kNsPerSecond)) continue;
    signal_process(daemon, SIGKILL);
    if (!wait_gone(daemon, 5 * kNsPerSecond))
      return system_error(cat("culprit-disk (process ", daemon.pid, ") does not end"), 0);
  }
  return Ok{};
}

}  // namespace culprit
