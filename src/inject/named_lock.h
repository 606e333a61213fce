// One injector at a time: a file that is locked while its holder lives and says who that is. The lock goes with the
// process, so nothing is stale after a kill -9.
#pragma once

#include <string>
#include <string_view>

#include "base/fd.h"

namespace culprit {

class NamedLock {
 public:
  // Waits up to `wait_ns`. When somebody else has it, the error is "WHAT: " and what the holder wrote.
  static Result<NamedLock> take(const std::string& path, std::string_view holder, std::string_view what,
                                int64_t wait_ns);
  NamedLock(NamedLock&& other) noexcept;
  NamedLock& operator=(NamedLock&& other) noexcept;
  ~NamedLock();  // removes the file

 private:
  NamedLock(std::string path, Fd file) : path_(std::move(path)), file_(std::move(file)) {}
  void release();
  std::string path_;
  Fd file_;
};

}  // namespace culprit
