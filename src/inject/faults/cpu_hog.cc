// Processes that compute on the server.
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "inject/fault.h"
#include "inject/hog.h"

namespace culprit {

namespace {

constexpr double kMostThreads = 256;

Result<int> threads_of(const FaultPart& part) {
  if (word_param(part, "threads").empty()) return static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  ASSIGN_OR_RETURN(double threads, number_param(part, "threads", 1, kMostThreads));
  return static_cast<int>(std::lround(threads));
}

Status prepare(FaultWork& work) {
  RETURN_IF_ERROR(threads_of(work.part));
  RETURN_IF_ERROR(number_param(work.part, "share", 0.01, 1));
  return Ok{};
}

void burn(double share) {
  constexpr int64_t kStretch = 5 * kNsPerMs;  // short, so that a part of a processor looks like one
  while (true) {
    int64_t begin = monotonic_now_ns();
    while (monotonic_now_ns() - begin < kStretch) {
    }
    rest_after(kStretch, share);
  }
}

Status apply(FaultWork& work) {
  ASSIGN_OR_RETURN(int threads, threads_of(work.part));
  ASSIGN_OR_RETURN(double share, number_param(work.part, "share", 0.01, 1));
  for (int i = 0; i < threads; ++i) RETURN_IF_ERROR(start_hog(work, [=] { burn(share); }));
  return Ok{};
}

}  // namespace

extern const FaultInfo fault_cpu_hog;
const FaultInfo fault_cpu_hog = {
    .name = "cpu_hog",
    .summary = "processes that compute on the server",
    .params = {{"threads", "COUNT", "", "how many; without it: one per processor"},
               {"share", "FRACTION", "1", "of the time each of them computes, from 0.01"}},
    .prepare = prepare,
    .apply = apply,
    .undo = kill_hogs,
    .active = hogs_alive,
};

}  // namespace culprit
