#include "base/fd.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/text.h"
#include "base/units.h"

namespace culprit {

void Fd::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

Result<std::string> read_file(const std::string& path, int64_t limit) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return system_error(cat("cannot read ", path), errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) == 0 && S_ISDIR(info.st_mode)) return input_error(cat(path, " is a folder, not a file"));
  std::string text;
  char block[65536];
  while (true) {
    ssize_t n = ::read(fd.get(), block, sizeof block);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(cat("cannot read ", path), errno);
    if (n == 0) return text;
    if (static_cast<int64_t>(text.size()) + n > limit)
      return input_error(cat(path, " is larger than ", format_bytes(limit)), "is it the right file?");
    text.append(block, static_cast<size_t>(n));
  }
}

Status write_all(int fd, std::string_view bytes, const std::string& name) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(cat("cannot write ", name), errno);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return Ok{};
}

Status write_file_atomically(const std::string& path, std::string_view text) {
  struct stat info {};
  // Renaming onto /dev/null would take it away from everybody; a link is not followed, so it is refused as well.
  if (::lstat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    return input_error(cat(path, " exists and is not a regular file"), "name a file");
  std::string temporary = cat(path, ".tmp", static_cast<int>(::getpid()));
  Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd.valid()) return system_error(cat("cannot write ", path), errno);
  Status written = write_all(fd.get(), text, path);
  int failed = 0;
  if (written && ::fsync(fd.get()) != 0) failed = errno;
  if (written && !failed && ::rename(temporary.c_str(), path.c_str()) != 0) failed = errno;
  if (!written || failed) ::unlink(temporary.c_str());
  if (failed) return system_error(cat("cannot write ", path), failed);
  return written;
}

bool path_exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

void allow_many_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace culprit
