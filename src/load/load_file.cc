#include "load/load_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "load/load_data.h"

namespace culprit {

namespace {

struct Hint {
  int errno_value;
  std::string_view text;
};

constexpr Hint kHints[] = {{ENOSPC, "make --file-size smaller, or room"},
                           {EDQUOT, "make --file-size smaller, or the quota larger"},
                           {EFBIG, "make --file-size smaller"},
                           {ENOTCONN, "the file system is no longer mounted: mount it again"},
                           {ESTALE, "the file or its server is gone: mount it again"}};

Error io_error(std::string what, int errno_value) {
  for (const Hint& hint : kHints)
    if (hint.errno_value == errno_value) return system_error(std::move(what), errno_value, std::string(hint.text));
  return system_error(std::move(what), errno_value);
}

// A device must not be written over by a typing error, and a pipe would block for ever.
Status check_plain(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode)) return Ok{};
  return input_error(cat(path, " is not a plain file"), "a load uses a file of its own");
}

}  // namespace

Error LoadFile::open_error(LoadStep step, int errno_value) const {
  if (errno_value == ENOENT && step != LoadStep::write)
    return input_error(cat("there is no file ", path_), "make it first with --phases write");
  if (errno_value == EINVAL && direct_)
    return system_error(cat("cannot open ", path_, " for direct I/O"), errno_value,
                        "this file system does not do it: leave out --direct");
  return io_error(cat("cannot open ", path_), errno_value);
}

Status LoadFile::open(LoadStep step) {
  bool writes = step != LoadStep::read;
  if (fd_.valid() && step != LoadStep::write && writes == writable_) return Ok{};
  RETURN_IF_ERROR(close());
  RETURN_IF_ERROR(check_plain(path_));
  int flags = O_CLOEXEC | (writes ? O_WRONLY : O_RDONLY) | (direct_ ? O_DIRECT : 0) |
              (step == LoadStep::write ? O_CREAT | O_TRUNC : 0);
  do {
    fd_.reset(::open(path_.c_str(), flags, 0644));
  } while (!fd_.valid() && errno == EINTR && !stop_);
  if (!fd_.valid()) return open_error(step, errno);
  writable_ = writes;
  return Ok{};
}

// Network file systems tell of lost writes here.
Status LoadFile::close() {
  if (!fd_.valid() || ::close(fd_.release()) == 0 || errno == EINTR) return Ok{};
  return io_error(cat("cannot close ", path_), errno);
}

Result<int64_t> LoadFile::size() const {
  struct stat info {};
  if (::fstat(fd_.get(), &info) != 0) return io_error(cat("cannot look at ", path_), errno);
  return info.st_size;
}

template <class Call>
Result<int64_t> LoadFile::whole(std::string_view verb, int64_t bytes, int64_t offset, Call call) {
  int64_t done = 0;
  while (done < bytes) {
    ssize_t n = call(done);
    if (n < 0 && errno == EINTR) {
      if (stop_) break;
      continue;
    }
    if (n < 0) return io_error(cat("cannot ", verb, " ", path_, " at byte ", offset + done), errno);
    if (direct_ && done + n < bytes) n -= n % kLoadAlignment;  // the rest must be aligned as well
    if (n == 0) return input_error(cat("cannot ", verb, " ", path_, " at byte ", offset + done, ": it ends there"));
    done += n;
  }
  return done;
}

Result<int64_t> LoadFile::write_at(const char* data, int64_t bytes, int64_t offset) {
  unsynced_ = true;
  return whole("write", bytes, offset, [=, this](int64_t done) {
    return ::pwrite(fd_.get(), data + done, static_cast<size_t>(bytes - done), offset + done);
  });
}

Result<int64_t> LoadFile::read_at(char* data, int64_t bytes, int64_t offset) {
  return whole("read", bytes, offset, [=, this](int64_t done) {
    return ::pread(fd_.get(), data + done, static_cast<size_t>(bytes - done), offset + done);
  });
}

Status LoadFile::sync() {
  if (unsynced_) RETURN_IF_ERROR(open(LoadStep::rewrite));
  if (!fd_.valid()) RETURN_IF_ERROR(open(LoadStep::read));
  int failed = 0;
  do {
    failed = ::fsync(fd_.get());
  } while (failed != 0 && errno == EINTR && !stop_);
  if (failed != 0) return io_error(cat("cannot fsync ", path_), errno);
  unsynced_ = false;
  return Ok{};
}

Status LoadFile::drop() {
  RETURN_IF_ERROR(sync());
  if (int error = ::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_DONTNEED))
    return io_error(cat("cannot drop ", path_, " from memory"), error);
  return close();
}

}  // namespace culprit
