// Processes that outlive us: started in a session of their own, in namespaces of their own if asked, and waited for
// until they say that they are ready.
#pragma once

#include <string>
#include <vector>

#include "base/process.h"

namespace culprit {

// `unshare_flags` are CLONE_NEW*; with CLONE_NEWPID the process is the first of its namespace. Its stderr goes to the
// file `log`, its stdout is read until the line "ready", at most `timeout_ns`; an early end is an error with the log's
// last lines.
Result<ProcessId> start_detached(const std::vector<std::string>& argv, int unshare_flags, const std::string& log,
                                 int64_t timeout_ns);

}  // namespace culprit
