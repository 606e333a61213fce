// What the control socket's commands do: a line in, a line out.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "diskd/disk_set.h"

namespace culprit {

struct DaemonInfo {
  std::string mount;
  bool hidden_mount = false;   // in a mount namespace of the daemon's own
  uint64_t device = 0;         // st_dev of the FUSE mount
  std::function<void()> quit;  // asks the daemon to end; returns at once
};

// The answer without its newline.
std::string answer_disk_command(std::string_view line, DiskSet& disks, const DaemonInfo& daemon);

}  // namespace culprit
