// What recording costs: pairs of the same piece of work with and without a recorder (FAST'10, Table 6).
#pragma once

#include <string>
#include <vector>

#include "study/experiment.h"
#include "study/tally_interval.h"

namespace culprit {

struct OverheadRow {
  std::string workload;
  int pairs = 0;
  double seconds_off = 0;   // mean time of the work without recording
  double percent = 0;       // how much longer it took with it, mean over the pairs
  Interval interval;        // 95 % of that mean, by Student's t
  double recorder_cpu = 0;  // per cent of a core: the recorder with all samplers it started
  double node_cpu = 0;      // per cent of a core: sampling on one node, mean
  double bytes = 0;         // written per node and second
};

// By workload, in the order of their first pair; pairs of which a half is missing do not count. Halves of two campaigns
// are no pair.
std::vector<OverheadRow> tally_overhead(const std::vector<std::vector<Attempt>>& campaigns);
std::string overhead_text(const std::vector<OverheadRow>& rows, int64_t interval_ns);
std::string overhead_json(const std::vector<OverheadRow>& rows, int64_t interval_ns);

double student_t(int freedom);  // the 97.5 % point

}  // namespace culprit
