// Phase II of FAST'10 (10.2 and the disambiguation of section 12): from the metrics in which a server deviates to the
// cause. Rule 13. The first step that says yes decides.
#pragma once

#include <set>
#include <string>

#include "model/metric.h"

namespace culprit {

struct Cause {
  std::string name;  // disk-hog, disk-busy, network-hog, packet-loss
  Resource resource = Resource::disk;
  int step = 0;  // 1 to 4
  std::string why;
  std::set<Metric> asked;  // the metrics the deciding step looks at
};

// `deviating` holds at least one of the indicting metrics.
Cause find_cause(const std::set<Metric>& deviating);

}  // namespace culprit
