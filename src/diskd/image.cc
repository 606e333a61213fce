#include "diskd/image.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/text.h"
#include "vdisk/control.h"

namespace culprit {

namespace {

constexpr std::string_view kImage = ".img", kSnapshot = ".snapshot", kModel = ".model", kPartial = ".snapshot.partial";

Status copy_range(int from, int to, off_t begin, off_t end, const std::string& what) {
  static thread_local std::vector<char> buffer(1 << 20);
  while (begin < end) {
    size_t want = std::min<size_t>(buffer.size(), static_cast<size_t>(end - begin));
    ssize_t got = ::pread(from, buffer.data(), want, begin);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(what, errno);
    if (got == 0) return input_error(cat(what, ": the file became shorter"));
    for (ssize_t done = 0; done < got;) {
      ssize_t put = ::pwrite(to, buffer.data() + done, static_cast<size_t>(got - done), begin + done);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return system_error(what, errno);
      done += put;
    }
    begin += got;
  }
  return Ok{};
}

}  // namespace

Result<int64_t> file_size(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return system_error("cannot look at an image", errno);
  if (!S_ISREG(info.st_mode)) return input_error("the image is not a regular file");
  return static_cast<int64_t>(info.st_size);
}

Status copy_sparse(int from, int to, const std::string& what) {
  ASSIGN_OR_RETURN(int64_t size, file_size(from));
  if (::ftruncate(to, 0) != 0 || ::ftruncate(to, size) != 0) return system_error(what, errno);
  off_t at = 0;
  while (at < size) {
    off_t data = ::lseek(from, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) return Ok{};  // only a hole is left
    if (data < 0) return system_error(what, errno);
    off_t hole = ::lseek(from, data, SEEK_HOLE);
    if (hole < 0) return system_error(what, errno);
    RETURN_IF_ERROR(copy_range(from, to, data, hole, what));
    at = hole;
  }
  return Ok{};
}

Result<ImageFolder> ImageFolder::open(const std::string& path) {
  char* real = ::realpath(path.c_str(), nullptr);
  if (!real) return system_error(cat("cannot use the folder ", path), errno, "make it first");
  std::string absolute = real;
  ::free(real);
  Fd lock(::open(cat(absolute, "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid()) return system_error(cat("cannot lock ", absolute), errno);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    auto owner = read_file(cat(absolute, "/lock"), 64);
    return input_error(cat("another culprit-disk serves ", absolute),
                       owner ? cat("it is process ", printable(trim(*owner))) : "");
  }
  if (::ftruncate(lock.get(), 0) != 0) return system_error(cat("cannot write ", absolute, "/lock"), errno);
  RETURN_IF_ERROR(write_all(lock.get(), cat(static_cast<int>(::getpid()), "\n"), cat(absolute, "/lock")));
  return ImageFolder(absolute, std::move(lock));
}

std::string ImageFolder::file(const std::string& name, std::string_view suffix) const {
  return cat(path_, "/", name, suffix);
}

std::vector<std::string> ImageFolder::names() const {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path_, error)) {
    std::string file_name = entry.path().filename();
    if (!file_name.ends_with(kImage)) continue;
    file_name.resize(file_name.size() - kImage.size());
    if (valid_disk_name(file_name)) names.push_back(file_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<Fd> ImageFolder::create(const std::string& name, int64_t size) const {
  std::string path = file(name, kImage);
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return system_error(cat("cannot make ", path), errno);
  if (::ftruncate(fd.get(), size) != 0) {
    int failed = errno;
    ::unlink(path.c_str());
    return system_error(cat("cannot make ", path), failed);
  }
  return fd;
}

Result<Fd> ImageFolder::open_image(const std::string& name) const {
  std::string path = file(name, kImage);
  Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return system_error(cat("cannot open ", path), errno);
  return fd;
}

Status ImageFolder::remove(const std::string& name) const {
  for (std::string_view suffix : {kSnapshot, kModel}) ::unlink(file(name, suffix).c_str());
  if (::unlink(file(name, kImage).c_str()) != 0 && errno != ENOENT)
    return system_error(cat("cannot remove the image of ", name), errno);
  return Ok{};
}

DiskModel ImageFolder::load_model(const std::string& name) const {
  auto text = read_file(file(name, kModel), 1024);
  if (!text) return {};
  auto model = parse_disk_model(trim(*text));
  return model ? *model : DiskModel{};
}

Status ImageFolder::store_model(const std::string& name, const DiskModel& model) const {
  return write_file_atomically(file(name, kModel), cat(format_disk_model(model), "\n"));
}

bool ImageFolder::has_snapshot(const std::string& name) const {
  return path_exists(file(name, kSnapshot));
}

// Under another name until it is complete: a snapshot that exists is a whole one.
Status ImageFolder::snapshot(const std::string& name, int image) const {
  std::string partial = file(name, kPartial);
  Fd to(::open(partial.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!to.valid()) return system_error(cat("cannot make ", partial), errno);
  Status copied = copy_sparse(image, to.get(), cat("cannot copy the image of ", name));
  if (copied && ::rename(partial.c_str(), file(name, kSnapshot).c_str()) != 0)
    copied = system_error(cat("cannot keep the snapshot of ", name), errno);
  if (!copied) ::unlink(partial.c_str());
  return copied;
}

// In place, because the loop device holds this file. If we die half-way the snapshot is still there: restore again.
Status ImageFolder::restore(const std::string& name, int image) const {
  Fd from(::open(file(name, kSnapshot).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!from.valid() && errno == ENOENT) return input_error(cat("there is no snapshot of ", name), "take one first");
  if (!from.valid()) return system_error(cat("cannot open the snapshot of ", name), errno);
  return copy_sparse(from.get(), image, cat("cannot restore the image of ", name));
}

}  // namespace culprit
