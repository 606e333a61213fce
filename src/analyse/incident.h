// Flags of single metrics joined to incidents of servers, with onset, end, cause and evidence. Rules 13 and 14.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "analyse/series.h"
#include "model/verdict.h"

namespace culprit {

using TickRange = std::pair<size_t, size_t>;  // from, until (not included)

// A trailing average; as it stands, the values themselves.
struct Average {
  size_t span = 1;
  size_t least = 1;
};

// A maximal time in which one server is flagged in one metric. All times in ticks; they may lie past the data's end.
struct Flag {
  size_t server = 0;
  Metric metric = Metric::count;
  TickRange flagged;                 // when a watcher would have known
  TickRange onset;                   // within this it began
  size_t end = 0;                    // the fault's, as far as this metric knows
  bool open = false;                 // nothing that was judged later was normal: it may not have ended
  std::vector<TickRange> anomalous;  // the windows (cwnd: the ticks, as one range) that convicted
  std::vector<TickRange> judged;     // the windows that were judged, from the first of those to the last
  bool per_tick = false;             // judged were ticks, not windows: `judged` is empty
  size_t values_before = 0;          // per tick: ticks with a value before `flagged`
  Average average;                   // per tick: what was judged
  double distance = 0;
  double threshold = 0;
  double ratio = 0;        // of medians: what convicted where the distance is not above the threshold (weak servers)
  double ratio_limit = 0;  // what it lies beyond; 0: the distance convicted everywhere
};

struct Incident {
  size_t server = 0;
  TickRange flagged;
  std::vector<Flag> flags;
};

// Joins flags of one server whose gaps are at most `join` ticks.
std::vector<Incident> find_incidents(std::vector<Flag> flags, size_t join);
// Runs the checklist and gathers the evidence.
Accusation accuse(const SeriesSet& series, const Incident& incident);

}  // namespace culprit
