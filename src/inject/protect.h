// Which disks no fault may touch: those that hold the system itself. Answered from the kernel's own tables, because
// names in a file (/dev/root, UUID=...) do not say which disk they mean.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "base/result.h"

namespace culprit {

// "sda", "/dev/sda", "/dev/mapper/data", "/dev/disk/by-id/...": the kernel's name.
std::string block_name(std::string_view device, const std::string& sys);
// The device itself and everything on the way down to its disks: partitions, volumes, arrays, paths.
std::set<std::string> devices_below(const std::string& name, const std::string& sys);
// The whole disks below a device: of a partition its disk, of a stacked device (dm, md) all it lies on; of a disk
// itself.
std::set<std::string> whole_disks(const std::string& name, const std::string& sys);

// Why the device must not be a fault's target, or Ok: it is or shares a disk with /, /boot, /usr, /var or swap.
Status check_not_protected(std::string_view device, const std::string& proc, const std::string& sys);

}  // namespace culprit
