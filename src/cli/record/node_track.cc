#include "cli/record/node_track.h"

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "cli/record/timing.h"
#include "store/run_schema.h"

namespace culprit {

namespace {
constexpr int64_t kGapTicks = 2;  // one missed tick is counted; two in a row are a gap worth an event
}  // namespace

std::string gap_text(const Gap& gap) {
  return cat(gap.ticks, gap.ticks == 1 ? " tick" : " ticks", " without samples until ", format_time(gap.to_ns), ": ",
             gap.reason);
}

std::optional<Gap> NodeTrack::close_gap(int64_t from_ns, int64_t to_ns, int64_t ticks) {
  lost_ticks_ += ticks;
  if (!silent() && ticks < kGapTicks) return std::nullopt;
  ++gaps_;
  Gap gap{from_ns, to_ns, ticks, silent() ? reason_ : cat("the node missed ", ticks, " ticks")};
  reason_.clear();
  return gap;
}

void NodeTrack::set_clock(int64_t offset_ns) {
  offset_ns_ = offset_ns;
  clock_known_ = true;
}

int64_t NodeTrack::our_time(int64_t t_ns) const {
  int64_t ours = 0;
  if (__builtin_sub_overflow(t_ns, offset_ns_, &ours)) return t_ns < 0 ? 0 : kMaxTimeNs;
  return std::clamp<int64_t>(ours, 0, kMaxTimeNs);
}

// A wall clock that is set forward skips no tick when the monotonic one shows none. After a silence the node may have
// been booted anew, and its monotonic clock tells nothing.
int64_t NodeTrack::missed(int64_t t_ns, int64_t node_mono_ns) const {
  const int64_t by_wall = missing_ticks(last_ns_, t_ns, interval_ns_);
  if (silent() || last_node_mono_ns_ < 0 || node_mono_ns <= last_node_mono_ns_) return by_wall;
  return std::min(by_wall, missing_ticks(0, node_mono_ns - last_node_mono_ns_, interval_ns_));
}

std::optional<Gap> NodeTrack::sample(int64_t t_ns, int64_t wall_ns, int64_t mono_ns, int64_t node_mono_ns) {
  // Until the clock is measured, its first sample is taken for just made: wrong by the way here, not by minutes.
  if (!clock_known_ && samples_ == 0) offset_ns_ = t_ns - wall_ns;
  std::optional<Gap> gap;
  // Before its first sample a node is only late when it was said to be: connecting takes its time.
  if (samples_ > 0)
    gap = close_gap(our_time(last_ns_), our_time(t_ns), missed(t_ns, node_mono_ns));
  else if (silent())
    gap = close_gap(start_ns_, our_time(t_ns), missing_ticks(start_ns_, our_time(t_ns), interval_ns_));
  ++samples_;
  last_ns_ = t_ns;
  last_mono_ns_ = mono_ns;
  last_node_mono_ns_ = node_mono_ns;
  return gap;
}

bool NodeTrack::lost(const std::string& reason) {
  if (silent()) return false;
  reason_ = reason.empty() ? "unknown" : reason;
  return true;
}

std::optional<Gap> NodeTrack::finish(int64_t end_ns) {
  if (!silent()) return std::nullopt;
  int64_t from = samples_ > 0 ? our_time(last_ns_) : start_ns_;
  return close_gap(from, end_ns, missing_ticks(from, end_ns, interval_ns_));
}

}  // namespace culprit
