// Flags of single metrics joined to incidents of servers, with onset, end, cause and evidence. Rules 13 and 14.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "analyse/series.h"
#include "model/verdict.h"

namespace culprit {

using TickRange = std::pair<size_t, size_t>;  // from, until (not included)

// A maximal time in which one server is flagged in one metric. All times in ticks; they may lie past the data's end.
struct Flag {
  size_t server = 0;
  Metric metric = Metric::count;
  TickRange flagged;                 // when a watcher would have known
  TickRange onset;                   // within this it began
  size_t end = 0;                    // the fault's, as far as this metric knows
  bool open = false;                 // nothing that was judged later was normal: it may not have ended
  std::vector<TickRange> anomalous;  // the windows (ticks for cwnd) that convicted
  bool per_tick = false;             // they are ticks, not windows
  int windows = 0;                   // how many of them
  int windows_judged = 0;            // of how many
  double distance = 0;
  double threshold = 0;
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
