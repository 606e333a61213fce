#include "diskd/disk_set.h"

#include "base/text.h"

namespace culprit {

namespace {

constexpr size_t kMaxDisks = 256;  // a thread each

}  // namespace

DiskSet::DiskSet(ImageFolder folder, DiskReplies& replies, const DiskModel& fallback)
    : folder_(std::move(folder)), replies_(replies), fallback_(fallback) {}

Result<std::shared_ptr<Disk>> DiskSet::serve(const std::string& name, Fd image, const DiskModel& model) {
  ASSIGN_OR_RETURN(int64_t size, file_size(image.get()));
  if (disks_.size() >= kMaxDisks) return input_error(cat("one daemon serves at most ", kMaxDisks, " disks"));
  auto disk = std::make_shared<Disk>(name, next_inode_++, std::move(image), size, model, replies_);
  disks_.emplace(name, disk);
  return disk;
}

Status DiskSet::load() {
  std::lock_guard lock(mutex_);
  for (const std::string& name : folder_.names()) {
    ASSIGN_OR_RETURN(Fd image, folder_.open_image(name));
    DiskModel stored = folder_.load_model(name);
    auto disk = serve(name, std::move(image), stored.modelled() ? stored : fallback_);
    if (!disk) return std::move(disk).error();
  }
  return Ok{};
}

Result<std::shared_ptr<Disk>> DiskSet::add(const std::string& name, int64_t size,
                                           const std::optional<DiskModel>& model) {
  std::lock_guard lock(mutex_);
  if (disks_.count(name)) return input_error(cat("there is a disk ", name, " already"), "choose another name");
  ASSIGN_OR_RETURN(Fd image, folder_.create(name, size));
  DiskModel wanted = model.value_or(fallback_);
  Status stored = folder_.store_model(name, wanted);
  auto disk = stored ? serve(name, std::move(image), wanted) : Result<std::shared_ptr<Disk>>(stored.error());
  if (!disk) static_cast<void>(folder_.remove(name));  // the first error is the one to tell
  return disk;
}

Status DiskSet::remove(const std::string& name) {
  std::lock_guard lock(mutex_);
  auto found = disks_.find(name);
  if (found == disks_.end()) return input_error(cat("there is no disk ", name));
  if (found->second->opens() > 0)
    return input_error(cat(name, " is open"), "unmount it and detach its loop device first");
  RETURN_IF_ERROR(folder_.remove(name));
  disks_.erase(found);
  return Ok{};
}

std::shared_ptr<Disk> DiskSet::by_name(const std::string& name) const {
  std::lock_guard lock(mutex_);
  auto found = disks_.find(name);
  return found == disks_.end() ? nullptr : found->second;
}

std::shared_ptr<Disk> DiskSet::by_inode(uint64_t inode) const {
  std::lock_guard lock(mutex_);
  for (const auto& [name, disk] : disks_)
    if (disk->inode() == inode) return disk;
  return nullptr;
}

std::vector<std::shared_ptr<Disk>> DiskSet::all() const {
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Disk>> disks;
  for (const auto& [name, disk] : disks_) disks.push_back(disk);
  return disks;
}

}  // namespace culprit
