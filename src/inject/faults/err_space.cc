// HotDep'09 err-space: the file system that holds a server's data is full (ENOSPC). Space is allocated, not written, so
// that it takes a moment and no disk time; being told "no space" is the success.
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/fd.h"
#include "base/text.h"
#include "inject/diskfs.h"
#include "inject/hidden_folder.h"

namespace culprit {

namespace {

constexpr int64_t kMostFree = int64_t{1} << 50;
constexpr int64_t kPiece = int64_t{64} << 30;  // of one file: below every file system's limit
constexpr int kMostFiles = 4096;               // 256 TB

struct Space {
  int64_t free = 0;  // with what is reserved for root, because file servers are root
  int64_t block = 4096;
};

Result<Space> space_of(const std::string& path) {
  struct statvfs info {};
  if (::statvfs(path.c_str(), &info) != 0) return system_error(cat("cannot look at ", path), errno);
  auto block = static_cast<int64_t>(info.f_frsize);
  return Space{static_cast<int64_t>(info.f_bfree) * block, block};
}

// The next number that is free: prolonging adds files.
Result<Fd> new_file(const std::string& folder) {
  for (int number = 0; number < kMostFiles; ++number) {
    std::string path = cat(folder, "/fill-", number);
    Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file.valid() || errno != EEXIST) {
      if (!file.valid() && errno != ENOSPC) return system_error(cat("cannot make ", path), errno);
      return file;
    }
  }
  return unsupported_error(cat(folder, " holds too many files"));
}

// Allocates up to `wanted` bytes in one file, in ever smaller steps; how much it got.
Result<int64_t> fill(const Fd& file, int64_t wanted, int64_t block) {
  int64_t filled = 0;
  int64_t step = wanted;
  while (filled < wanted && step >= block) {
    step = std::min(step, wanted - filled);
    if (::fallocate(file.get(), 0, filled, step) == 0) {
      filled += step;
    } else if (errno == ENOSPC) {
      step = step / 2 / block * block;
    } else if (errno != EINTR) {
      return system_error("cannot allocate space", errno,
                          errno == EOPNOTSUPP ? "this file system cannot allocate without writing" : "");
    }
  }
  return filled;
}

Status fill_up(const FaultWork& work) {
  ASSIGN_OR_RETURN(int64_t leave, bytes_param(work.part, "free", 0, kMostFree));
  ASSIGN_OR_RETURN(std::string folder, hidden_folder(work));
  for (int files = 0; files < kMostFiles; ++files) {
    ASSIGN_OR_RETURN(Space space, space_of(folder));
    int64_t wanted = std::min((space.free - leave) / space.block * space.block, kPiece);
    if (wanted < space.block) return Ok{};
    ASSIGN_OR_RETURN(Fd file, new_file(folder));
    if (!file.valid()) return Ok{};  // not even an inode is left
    ASSIGN_OR_RETURN(int64_t filled, fill(file, wanted, space.block));
    if (filled < wanted) return Ok{};
  }
  return Ok{};
}

Status prepare(FaultWork& work) {
  RETURN_IF_ERROR(bytes_param(work.part, "free", 0, kMostFree));
  ASSIGN_OR_RETURN(Mount mount, chosen_mount(work));
  note_mount(work, mount);
  ASSIGN_OR_RETURN(FsState state, look_at_fs(work, mount));
  if (state == FsState::fine) return Ok{};
  return unsupported_error(cat("the file system at ", mount.target, " does not work now"));
}

Status apply(FaultWork& work) {
  RETURN_IF_ERROR(make_hidden_folder(work));
  return fill_up(work);
}

// What the daemons delete meanwhile is filled again, until they run out of things to delete.
Status prolong(const FaultWork& work) {
  return fill_up(work);
}

}  // namespace

extern const FaultInfo fault_err_space;
const FaultInfo fault_err_space = {
    .name = "err_space",
    .summary = "the file system that holds the server's data is full (ENOSPC)",
    .kind = FaultClass::leased,
    .held = HeldBy::journal,
    .params = {{"free", "BYTES", "0", "how much space is left"}, kDiskParam},
    .needs_disk = true,
    .leaves_files = true,
    .prepare = prepare,
    .apply = apply,
    .prolong = prolong,
    .undo = remove_hidden_folder,
    .active = hidden_folder_exists,
};

}  // namespace culprit
