// HotDep'09 err-inodes: no new file can be made on the file system that holds a server's data (ENOSPC), although it has
// space. The paper formats with few inodes; here a running server's are used up with empty files.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"
#include "base/text.h"
#include "inject/diskfs.h"
#include "inject/hidden_folder.h"

namespace culprit {

namespace {

constexpr int64_t kMostInodes = 4'000'000;  // a minute or two of making files
constexpr int kPerFolder = 20'000;          // folders grow slow
constexpr int kMostFolders = 10'000;

Result<int64_t> free_inodes(const std::string& path) {
  struct statvfs info {};
  if (::statvfs(path.c_str(), &info) != 0) return system_error(cat("cannot look at ", path), errno);
  return static_cast<int64_t>(info.f_ffree);
}

// A folder of its own per call of use_up, so that prolonging continues where apply ended.
Result<std::string> new_folder(const std::string& above) {
  for (int number = 0; number < kMostFolders; ++number) {
    std::string path = cat(above, "/", number);
    if (::mkdir(path.c_str(), 0700) == 0) return path;
    if (errno == ENOSPC) return std::string();
    if (errno != EEXIST) return system_error(cat("cannot make ", path), errno);
  }
  return unsupported_error(cat(above, " holds too many folders"));
}

// False when nothing more can be made.
Result<bool> make_files(const std::string& folder, int64_t count) {
  for (int64_t number = 0; number < count; ++number) {
    std::string path = cat(folder, "/", number);
    if (::mknod(path.c_str(), S_IFREG | 0600, 0) == 0 || errno == EEXIST) continue;
    if (errno == ENOSPC) return false;
    return system_error(cat("cannot make ", path), errno);
  }
  return true;
}

Status use_up(const FaultWork& work) {
  ASSIGN_OR_RETURN(double left, number_param(work.part, "left", 0, 1e12));
  ASSIGN_OR_RETURN(std::string above, hidden_folder(work));
  for (int folders = 0; folders < kMostFolders; ++folders) {
    ASSIGN_OR_RETURN(int64_t unused, free_inodes(above));
    int64_t wanted = unused - static_cast<int64_t>(left);
    if (wanted <= 0) return Ok{};
    ASSIGN_OR_RETURN(std::string folder, new_folder(above));
    if (folder.empty()) return Ok{};
    ASSIGN_OR_RETURN(bool more, make_files(folder, std::min<int64_t>(wanted - 1, kPerFolder)));
    if (!more) return Ok{};
  }
  return Ok{};
}

Status check_kind(const Mount& mount) {
  if (is_ext(mount)) return Ok{};
  return unsupported_error(cat("err_inodes: the ", mount.type, " at ", mount.target, " has no fixed number of inodes"),
                           "it needs ext4 below the server, as in: culprit lab up --format ext4; err_space works here");
}

Status prepare(FaultWork& work) {
  ASSIGN_OR_RETURN(double left, number_param(work.part, "left", 0, 1e12));
  ASSIGN_OR_RETURN(Mount mount, chosen_mount(work));
  RETURN_IF_ERROR(check_kind(mount));
  note_mount(work, mount);
  ASSIGN_OR_RETURN(int64_t unused, free_inodes(mount.target));
  if (unused - static_cast<int64_t>(left) <= kMostInodes) return Ok{};
  return unsupported_error(cat("err_inodes: ", mount.target, " has ", unused, " unused inodes, too many to use up"),
                           cat("--param left=", unused - kMostInodes, " or more, or a smaller disk"));
}

Status apply(FaultWork& work) {
  RETURN_IF_ERROR(make_hidden_folder(work));
  RETURN_IF_ERROR(use_up(work));
  ASSIGN_OR_RETURN(double left, number_param(work.part, "left", 0, 1e12));
  ASSIGN_OR_RETURN(std::string folder, hidden_folder(work));
  ASSIGN_OR_RETURN(int64_t unused, free_inodes(folder));
  if (unused <= static_cast<int64_t>(left) + 1) return Ok{};
  return unsupported_error(cat("err_inodes: ", unused, " inodes are still unused"), "is the disk full?");
}

// What the daemons delete meanwhile is used up again.
Status prolong(const FaultWork& work) {
  return use_up(work);
}

}  // namespace

extern const FaultInfo fault_err_inodes;
const FaultInfo fault_err_inodes = {
    .name = "err_inodes",
    .summary = "the file system that holds the server's data has no inodes left (ENOSPC); ext4 only",
    .kind = FaultClass::leased,
    .held = HeldBy::journal,
    .params = {{"left", "COUNT", "0", "how many inodes are left"}, kDiskParam},
    .needs_disk = true,
    .leaves_files = true,
    .prepare = prepare,
    .apply = apply,
    .prolong = prolong,
    .undo = remove_hidden_folder,
    .active = hidden_folder_exists,
};

}  // namespace culprit
