#include "base/clock.h"

#include <ctime>

namespace culprit {

namespace {

int64_t now(clockid_t id) {
  timespec ts{};
  clock_gettime(id, &ts);
  return int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
}

}  // namespace

int64_t wall_now_ns() {
  return now(CLOCK_REALTIME);
}
int64_t monotonic_now_ns() {
  return now(CLOCK_MONOTONIC);
}
int64_t cpu_time_ns() {
  return now(CLOCK_PROCESS_CPUTIME_ID);
}

}  // namespace culprit
