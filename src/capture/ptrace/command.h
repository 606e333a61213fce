// A command that waits before its exec until its tracer is ready.
#pragma once

#include <linux/filter.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace culprit {

struct WaitingCommand {
  pid_t pid = -1;
  Fd go;      // a byte written here lets it run
  Fd report;  // the errno of an exec that failed; closed by one that did not
};

// A child of the calling thread. It shares our streams and our process group, so that the terminal's signals reach it,
// and gets the limits and ignored signals that we were started with (inherited.h). With `filter` rows it installs them
// as the last thing before its exec.
Result<WaitingCommand> prepare_command(const std::vector<std::string>& argv, std::vector<sock_filter> filter);
void let_go(WaitingCommand& command);
// After its end: the errno of the exec that failed; 0 when it did run.
int exec_error(const WaitingCommand& command);

}  // namespace culprit
