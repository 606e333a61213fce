// How fast a load goes: a pace in bytes per second, constant or as a triangle, and idle times. Pure functions of the
// time since the load began, so that the shape stays where it is on the clock whatever the disks do.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace culprit {

// A constant pace is a ramp that stays where it is. With gaps the pace counts busy time only.
struct LoadRate {
  int64_t low_bytes = 0;   // per second, where the ramp begins and ends
  int64_t high_bytes = 0;  // per second, at half of its period; 0: as fast as it goes
  int64_t period_ns = kNsPerSecond;
  int64_t busy_ns = 0;
  int64_t idle_ns = 0;  // after each busy time; 0: no gaps
};

// "20MB", "ramp:5MB-20MB/10s", "gaps:3s-2s", or a pace and gaps: "gaps:3s-2s,10MB".
Result<LoadRate> parse_load_rate(std::string_view text);

// How many bytes are due at this time; of a rate that has a pace.
double allowed_bytes(const LoadRate& rate, int64_t ns);
// When the next byte may go, if so many went before: now, or later.
int64_t next_turn_ns(const LoadRate& rate, double bytes, int64_t now_ns);

// Keeps count. After a stall it makes up for one second at most, because a burst would be a load of another shape.
class LoadPacer {
 public:
  explicit LoadPacer(const LoadRate& rate) : rate_(rate) {}

  int64_t next_ns(int64_t now_ns);
  void sent(int64_t bytes) { bytes_ += static_cast<double>(bytes); }

 private:
  LoadRate rate_;
  double bytes_ = 0;  // what went, and what is given up as lost
};

}  // namespace culprit
