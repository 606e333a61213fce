// How sure is a count? Intervals of 95 % for shares (Wilson: also right for few runs and for 0 and 100 %, where the
// usual one has no width) and for rates (Poisson, exact).
#pragma once

#include <vector>

namespace culprit {

struct Interval {
  double low = 0;
  double high = 0;
};

Interval wilson(int hits, int of);                      // of a share; 0 to 1 when `of` is 0
Interval poisson(int events);                           // of the expected number of events
double quantile(std::vector<double> values, double q);  // interpolated; `values` is not empty

}  // namespace culprit
