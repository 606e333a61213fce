// `culprit syscap show RUN --times`: what hotdep09_statistical compares, the mean service times per second and server.
#pragma once

#include "cli/command.h"

namespace culprit {

// args.positionals: "show", then a run.
Result<int> show_times(const Args& args);

}  // namespace culprit
