// What a descriptor was at a given moment: all fd records of a log, in the order of their time.
#pragma once

#include <cstdint>
#include <vector>

#include "calls/call.h"

namespace culprit {

class FdMap {
 public:
  FdMap() = default;
  explicit FdMap(std::vector<FdRecord> records);  // in any order

  // What `fd` of `process` was at `t_ns`: the last record not later than that; nullptr when nothing is known.
  const FdRecord* find(int32_t process, int32_t fd, int64_t t_ns) const;
  // The path on which the call with this sequence number failed; nullptr when it was none of those.
  const FdRecord* failed_path(uint64_t sequence) const;
  const std::vector<FdRecord>& records() const { return records_; }  // by time

 private:
  struct Known {
    uint64_t owner;  // process and descriptor
    int64_t t_ns;
    uint32_t index;
  };
  struct Failed {
    uint64_t sequence;
    uint32_t index;
  };
  std::vector<FdRecord> records_;
  std::vector<Known> known_;    // by owner, then time
  std::vector<Failed> failed_;  // by sequence
};

// The descriptor that a call works on: its own, from its arguments (syscalls.h); -1 when it has none.
int32_t fd_of(const Call& call);
// The descriptor that it made; -1 when it made none.
int32_t made_fd(const Call& call);
// What fd_of is: at the call's start, because it may be closed and used again before a long call ends. After EBADF
// nothing: the log does not say when a descriptor was closed, and what it was once is not what failed.
const FdRecord* target_of(const Call& call, const FdMap& fds);

}  // namespace culprit
