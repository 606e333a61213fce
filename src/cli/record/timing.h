// When things happen in a recording, as pure functions: ticks, silence, reconnecting, the end of a commit's wait.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace culprit {

constexpr int64_t kMinInterval = 50 * kNsPerMs;        // below this the sampler's own cost would be seen
constexpr int64_t kMaxInterval = 3600 * kNsPerSecond;  // an hour

// Ticks that have no sample between two samples of a node; the time of a sample is rounded to its tick.
int64_t missing_ticks(int64_t earlier_ns, int64_t later_ns, int64_t interval_ns);

// No sample for this long: the node is said to be silent. One lost tick at 1 s is not yet silence.
constexpr int64_t silent_after(int64_t interval_ns) {
  return interval_ns * 5 / 2 + kNsPerSecond;
}
// A child that lives and says nothing for this long is started anew.
constexpr int64_t stuck_after(int64_t interval_ns) {
  return interval_ns * 5 + 30 * kNsPerSecond;
}

// The pause before attempt number `attempt` (0 is the first one after a failure): 1, 2, 5, 10, then always 30 s.
int64_t reconnect_delay(int attempt);

// Samples of one tick arrive spread out; they are committed together, but no later than this after the first one.
constexpr int64_t commit_within(int64_t interval_ns) {
  return interval_ns / 2 < 200 * kNsPerMs ? interval_ns / 2 : 200 * kNsPerMs;
}

}  // namespace culprit
