#include "cli/record/node_track.h"

#include "base/text.h"
#include "base/units.h"
#include "cli/record/timing.h"

namespace culprit {

namespace {
constexpr int64_t kGapTicks = 2;  // one missed tick is counted; two in a row are a gap worth an event
}

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

std::optional<Gap> NodeTrack::sample(int64_t t_ns, int64_t mono_ns) {
  std::optional<Gap> gap;
  // Before its first sample a node is only late when it was said to be: connecting takes its time.
  if (samples_ > 0)
    gap = close_gap(last_ns_, t_ns, missing_ticks(last_ns_, t_ns, interval_ns_));
  else if (silent())
    gap = close_gap(start_ns_, t_ns, missing_ticks(start_ns_, t_ns, interval_ns_));
  ++samples_;
  last_ns_ = t_ns;
  last_mono_ns_ = mono_ns;
  return gap;
}

bool NodeTrack::lost(const std::string& reason) {
  if (silent()) return false;
  reason_ = reason.empty() ? "unknown" : reason;
  return true;
}

std::optional<Gap> NodeTrack::finish(int64_t end_ns) {
  if (!silent()) return std::nullopt;
  int64_t from = samples_ > 0 ? last_ns_ : start_ns_;
  return close_gap(from, end_ns, missing_ticks(from, end_ns, interval_ns_));
}

}  // namespace culprit
