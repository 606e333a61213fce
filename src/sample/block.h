// What a block device is, from sysfs: a whole disk or not, what it is stacked on, and the name users know it by.
// The question behind it: which devices may be summed without counting a byte twice.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace culprit {

struct BlockDevice {
  std::string_view kind = "plain";  // plain, dm, md, multipath, loop, partition
  std::string dm_name;              // of device-mapper devices: what /dev/mapper calls it
  std::vector<std::string> slaves;  // the devices right below
};

// `root` holds sys/; names are as in /proc/diskstats ("cciss/c0d0" is "cciss!c0d0" in sysfs).
bool is_whole_device(const std::string& root, std::string_view name);
BlockDevice describe_block(const std::string& root, std::string_view name);
// Of a path of NVMe's own multipathing, "nvme0c1n2", the device that users see and that sends its requests there,
// "nvme0n2"; "" of any other. describe_block() takes the paths for its slaves, which sysfs does not.
std::string nvme_head(std::string_view name);
// All devices below, at any depth; where a partition is below, its disk is too.
std::vector<std::string> devices_below(const std::string& root, std::string_view name);
// "sda", "/dev/sda", "/dev/mapper/data", "data", "/dev/disk/by-id/...": the kernel's name.
std::string kernel_block_name(const std::string& root, std::string_view text);

}  // namespace culprit
