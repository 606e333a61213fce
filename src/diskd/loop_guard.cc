#include "diskd/loop_guard.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <filesystem>

#include "base/text.h"

namespace culprit {

namespace {

bool serves(int fd, uint64_t device, uint64_t inode) {
  loop_info64 info{};
  return ::ioctl(fd, LOOP_GET_STATUS64, &info) == 0 && info.lo_device == device && info.lo_inode == inode;
}

// Loop devices on a file of that name. Others are not even opened: closing a device writes back its cache, and that may
// never end on another daemon's hung disk.
std::vector<std::string> loops_on(const std::string& file) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/block", error)) {
    std::string name = entry.path().filename();
    if (!name.starts_with("loop")) continue;
    auto backing = read_file(cat("/sys/block/", name, "/loop/backing_file"));
    if (backing && trim(*backing).ends_with(cat("/", file))) paths.push_back(cat("/dev/", name));
  }
  return paths;
}

}  // namespace

Result<LoopGuard> LoopGuard::claim(const std::string& file, uint64_t device, uint64_t inode) {
  LoopGuard guard;
  for (const std::string& path : loops_on(file)) {
    Fd look(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!look.valid() || !serves(look.get(), device, inode)) continue;
    Fd own(::open(path.c_str(), O_RDONLY | O_EXCL | O_CLOEXEC));
    if (!own.valid() && errno == EBUSY)
      return input_error(cat(path, " is mounted or otherwise in use"), "unmount it first; it may stay attached");
    if (!own.valid()) return system_error(cat("cannot claim ", path), errno);
    guard.loops_.push_back({path, std::move(own)});
  }
  return guard;
}

Status LoopGuard::drop_caches() const {
  for (const Loop& loop : loops_)
    if (::ioctl(loop.fd.get(), BLKFLSBUF, 0) != 0)
      return system_error(cat("cannot drop what is cached of ", loop.path), errno, "is the daemon root?");
  return Ok{};
}

}  // namespace culprit
