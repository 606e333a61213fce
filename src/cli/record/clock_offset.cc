#include "cli/record/clock_offset.h"

namespace culprit {

void OffsetEstimator::add(int64_t asked_mono_ns, int64_t answered_mono_ns, int64_t node_wall_ns,
                          int64_t wall_minus_mono_ns) {
  if (answered_mono_ns < asked_mono_ns) return;
  int64_t half = (answered_mono_ns - asked_mono_ns) / 2;
  ClockOffset found{node_wall_ns - (asked_mono_ns + half + wall_minus_mono_ns), half};
  if (!current_ || found.uncertainty_ns < current_->uncertainty_ns) current_ = found;
  if (++count_ != kPerRound) return;
  complete_ = current_;
  if (!first_) first_ = complete_;
}

void OffsetEstimator::start_round() {
  count_ = 0;
  current_.reset();
}

}  // namespace culprit
