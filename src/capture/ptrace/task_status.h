// A thread as /proc/TID/status has it: to whom it belongs, and who traces it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string_view>

namespace culprit {

struct TaskStatus {
  pid_t process = 0;
  pid_t parent = 0;
  pid_t tracer = 0;  // the thread that traces it; 0: nobody
  char state = 0;    // R, S, D, T, t, Z, X
};

std::optional<TaskStatus> parse_task_status(std::string_view text);
std::optional<TaskStatus> task_status(pid_t tid);  // nullopt when it is gone

}  // namespace culprit
