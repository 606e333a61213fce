// Time as a parameter: tests run with a clock of their own.
#pragma once

#include <cstdint>

namespace culprit {

int64_t wall_now_ns();       // CLOCK_REALTIME
int64_t monotonic_now_ns();  // CLOCK_MONOTONIC
int64_t cpu_time_ns();       // CPU time of this process, all threads

}  // namespace culprit
