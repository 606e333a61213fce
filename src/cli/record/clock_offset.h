// How far a node's clock is off, from questions that travel to it and back. The answer was given somewhere between the
// two moments we know, so half the way is the estimate and half the round trip what it may be wrong by. The quickest of
// several round trips is the best one, because queues only ever add time.
#pragma once

#include <cstdint>
#include <optional>

namespace culprit {

struct ClockOffset {
  int64_t offset_ns = 0;       // the node's wall clock minus ours
  int64_t uncertainty_ns = 0;  // half the round trip
};

class OffsetEstimator {
 public:
  static constexpr int kPerRound = 5;

  // One answer. `asked_mono_ns`/`answered_mono_ns` are our monotonic clock, `wall_minus_mono_ns` our wall clock's lead
  // over it, so that a step of our own wall clock between question and answer does no harm.
  void add(int64_t asked_mono_ns, int64_t answered_mono_ns, int64_t node_wall_ns, int64_t wall_minus_mono_ns);
  bool round_complete() const { return count_ >= kPerRound; }
  void start_round();
  // The best of the newest complete round; of the first, incomplete one until there is any.
  std::optional<ClockOffset> best() const { return complete_ ? complete_ : current_; }
  std::optional<ClockOffset> first() const { return first_; }  // of the first complete round

 private:
  int count_ = 0;
  std::optional<ClockOffset> current_, complete_, first_;
};

}  // namespace culprit
