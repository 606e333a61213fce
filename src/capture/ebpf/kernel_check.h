// Whether the ebpf backend can work here, and what this kernel's tracepoints look like.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace culprit {

// Rights, kernel version, type information; the error says which is missing and what to do.
Status check_ebpf();

// The parts, for the tests.
bool version_at_least(std::string_view release, int major, int minor);  // of uname -r: "6.18.44-x"
bool has_capability(std::string_view status, int number);               // `status`: the text of /proc/PID/status

// Tracepoints differ between kernels. The numbers of their arguments, from the kernel's own type information; -1: it
// has no such tracepoint.
struct Tracepoints {
  int process_exit = -1;
  int uring_submit_req = -1;
  int uring_submit_sqe = -1;
  int uring_complete = -1;
};
Result<Tracepoints> look_at_tracepoints();

}  // namespace culprit
