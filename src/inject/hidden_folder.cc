#include "inject/hidden_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/fd.h"
#include "base/text.h"
#include "inject/diskfs.h"
#include "inject/part_text.h"

namespace culprit {

namespace {

constexpr int kMostDepth = 3;  // ours has two levels

using Folder = std::unique_ptr<DIR, int (*)(DIR*)>;

// Opens a folder inside `parent`, never through a link.
Result<Folder> open_folder(int parent, const std::string& name) {
  int fd = ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return system_error(cat("cannot open ", name), errno);
  Folder folder(::fdopendir(fd), ::closedir);
  if (!folder) {
    int error = errno;
    ::close(fd);
    return system_error(cat("cannot read ", name), error);
  }
  return folder;
}

Status remove_tree(int parent, const std::string& name, int depth) {
  auto opened = open_folder(parent, name);
  if (!opened && opened.error().errno_value == ENOENT) return Ok{};
  if (!opened) return std::move(opened).error();
  int inside = ::dirfd(opened->get());
  while (const dirent* entry = ::readdir(opened->get())) {
    std::string each = entry->d_name;
    if (each == "." || each == "..") continue;
    if (::unlinkat(inside, each.c_str(), 0) == 0 || errno == ENOENT) continue;
    if (errno != EISDIR || depth >= kMostDepth) return system_error(cat("cannot remove ", name, "/", each), errno);
    RETURN_IF_ERROR(remove_tree(inside, each, depth + 1));
  }
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
    return system_error(cat("cannot remove ", name), errno);
  return Ok{};
}

// On the disk, or a failure of the file system soon after would bring the folder back.
Status sync_folder(const std::string& path) {
  Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid() || ::fsync(folder.get()) != 0) return system_error(cat("cannot sync ", path), errno);
  return Ok{};
}

}  // namespace

Result<std::string> hidden_folder(const FaultWork& work) {
  if (!is_plain_name(work.part.id)) return input_error(cat("'", printable(work.part.id), "' is no injection's id"));
  ASSIGN_OR_RETURN(Mount mount, noted_mount(work));
  ASSIGN_OR_RETURN(FsState state, look_at_fs(work, mount));
  if (state == FsState::unmounted)
    return unsupported_error(cat(mount.source, " is not mounted at ", mount.target, " any more"),
                             "mount it, then culprit inject --undo-all");
  if (is_another_fs(work, mount))
    return unsupported_error(cat("another file system than that of the fault is mounted at ", mount.target, " now"),
                             cat("find the one with the folder .culprit-", work.part.id,
                                 " and mount it there, then culprit "
                                 "inject --undo-all"));
  return cat(mount.target == "/" ? "" : mount.target, "/.culprit-", work.part.id);
}

Status make_hidden_folder(const FaultWork& work) {
  ASSIGN_OR_RETURN(std::string path, hidden_folder(work));
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return system_error(cat("cannot make ", path), errno);
  return Ok{};
}

Status remove_hidden_folder(const FaultWork& work) {
  if (!has_noted_mount(work)) return Ok{};  // prepare did not come that far
  ASSIGN_OR_RETURN(std::string path, hidden_folder(work));
  RETURN_IF_ERROR(remove_tree(AT_FDCWD, path, 1));
  return sync_folder(path.substr(0, path.rfind('/') + 1));
}

Result<bool> hidden_folder_exists(const FaultWork& work) {
  if (!has_noted_mount(work)) return false;
  ASSIGN_OR_RETURN(std::string path, hidden_folder(work));
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0) return true;
  if (errno == ENOENT) return false;
  return system_error(cat("cannot look at ", path), errno);
}

}  // namespace culprit
