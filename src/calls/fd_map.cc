#include "calls/fd_map.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <limits>
#include <tuple>

#include "calls/syscalls.h"

namespace culprit {

namespace {

uint64_t owner_of(int32_t process, int32_t fd) {
  return uint64_t{static_cast<uint32_t>(process)} << 32 | static_cast<uint32_t>(fd);
}

}  // namespace

// Sorted tables and not hashes: a log may come from anywhere, and keys that all meet in one bucket would cost the
// square of their number.
FdMap::FdMap(std::vector<FdRecord> records) : records_(std::move(records)) {
  std::stable_sort(records_.begin(), records_.end(),
                   [](const FdRecord& a, const FdRecord& b) { return a.t_ns < b.t_ns; });
  for (size_t i = 0; i < records_.size(); ++i) {
    const FdRecord& record = records_[i];
    auto index = static_cast<uint32_t>(i);
    if (record.kind == FdKind::path && record.sequence != 0)
      failed_.push_back({record.sequence, index});
    else if (record.kind != FdKind::path && record.fd >= 0)
      known_.push_back({owner_of(record.process, record.fd), record.t_ns, index});
  }
  std::sort(known_.begin(), known_.end(), [](const Known& a, const Known& b) {
    return std::tie(a.owner, a.t_ns, a.index) < std::tie(b.owner, b.t_ns, b.index);
  });
  std::sort(failed_.begin(), failed_.end(), [](const Failed& a, const Failed& b) {
    return std::tie(a.sequence, a.index) < std::tie(b.sequence, b.index);
  });
}

const FdRecord* FdMap::find(int32_t process, int32_t fd, int64_t t_ns) const {
  if (fd < 0) return nullptr;
  Known wanted{owner_of(process, fd), t_ns, 0};
  auto later = std::upper_bound(known_.begin(), known_.end(), wanted, [](const Known& a, const Known& b) {
    return std::tie(a.owner, a.t_ns) < std::tie(b.owner, b.t_ns);
  });
  if (later == known_.begin() || std::prev(later)->owner != wanted.owner) return nullptr;
  return &records_[std::prev(later)->index];
}

const FdRecord* FdMap::failed_path(uint64_t sequence) const {
  auto found = std::lower_bound(failed_.begin(), failed_.end(), sequence,
                                [](const Failed& failed, uint64_t wanted) { return failed.sequence < wanted; });
  if (found == failed_.end() || found->sequence != sequence) return nullptr;
  return &records_[found->index];
}

int32_t fd_of(const Call& call) {
  int argument = -1;
  if (call.kind == CallKind::call) argument = fd_argument(call.number);
  if (call.kind == CallKind::aio || call.kind == CallKind::uring) argument = 0;
  if (argument < 0) return -1;
  // The kernel looks at 32 bits only. AT_FDCWD and whatever else is negative is no descriptor.
  auto fd = static_cast<int32_t>(static_cast<uint32_t>(call.args[static_cast<size_t>(argument)]));
  return fd < 0 ? -1 : fd;
}

int32_t made_fd(const Call& call) {
  constexpr int kFcntl = 72;
  const Syscall* known = call.kind == CallKind::call ? find_syscall(call.number) : nullptr;
  if (!known || !call.finished() || call.result < 0 || call.result > std::numeric_limits<int32_t>::max()) return -1;
  bool copies = call.number == kFcntl && (call.args[1] == F_DUPFD || call.args[1] == F_DUPFD_CLOEXEC);
  return known->returns_fd || copies ? static_cast<int32_t>(call.result) : -1;
}

const FdRecord* target_of(const Call& call, const FdMap& fds) {
  if (call.errno_value() == EBADF) return nullptr;
  return fds.find(call.process, fd_of(call), call.start_ns);
}

}  // namespace culprit
