// All disks of the daemon, by name and by inode. FUSE and the control socket look here.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "diskd/disk.h"
#include "diskd/image.h"

namespace culprit {

class DiskSet {
 public:
  // `fallback` is the model of images that have none stored.
  DiskSet(ImageFolder folder, DiskReplies& replies, const DiskModel& fallback);

  Status load();  // the images that are in the folder
  Result<std::shared_ptr<Disk>> add(const std::string& name, int64_t size, const std::optional<DiskModel>& model);
  Status remove(const std::string& name);
  std::shared_ptr<Disk> by_name(const std::string& name) const;  // nullptr: no such disk
  std::shared_ptr<Disk> by_inode(uint64_t inode) const;
  std::vector<std::shared_ptr<Disk>> all() const;  // by name
  const ImageFolder& folder() const { return folder_; }

 private:
  Result<std::shared_ptr<Disk>> serve(const std::string& name, Fd image, const DiskModel& model);

  ImageFolder folder_;
  DiskReplies& replies_;
  DiskModel fallback_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Disk>> disks_;
  uint64_t next_inode_ = 2;  // 1 is the folder itself; numbers are never used again
};

}  // namespace culprit
