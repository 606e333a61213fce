// Talks to the daemon that serves virtual disks (culprit-disk) over its Unix socket: one line asks, one line answers.
// docs/formats/disk_control.md has the grammar.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace culprit {

// "ok key=value key=value" as a map.
using DiskAnswer = std::map<std::string, std::string, std::less<>>;

class DiskClient {
 public:
  static Result<DiskClient> connect(const std::string& socket_path);
  // One line, for example "slow s1 factor=4 for=10s". The daemon's "error TEXT" comes back as an Error.
  Result<DiskAnswer> ask(std::string_view line);
  // The same, as the daemon wrote it: what follows "ok".
  Result<std::string> ask_text(std::string_view line);

 private:
  explicit DiskClient(Fd socket) : socket_(std::move(socket)) {}
  Fd socket_;
};

// Where a lab's node finds the socket of the daemon that serves its disks.
constexpr std::string_view kLabDiskSocket = "/run/culprit-lab/disk.sock";

// The virtual disk behind a block device ("loop3" or "/dev/loop3"): the name of the image that the loop device serves,
// without its folder and ".img". An error when the device is no loop device. `sys` is the root of sysfs.
Result<std::string> virtual_disk_behind(std::string_view device, const std::string& sys = "/sys");

}  // namespace culprit
