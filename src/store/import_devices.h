// What the devices of an import are, as far as their names tell: other tools write no details beside them. The question
// is which of them repeat what others count, and which one a cluster file means.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace culprit {

// The kernel's name of what old sysstat calls devMAJOR-MINOR: "sdb1" of "dev8-17"; "" of all that is no SCSI disk.
std::string sd_name(std::string_view device);

// Devices of one node that would count twice: device-mapper and md of old sysstat, partitions, VLANs, bridges.
std::vector<std::string> stacked_devices(const std::vector<std::string>& devices);

// Where a cluster file says sdb and the input dev8-16, `disks` gets the input's word for it.
void use_names_of_input(const std::set<std::string>& devices, std::vector<std::string>& disks);

}  // namespace culprit
