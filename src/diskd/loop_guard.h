// Is anybody using the loop device on an image? An exclusive open answers it across mount namespaces: the kernel gives
// it to nobody while a file system is mounted from the device, wherever that is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"

namespace culprit {

// Loop devices on one image, claimed for as long as this object lives. None attached: nothing is claimed.
class LoopGuard {
 public:
  // `device` and `inode` are the image's as stat shows them on the FUSE mount, `file` its name there. Fails when one is
  // mounted.
  static Result<LoopGuard> claim(const std::string& file, uint64_t device, uint64_t inode);
  // Writes back and forgets what the kernel has cached of the devices.
  Status drop_caches() const;

 private:
  struct Loop {
    std::string path;
    Fd fd;
  };
  std::vector<Loop> loops_;
};

}  // namespace culprit
