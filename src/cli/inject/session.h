// One injection in the foreground: its loop, what it says meanwhile, and what it answers at the end.
#pragma once

#include "base/result.h"
#include "inject/controller.h"

namespace culprit {

struct SessionOptions {
  bool dry_run = false;
  bool json = false;
};

// The exit code: 0 when everything went as planned and is seen to be gone, 1 otherwise.
Result<int> run_session(InjectPlan plan, const StartLink& start, const SessionOptions& options);

}  // namespace culprit
