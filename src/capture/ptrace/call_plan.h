// What the tracer does with each call, worked out once: at a stop there is no time for look-ups by name.
#pragma once

#include <array>
#include <cstdint>

#include "calls/syscalls.h"
#include "capture/backend.h"

namespace culprit {

// What a call does to the table of descriptors.
enum class FdEffect : uint8_t { none, returns_fd, fcntl, closes, closes_range, connects, binds };

struct CallPlan {
  bool wanted = false;    // it is recorded
  bool followed = false;  // it changes descriptors that wanted calls may use: seen, even if it is not recorded
  bool message = false;   // its vector is in a struct msghdr
  bool submits = false;   // asynchronous requests, whose completions ptrace cannot see
  int8_t fd = -1;         // indices of arguments
  int8_t second_fd = -1;
  int8_t path = -1;
  int8_t folder = -1;  // the descriptor that the path is relative to; -1: the working folder
  int8_t open_flags = -1;
  int8_t vector = -1;        // the vector of buffers; its length is the next one
  int8_t vector_bytes = -1;  // where the bytes asked for are put
  uint8_t arguments = 6;     // the registers after these hold rubbish
  FdEffect effect = FdEffect::none;

  bool seen() const { return wanted || followed; }
};

using CallPlans = std::array<CallPlan, kMostSyscalls>;

CallPlans make_plans(const CallSet& wanted);
CallSet seen_calls(const CallPlans& plans);

}  // namespace culprit
