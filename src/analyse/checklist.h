// Phase II of FAST'10 (10.2 and the disambiguation of section 12): from the metrics in which a server deviates to the
// cause. Rule 13. The first step that says yes decides.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/metric.h"
#include "model/verdict.h"

namespace culprit {

struct Cause {
  std::string name;  // disk-hog, disk-busy, network-hog, packet-loss
  Resource resource = Resource::disk;
  int step = 0;            // 1 to 4
  std::string why;         // as the step has it; explain_step looks at the values, too
  std::set<Metric> asked;  // the metrics the deciding step looks at
};

// `deviating` holds at least one of the indicting metrics.
Cause find_cause(const std::set<Metric>& deviating);

// The step in words that the evidence bears out. A metric convicts by its distribution: its mean may lie among those of
// the peers, or on the other side than the step has it.
std::string explain_step(const Cause& cause, const std::vector<Evidence>& evidence);
// "answer later", or what the evidence on await says of the disks instead.
std::string_view how_disks_answer(const std::vector<Evidence>& evidence);

}  // namespace culprit
