// One line of strace, taken apart: who, when, what, how it ended. What the arguments mean is strace_args.h.
#pragma once

#include <cstdint>
#include <string_view>

namespace culprit {

enum class StraceKind {
  call,        // name(arguments) = result <duration>
  unfinished,  // name(arguments <unfinished ...>, <detached ...> or <pid changed to 7 ...>
  resumed,     // <... name resumed>arguments) = result <duration>
  signal,      // --- name {arguments} ---
  end,         // +++ exited with 0 +++, +++ killed by SIGKILL +++
  superseded,  // +++ superseded by execve in pid 8 +++
  idle,        // nothing that is kept: an empty line, strace's own messages, stops
  unknown,     // not strace's, or cut off
};

enum class StraceTime { none, clock, absolute };  // clock: "12:34:56.789012", of a day that is not said

// All texts point into the line.
struct StraceLine {
  StraceKind kind = StraceKind::unknown;
  int32_t thread = 0;  // 0: the line does not say
  StraceTime time = StraceTime::none;
  int64_t t_ns = 0;
  std::string_view name;
  std::string_view arguments;
  std::string_view result;   // "3</brick/f>", "-1 ENOENT (No such file or directory)", "?"
  int64_t duration_ns = -1;  // -1: the line does not say
  int status = 0;            // of an end, as wait(2) has it
  int32_t other = 0;         // superseded: the thread whose exec goes on under this line's number
};

StraceLine parse_strace_line(std::string_view text);

struct StraceResult {
  bool returned = false;        // false: "?", it never did
  int64_t value = 0;            // -errno when it failed
  std::string_view annotation;  // "/brick/f" of "3</brick/f>"
  bool deleted = false;         // "3</brick/f>(deleted)"
};

StraceResult parse_strace_result(std::string_view text);

}  // namespace culprit
