// The reasons against a fault that hold for all of them; a fault adds its own in prepare. Each says what to do about
// it.
#pragma once

#include "inject/fault.h"

namespace culprit {

// Runs on the node, changes nothing.
Status check_node(const FaultInfo& fault, const FaultWork& work);
// Every given parameter is one of the fault's, and the others get their fallback. Runs on both sides.
Result<FaultParams> fill_params(const FaultInfo& fault, const FaultParams& given);
// A disk that a parameter names must be one that cluster.toml names.
Status check_disk_param(const FaultInfo& fault, const FaultParams& params, const std::vector<std::string>& disks,
                        std::string_view node);
// In a lab: a loop device that is another node's must not be touched, whatever cluster.toml says. A lab names its disks
// LAB-NODE, and that is also the node's host name.
Status check_own_disk(const std::string& device, const FaultWork& work);
Status check_tools(const FaultInfo& fault, const FaultPart& part);
// Programs are looked for where root's PATH would have them, also when a login through ssh left it short.
void widen_path();
// The chosen disk of the node: the parameter `disk`, or the first that it has.
std::string chosen_disk(const FaultPart& part);

}  // namespace culprit
