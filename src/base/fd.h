// File descriptors that close themselves, and whole-file reads and writes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace culprit {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~Fd() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() {
    int fd = fd_;
    fd_ = -1;
    return fd;
  }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

// Reads a regular file of at most `limit` bytes; larger ones are an error, so that no file can eat the memory.
Result<std::string> read_file(const std::string& path, int64_t limit = int64_t{64} << 20);
// Writes to a temporary name beside it, syncs, renames: readers see the old text or the new one.
Status write_file_atomically(const std::string& path, std::string_view text);
Status write_all(int fd, std::string_view bytes, const std::string& name);
bool path_exists(const std::string& path);
// Raises the limit of open files as far as it goes: the usual 1024 ends at some 300 nodes or 500 traced processes.
void allow_many_descriptors();

}  // namespace culprit
