// A call as people know it from strace: pwrite64(7</brick/f>, ..., 4096, 0) = 4096 <0.000213>
#pragma once

#include <string>
#include <string_view>

#include "calls/call.h"
#include "calls/fd_map.h"

namespace culprit {

struct TextOptions {
  bool time = true;       // seconds since 1970 with microseconds, as strace -ttt
  bool thread = true;     // "[pid 4711] " as strace -f
  bool names = true;      // what descriptors are, as strace -yy
  bool class_of = false;  // "storage " before the call
};

// One line without newline. Signals: "--- SIGTERM {si_signo=SIGTERM, si_code=0, si_pid=17} ---"; ends:
// "+++ exited with 0 +++", "+++ killed by SIGKILL +++"; completions: "aio: pwrite(7</brick/f>, 4096, 0) = 4096 <...>".
std::string call_text(const Call& call, const FdMap& fds, const TextOptions& options = {});
std::string fd_text(const FdRecord& record);  // "</brick/f>", "<TCP:[10.0.0.1:49152->10.0.0.7:1023]>"

// The same in two halves, for a call that others overtook: "[pid 4711] 1700000000.000001 read(7</brick/f>, ..., 4096"
// and ") = 4096 <0.000213>". Of the kinds but `call` all is in the first half.
struct TextHalves {
  std::string head;
  std::string tail;
};
TextHalves call_halves(const Call& call, const FdMap& fds, const TextOptions& options = {});
std::string line_start(int64_t t_ns, int32_t thread, const TextOptions& options);  // "[pid 4711] 1700000000.000001 "
std::string seconds_text(int64_t ns, int digits);  // 6 digits: "0.000213"; cut, not rounded

// What a record is about, for rows and filters: the path it failed on; the descriptor it made; else the one it worked
// on.
struct RecordTarget {
  int32_t fd = -1;
  const FdRecord* what = nullptr;
};
RecordTarget record_target(const Call& call, const FdMap& fds);
std::string target_name(const FdRecord& record);  // "/brick/f", "TCP:[10.0.0.1:49152->10.0.0.7:1023]"; not escaped

std::string kind_name(CallKind kind);  // call, signal, exit, aio, uring
// pread64, SIGTERM, exited, killed, pwrite: what `number` means for the kind.
std::string record_name(const Call& call);

// Names as they go into a line: quotes, backslashes, < and > and control bytes escaped as strace does; and back.
std::string escape_name(std::string_view name);
std::string unescape_name(std::string_view text);

}  // namespace culprit
