// The file of a load: whole records at an offset, whatever the calls leave undone, and errors that say where.
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "base/fd.h"
#include "load/load_options.h"

namespace culprit {

class LoadFile {
 public:
  LoadFile(std::string path, bool direct, const std::atomic<bool>& stop)
      : path_(std::move(path)), direct_(direct), stop_(stop) {}

  // For write, rewrite or read. What is open in the same way stays open: closing makes network file systems flush.
  Status open(LoadStep step);
  Result<int64_t> size() const;
  // All of the bytes, or fewer when it is to stop.
  Result<int64_t> write_at(const char* data, int64_t bytes, int64_t offset);
  Result<int64_t> read_at(char* data, int64_t bytes, int64_t offset);
  Status sync();
  Status drop();                               // sync, forget, close
  bool unsynced() const { return unsynced_; }  // something was written since the last sync

 private:
  template <class Call>
  Result<int64_t> whole(std::string_view verb, int64_t bytes, int64_t offset, Call call);
  Error open_error(LoadStep step, int errno_value) const;
  Status close();

  std::string path_;
  bool direct_;
  const std::atomic<bool>& stop_;
  Fd fd_;
  bool writable_ = false;
  bool unsynced_ = false;
};

}  // namespace culprit
