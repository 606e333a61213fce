// Processes by their number and start time: together they name a process for ever, because numbers are used again.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace culprit {

// Field `number` of /proc/PID/stat, counted from 1 as in proc(5); the name in field 2 may hold blanks and brackets.
bool stat_field(std::string_view stat, int number, int64_t& out);

struct ProcessId {
  pid_t pid = 0;
  int64_t start_ticks = 0;
};

// Who has this number now; an error when nobody has. `proc` is the root of /proc.
Result<ProcessId> identify_process(pid_t pid, const std::string& proc = "/proc");
// Still the same process, and no zombie; one whose first thread has ended lives as long as another of its threads.
bool is_alive(const ProcessId& process, const std::string& proc = "/proc");
// Its state as in /proc/PID/stat (R, S, D, T, Z...); 0 when it is gone.
char process_state(const ProcessId& process, const std::string& proc = "/proc");
// Sends the signal if it is still the same process; false when it is gone.
bool signal_process(const ProcessId& process, int signal_number);
// Waits until it is gone (a zombie counts as gone); false when the time is over.
bool wait_gone(const ProcessId& process, int64_t timeout_ns);

// "PID START_TICKS", as files and journals keep it.
std::string format_process(const ProcessId& process);
Result<ProcessId> parse_process(std::string_view text);

}  // namespace culprit
