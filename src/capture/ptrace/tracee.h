// A traced process and its threads, as the tracer remembers them between two stops.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "calls/call.h"
#include "capture/proc_fd.h"

namespace culprit {

// Of which descriptors of a process it is known what they are, and their class. A byte each.
class KnownFds {
 public:
  bool knows(int fd) const { return at(fd) != kUnknown; }
  FdClass class_of(int fd) const { return knows(fd) ? static_cast<FdClass>(at(fd)) : FdClass::other; }
  void learn(int fd, FdClass fd_class) {
    if (fd < 0 || fd >= kMost) return;
    if (static_cast<size_t>(fd) >= classes_.size()) classes_.resize(static_cast<size_t>(fd) + 1, kUnknown);
    classes_[static_cast<size_t>(fd)] = static_cast<uint8_t>(fd_class);
  }
  void forget(int fd) { forget(fd, fd); }
  void forget(int64_t first, int64_t last) {
    last = std::min(last, static_cast<int64_t>(classes_.size()) - 1);
    for (int64_t fd = std::max<int64_t>(first, 0); fd <= last; ++fd) classes_[static_cast<size_t>(fd)] = kUnknown;
  }
  void forget_all() { classes_.clear(); }

 private:
  static constexpr uint8_t kUnknown = 255;
  static constexpr int kMost = 1 << 20;  // descriptors above this are looked up at every use
  uint8_t at(int fd) const {
    return fd >= 0 && static_cast<size_t>(fd) < classes_.size() ? classes_[static_cast<size_t>(fd)] : kUnknown;
  }
  std::vector<uint8_t> classes_;
};

struct TracedProcess {
  TracedProcess(pid_t number, size_t its_node, bool has_filter)
      : pid(number), node(its_node), filtered(has_filter), proc(number) {}

  pid_t pid;
  size_t node;
  bool filtered;  // our seccomp filter is on it: it stops at wanted calls only, and cannot live without us
  int threads = 0;
  ProcFds proc;
  KnownFds fds;
};

struct TracedThread {
  pid_t tid = 0;
  TracedProcess* process = nullptr;
  bool started = true;    // false: the command before its exec, what it does is ours
  bool stranger = false;  // somebody else has this number now: to be let loose
  bool in_call = false;
  bool noted = false;  // the call it is in is recorded or followed; it is in `call`
  FdClass fd_class = FdClass::other;
  Call call;
};

}  // namespace culprit
