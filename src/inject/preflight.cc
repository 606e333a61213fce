#include "inject/preflight.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/fd.h"
#include "base/text.h"
#include "inject/journal.h"
#include "inject/protect.h"
#include "inject/service.h"
#include "vdisk/client.h"

namespace culprit {

namespace {

struct Package {
  std::string_view tool;
  std::string_view name;  // Debian's
};
constexpr Package kPackages[] = {
    {"nft", "nftables"},         {"ip", "iproute2"},        {"tc", "iproute2"},         {"debugfs", "e2fsprogs"},
    {"e2fsck", "e2fsprogs"},     {"dumpe2fs", "e2fsprogs"}, {"mkfs.ext4", "e2fsprogs"}, {"xfs_repair", "xfsprogs"},
    {"mkfs.xfs", "xfsprogs"},    {"mount", "mount"},        {"umount", "mount"},        {"losetup", "mount"},
    {"fallocate", "util-linux"},
};

bool in_path(std::string_view tool) {
  const char* path = std::getenv("PATH");
  for (std::string_view folder : split(path ? path : "", ':')) {
    if (!folder.empty() && ::access(cat(folder, "/", tool).c_str(), X_OK) == 0) return true;
  }
  return false;
}

Status check_disks(const FaultInfo& fault, const FaultWork& work) {
  const FaultPart& part = work.part;
  if (!fault.needs_disk && !fault.needs_virtual_disk) return Ok{};
  if (part.disks.empty())
    return input_error(cat(fault.name, " needs a disk, and cluster.toml names none of ", part.node),
                       cat("add disks = [\"NAME\"] to it: only what is named there may be touched"));
  RETURN_IF_ERROR(check_disk_param(fault, part.params, part.disks, part.node));
  bool in_lab = path_exists(std::string(kLabDiskSocket));
  for (const std::string& disk : part.disks) {
    RETURN_IF_ERROR(check_not_protected(disk, work.proc, work.sys));
    if (in_lab) RETURN_IF_ERROR(check_own_disk(disk, work));
  }
  if (!fault.needs_virtual_disk) return Ok{};
  auto behind = virtual_disk_behind(chosen_disk(part), work.sys);
  if (behind && in_lab) return Ok{};
  return unsupported_error(
      cat(fault.name, " needs a virtual disk, and ", chosen_disk(part), " of ", part.node, " is none"),
      "it works in a lab: culprit lab up");
}

Status check_daemons(const FaultInfo& fault, const FaultWork& work) {
  const FaultPart& part = work.part;
  if (!fault.needs_daemons || !find_daemons(work.proc, part.daemons).empty()) return Ok{};
  std::string names = part.daemons.empty() ? "and cluster.toml names none" : join(part.daemons, ", ");
  return input_error(cat(fault.name, " needs a running daemon of the file system on ", part.node, ": ", names),
                     "is the file system up? `daemons = [...]` in cluster.toml names its processes");
}

}  // namespace

Status check_own_disk(const std::string& device, const FaultWork& work) {
  auto disk = virtual_disk_behind(device, work.sys);
  auto host = read_file(work.proc + "/sys/kernel/hostname", 4096);
  if (!disk || !host || trim(*host) == *disk) return Ok{};
  if (disk->find('-') == std::string::npos) return Ok{};  // no lab made it
  return input_error(cat(device, " is the disk of ", *disk, " now, and ", work.part.node, " is ", trim(*host)),
                     "the cluster file is of an earlier lab: use the one that the last `culprit lab up` wrote");
}

Status check_tools(const FaultInfo& fault, const FaultPart& part) {
  for (std::string_view tool : fault.tools) {
    if (in_path(tool)) continue;
    std::string_view package = tool;
    for (const Package& each : kPackages) {
      if (each.tool == tool) package = each.name;
    }
    return unsupported_error(cat(fault.name, " needs the program ", tool, ", which ", part.node, " does not have"),
                             cat("install the package ", package, " there"));
  }
  return Ok{};
}

void widen_path() {
  const char* path = std::getenv("PATH");
  ::setenv("PATH", cat(path ? path : "/usr/bin:/bin", ":/usr/local/sbin:/usr/sbin:/sbin").c_str(), 1);
}

std::string chosen_disk(const FaultPart& part) {
  std::string chosen = word_param(part, "disk");
  if (!chosen.empty()) return chosen;
  return part.disks.empty() ? "" : part.disks[0];
}

Status check_disk_param(const FaultInfo& fault, const FaultParams& params, const std::vector<std::string>& disks,
                        std::string_view node) {
  auto disk = params.find("disk");
  if (disk == params.end() || disk->second.empty()) return Ok{};
  if (std::find(disks.begin(), disks.end(), disk->second) != disks.end()) return Ok{};
  return input_error(
      cat(fault.name, ": ", printable(disk->second), " is not a disk that cluster.toml names for ", node),
      disks.empty() ? std::string("add it to the node's disks there, if it is the file system's")
                    : cat("its disks are ", join(disks, ", ")));
}

Result<FaultParams> fill_params(const FaultInfo& fault, const FaultParams& given) {
  FaultParams all;
  std::vector<std::string> names;
  for (const FaultParam& param : fault.params) {
    all[std::string(param.name)] = param.fallback;
    names.emplace_back(param.name);
  }
  for (const auto& [name, value] : given) {
    if (!all.contains(name)) {
      std::string near = did_you_mean(name, names);
      std::string hint = names.empty() ? "it has none" : cat("it has ", join(names, ", "));
      return usage_error(cat(fault.name, " has no parameter ", printable(name)),
                         near.empty() ? hint : cat("did you mean ", near, "?"));
    }
    all[name] = value;
  }
  return all;
}

Status check_node(const FaultInfo& fault, const FaultWork& work) {
  if (::geteuid() != 0)
    return system_error(cat("injecting on ", work.part.node, " needs root there"), 0,
                        "run as root, or reach it as root");
  if (path_exists(stop_file()))
    return input_error(cat("the kill switch is on: ", stop_file(), " exists on ", work.part.node),
                       "remove that file to allow faults again");
  RETURN_IF_ERROR(check_tools(fault, work.part));
  RETURN_IF_ERROR(check_disks(fault, work));
  return check_daemons(fault, work);
}

}  // namespace culprit
