#include "cli/record/timing.h"

#include <algorithm>
#include <array>

namespace culprit {

int64_t missing_ticks(int64_t earlier_ns, int64_t later_ns, int64_t interval_ns) {
  int64_t half = interval_ns / 2;
  int64_t ticks = (later_ns + half) / interval_ns - (earlier_ns + half) / interval_ns;
  return std::max<int64_t>(0, ticks - 1);
}

int64_t reconnect_delay(int attempt) {
  constexpr std::array<int64_t, 5> kSeconds = {1, 2, 5, 10, 30};
  size_t index = static_cast<size_t>(std::clamp(attempt, 0, static_cast<int>(kSeconds.size()) - 1));
  return kSeconds[index] * kNsPerSecond;
}

}  // namespace culprit
