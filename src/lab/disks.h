// The servers' disks: images served by culprit-disk, a loop device on each.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/process.h"
#include "lab/lab.h"

namespace culprit {

using DiskDevices = std::vector<std::pair<std::string, std::string>>;     // virtual disk, "loop3"
using DeviceSettings = std::vector<std::pair<std::string, std::string>>;  // a file in /sys, what is to be in it

// Whether all disks could be filled where the images lie.
Status check_room(const Lab& lab);
// A folder of our own for the images; an error when anything is there already.
Status make_images_folder(const Lab& lab);
// Formats the images, starts the daemon, attaches a loop device to each, mounts them at the servers' /mnt/disk, and
// only then gives the disks their model: formatting would take minutes with it.
Result<DiskDevices> make_disks(const Lab& lab);
// A version 4 UUID for the file system of a disk: the same again for the same seed and disk.
std::string disk_uuid(uint64_t seed, std::string_view disk);

// What is there now, found by looking.
DiskDevices attached_loops(const Lab& lab);
std::vector<ProcessId> find_disk_daemons(const std::string& images_folder);
// The lab's virtual disk that a loop device with this backing file serves; "" when it is none of the lab's.
std::string disk_behind(const Lab& lab, std::string_view backing);

// The disks without model and faults, so that unmounting is quick; a daemon that does not answer is killed.
void relax_disks(const Lab& lab);
// Detaches what is left and gives the devices back their settings.
Status release_loops(const Lab& lab);
Status stop_disk_daemon(const Lab& lab);

// Of the settings that were noted before they were changed ("PATH VALUE" a line, the queue's first of each device)
// those to give back: a device that somebody else has by now keeps what it has.
DeviceSettings settings_to_give_back(std::string_view notes,
                                     const std::function<bool(const std::string& device)>& somebody_elses);

}  // namespace culprit
