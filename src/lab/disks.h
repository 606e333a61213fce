// The servers' disks: images served by culprit-disk, a loop device on each.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/process.h"
#include "lab/lab.h"

namespace culprit {

using DiskDevices = std::vector<std::pair<std::string, std::string>>;  // virtual disk, "loop3"

// Formats the images, starts the daemon, attaches a loop device to each, mounts them at the servers' /mnt/disk, and
// only then gives the disks their model: formatting would take minutes with it.
Result<DiskDevices> make_disks(const Lab& lab);

// What is there now, found by looking.
DiskDevices attached_loops(std::string_view lab_name);
std::vector<ProcessId> find_disk_daemons(const std::string& images_folder);

// The disks without model and faults, so that unmounting is quick; a daemon that does not answer is killed.
void relax_disks(const Lab& lab);
// Detaches what is left and gives the devices back their settings.
Status release_loops(const Lab& lab);
Status stop_disk_daemon(const Lab& lab);

}  // namespace culprit
