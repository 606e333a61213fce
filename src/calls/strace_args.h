// The arguments of a call in strace's text: where each begins and ends, which descriptors are shown and what they are,
// and the numbers that the registers must have held.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "calls/call.h"
#include "calls/syscalls.h"

namespace culprit {

constexpr int32_t kStraceCwd = -100;  // AT_FDCWD
constexpr size_t kMostFdText = 4096;  // bytes of a name; the kernel's own limit for a path

// "7</brick/f>" somewhere in the arguments.
struct StraceFd {
  int32_t fd = -1;  // or kStraceCwd
  std::string_view annotation;
  bool nested = false;   // within brackets: pipe([3<...>, 4<...>]), poll([{fd=3<...>}]), a descriptor sent or received
  bool deleted = false;  // "7</brick/f>(deleted)"
};

struct StraceArgs {
  std::vector<std::string_view> list;  // as they stand there
  std::vector<StraceFd> fds;
  uint64_t iov_bytes = 0;  // sum of all "iov_len="
};

StraceArgs split_strace_args(std::string_view text);

// The end of the annotation that begins with the '<' at `at`: the place of its '>'. npos: it is none.
size_t annotation_end(std::string_view text, size_t at);

// The registers, as far as the text tells them: numbers, descriptors, flags of open and of messages, signals, the
// command of fcntl. Pointers and texts are 0.
void fill_registers(const Syscall& known, const StraceArgs& args, Call& call);

// The path on which a call worked: its first path argument; one relative to a folder that is shown has that before it.
// "" when there is none.
std::string strace_path(const Syscall& known, const StraceArgs& args);

// What an annotation says a descriptor is. No time, process or descriptor yet.
FdRecord parse_fd_annotation(std::string_view annotation, bool deleted);

// The number of a signal's si_code: "SI_USER", "SEGV_ACCERR", "-60". 0 when it is not known.
int64_t signal_code(std::string_view text);

// Whom connect was to reach: "10.0.0.2:49152", "[fe80::1]:24007". "" when that is no address of the Internet.
std::string strace_peer(const StraceArgs& args);

}  // namespace culprit
