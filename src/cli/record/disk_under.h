// Which disks a folder lies on: recording onto a disk that is being watched changes what is seen there.
#pragma once

#include <string>
#include <vector>

namespace culprit {

// Names as in /proc/diskstats, sorted: the whole disk of a partition, and for stacked devices (dm, md, loop files)
// every level down to the hardware. Empty: memory, a network file system, or not known.
// `root` "" or a fixture tree with proc/self/mountinfo and sys/; `path` is absolute and exists.
std::vector<std::string> disks_under(const std::string& root, const std::string& path);

// The same for a device number that is already known ("8:1").
std::vector<std::string> disks_of_device(const std::string& root, const std::string& major_minor);

// The nearest folder above `path` that exists, absolute and without links.
std::string existing_folder(const std::string& path);

}  // namespace culprit
