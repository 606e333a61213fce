#include "inject/named_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"

namespace culprit {

namespace {

constexpr int64_t kPause = 50 * kNsPerMs;  // between looks at a lock that somebody holds

// The holder removes the file before it lets go: what we have locked may have no name any more.
bool has_its_name(const Fd& file, const std::string& path) {
  struct stat ours {
  }, named{};
  return ::fstat(file.get(), &ours) == 0 && ::stat(path.c_str(), &named) == 0 && ours.st_ino == named.st_ino &&
         ours.st_dev == named.st_dev;
}

Error held(const std::string& path, std::string_view what) {
  auto holder = read_file(path, 4096);
  std::string who = holder ? printable(trim(*holder), 200) : "";
  return input_error(cat(what, who.empty() ? "" : ": ", who),
                     "wait until it is over, or end it with `culprit inject --undo-all`");
}

}  // namespace

Result<NamedLock> NamedLock::take(const std::string& path, std::string_view holder, std::string_view what,
                                  int64_t wait_ns) {
  int64_t deadline = monotonic_now_ns() + wait_ns;
  while (true) {
    Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file.valid()) return system_error(cat("cannot open ", path), errno);
    bool locked = ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
    if (locked && has_its_name(file, path)) {
      if (::ftruncate(file.get(), 0) == 0) static_cast<void>(write_all(file.get(), cat(holder, "\n"), path));
      return NamedLock(path, std::move(file));  // without its text the lock is a lock all the same
    }
    if (!locked && errno != EWOULDBLOCK) return system_error(cat("cannot lock ", path), errno);
    if (monotonic_now_ns() >= deadline) return held(path, what);
    if (!locked) ::usleep(static_cast<useconds_t>(kPause / kNsPerUs));
  }
}

NamedLock::NamedLock(NamedLock&& other) noexcept
    : path_(std::exchange(other.path_, "")), file_(std::move(other.file_)) {}

NamedLock& NamedLock::operator=(NamedLock&& other) noexcept {
  if (this == &other) return *this;
  release();
  path_ = std::exchange(other.path_, "");
  file_ = std::move(other.file_);
  return *this;
}

NamedLock::~NamedLock() {
  release();
}

void NamedLock::release() {
  if (file_.valid()) ::unlink(path_.c_str());
  file_.reset();
}

}  // namespace culprit
