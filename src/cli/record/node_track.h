// What is missing of one node's samples: missed ticks are counted, and a silence becomes a gap with its reason.
// Missing is never zero: a gap is an event of the run, and nobody invents samples for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace culprit {

struct Gap {
  int64_t from_ns = 0;  // the last sample before it, or the start of the recording
  int64_t to_ns = 0;    // the first sample after it, or the end of the recording
  int64_t ticks = 0;    // without a sample
  std::string reason;
};
std::string gap_text(const Gap& gap);  // "12 ticks without samples until 2026-11-15T22:40:01.000Z: not reachable: ..."

class NodeTrack {
 public:
  // `same_clock`: the node's clock is ours. Otherwise its offset is measured by and by.
  NodeTrack(int64_t start_ns, int64_t interval_ns, bool same_clock = true)
      : start_ns_(start_ns), interval_ns_(interval_ns), clock_known_(same_clock) {}

  // A sample of the node's time `t_ns` came now, at `wall_ns` and `mono_ns` of ours. Returns the gap that it ends.
  // Ticks between two samples are counted on the node's own clock, on which they are taken: so nothing seems to be
  // missing when its offset becomes known or is corrected. `node_mono_ns` is its monotonic clock, -1 where it is not
  // known: with it nothing seems to be missing when the node's clock is set forward, either.
  std::optional<Gap> sample(int64_t t_ns, int64_t wall_ns, int64_t mono_ns, int64_t node_mono_ns = -1);
  void set_clock(int64_t offset_ns);     // the node's clock minus ours
  int64_t our_time(int64_t t_ns) const;  // of a node's time; never negative, because no time in a run is
  // The node is silent, and why. The first reason of a silence counts: what follows are its consequences.
  // Returns true when it was not silent before.
  bool lost(const std::string& reason);
  // The recording ends: the gap that is open.
  std::optional<Gap> finish(int64_t end_ns);

  bool silent() const { return !reason_.empty(); }
  bool ever() const { return samples_ > 0; }
  int64_t samples() const { return samples_; }
  int64_t lost_ticks() const { return lost_ticks_; }
  int64_t gaps() const { return gaps_; }
  int64_t last_mono_ns() const { return last_mono_ns_; }  // when the last sample came; 0 before the first

 private:
  std::optional<Gap> close_gap(int64_t from_ns, int64_t to_ns, int64_t ticks);
  int64_t missed(int64_t t_ns, int64_t node_mono_ns) const;

  int64_t start_ns_;
  int64_t interval_ns_;
  bool clock_known_;
  int64_t offset_ns_ = 0;
  int64_t last_ns_ = 0;  // the node's time
  int64_t last_mono_ns_ = 0;
  int64_t last_node_mono_ns_ = -1;
  int64_t samples_ = 0;
  int64_t lost_ticks_ = 0;
  int64_t gaps_ = 0;
  std::string reason_;  // of the silence; empty: it is not silent
};

}  // namespace culprit
