// A seccomp filter that stops a program at the wanted calls only. Rows by hand: a list of ranges needs no library.
#pragma once

#include <linux/filter.h>

#include <vector>

#include "capture/backend.h"

namespace culprit {

// SECCOMP_RET_TRACE for the calls of the set and for those of another architecture (they are counted), ALLOW otherwise.
std::vector<sock_filter> make_filter(const CallSet& calls);

// For the calling thread and what it will start; 0 or an errno. Safe between fork and exec. Without CAP_SYS_ADMIN the
// kernel wants no_new_privs first, and programs with the setuid bit then run without their rights.
int install_filter(const std::vector<sock_filter>& rows);

}  // namespace culprit
