#include "cli/out_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/text.h"

namespace culprit {

OutFile::OutFile(std::string path) : path_(std::move(path)), target_(path_) {
  struct stat info {};
  bool plain = ::lstat(path_.c_str(), &info) != 0 || S_ISREG(info.st_mode);
  if (plain) target_ = cat(path_, ".tmp", static_cast<int>(::getpid()));
}

OutFile::~OutFile() {
  if (fd_.valid() && target_ != path_) ::unlink(target_.c_str());
}

Status OutFile::open() {
  fd_.reset(::open(target_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd_.valid()) return system_error(cat("cannot write ", path_), errno);
  return Ok{};
}

Status OutFile::write(std::string_view bytes) {
  return write_all(fd_.get(), bytes, path_);
}

Status OutFile::close() {
  bool synced = ::fsync(fd_.get()) == 0 || errno == EINVAL || errno == EROFS;  // a pipe or device cannot be synced
  if (!synced || (target_ != path_ && ::rename(target_.c_str(), path_.c_str()) != 0))
    return system_error(cat("cannot write ", path_), errno);
  fd_.reset();
  return Ok{};
}

}  // namespace culprit
