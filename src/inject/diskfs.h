// The local file system that holds a server's data: which one it is, whether it still works, and how it is brought back
// (unmounted, checked, mounted as it was). Only file systems on disks that cluster.toml names are ever touched.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "inject/fault.h"

namespace culprit {

struct Mount {
  std::string source;         // "/dev/loop3"
  std::string target;         // "/mnt/disk"
  std::string type;           // "xfs"
  std::string options;        // of the mount: "rw,relatime"
  std::string super_options;  // of the file system: "rw,inode64"
  std::string root = "/";     // another one is a bind mount of a folder
};

// The parameter that faults on a disk share.
inline constexpr FaultParam kDiskParam = {"disk", "WORD", "", "which of the node's disks; without it, the first"};

Result<std::vector<Mount>> parse_mounts(std::string_view mountinfo);  // text of /proc/self/mountinfo
Result<std::vector<Mount>> read_mounts(const std::string& proc);

// The file system on the part's disk (the parameter `disk`, or the first that the node has): on the disk itself, on a
// partition of it or on a volume that lies on it. Refused when the machine itself lives there, or when several file
// systems do.
Result<Mount> chosen_mount(const FaultWork& work);
// All its mounts; none when nothing is mounted from the disk.
Result<std::vector<Mount>> chosen_mounts(const FaultWork& work);
// For faults that unmount it: one that is mounted in several places is not gone when one of them is unmounted, and no
// check or restore may touch it.
Status check_can_unmount(const FaultWork& work);
bool is_ext(const Mount& mount);

// For the undo. After a reboot disks may have swapped their names: then another file system lies at the noted place.
bool is_another_fs(const FaultWork& work, const Mount& mount);
void note_mount(FaultWork& work, const Mount& mount);
bool has_noted_mount(const FaultWork& work);
Result<Mount> noted_mount(const FaultWork& work);

enum class FsState {
  fine,
  down,  // the kernel gave it up: read-only in an emergency (ext4) or shut down (xfs)
  unmounted,
};
Result<FsState> look_at_fs(const FaultWork& work, const Mount& mount);

// All that was written so far is on the disk.
Status sync_fs(const Mount& mount);
// Also harmless when it is unmounted (mounted) already.
Status unmount_fs(const FaultWork& work, const Mount& mount);
Status mount_fs(const FaultWork& work, const Mount& mount);
// Repairs what a crash leaves (ext4: e2fsck -p, and in earnest if that is not enough). xfs does it in its mount.
Status check_fs(const Mount& mount);
// Whatever state it is in: afterwards the noted file system is mounted and works, and the daemons run.
enum class Remount { if_down, always };
Status bring_back(const FaultWork& work, Remount remount);
// bring_back would have something to do.
Result<bool> needs_bringing_back(const FaultWork& work);

// The words for mount -o that give the same mount again.
std::string mount_options(const Mount& mount);
// Makes the kernel forget what it has read of a block device.
Status forget_device_cache(const std::string& device);

}  // namespace culprit
