#include "analyse/windows.h"

#include <algorithm>

namespace culprit {

double trailing_mean(const Series& series, size_t tick, size_t span, size_t at_least) {
  // Each mean is summed afresh: a running sum would drag rounding errors of large counters into quiet times, and
  // identical values must have identical means.
  double sum = 0;
  size_t present = 0;
  for (size_t u = tick + 1 >= span ? tick + 1 - span : 0; u <= tick; ++u) {
    if (is_missing(series[u])) continue;
    sum += series[u];
    ++present;
  }
  return present >= at_least && present > 0 ? sum / static_cast<double>(present) : kMissing;
}

Series trailing_average(const Series& series, size_t span, size_t at_least) {
  Series out(series.size(), kMissing);
  for (size_t t = 0; t < series.size(); ++t) out[t] = trailing_mean(series, t, span, at_least);
  return out;
}

double median_of(std::vector<double> values) {
  if (values.empty()) return kMissing;
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

OthersSorted::OthersSorted(const std::vector<double>& sorted, double self)
    : sorted_(sorted),
      rank_(static_cast<size_t>(std::lower_bound(sorted.begin(), sorted.end(), self) - sorted.begin())) {}

}  // namespace culprit
