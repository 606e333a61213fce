// Shows the disks as image files NAME.img in one FUSE mount. One thread receives; a request goes to its disk, which
// answers it, from its own thread if it has to wait. Direct I/O only: the kernel caches nothing between the loop device
// and us, so every request of the device is one that the model sees.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "diskd/disk_set.h"

struct fuse_session;  // libfuse's; its header stays out of ours

namespace culprit {

// Answers FUSE requests; there before the disks, which need somewhere to send their answers.
class FuseReplies : public DiskReplies {
 public:
  void reply(void* tag, DiskOp op, int error, const char* data, int64_t bytes) override;
};

class FuseServer {
 public:
  // Mounts at the folder `mount`, which must exist. A mount there whose daemon is dead is taken away first.
  static Result<std::unique_ptr<FuseServer>> start(DiskSet& disks, const std::string& mount);
  ~FuseServer();

  void serve();                                // until the mount is gone: the receive thread
  void unmount();                              // also while it is in use
  uint64_t device() const { return device_; }  // st_dev of what is in it

 private:
  explicit FuseServer(std::string mount) : mount_(std::move(mount)) {}
  std::string mount_;
  fuse_session* session_ = nullptr;
  uint64_t device_ = 0;
};

}  // namespace culprit
