#include "study/tally_interval.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace culprit {

namespace {

constexpr double kZ = 1.959963984540054;  // 97.5 % of a normal distribution lie below
constexpr double kTail = 0.025;
constexpr int kHalvings = 200;  // far below the last digit of a double

// P(X <= events) for a Poisson distribution of this mean.
double poisson_at_most(int events, double mean) {
  if (mean <= 0) return 1;
  double sum = 0;
  double log_term = -mean;  // of i events
  for (int i = 0; i <= events; ++i) {
    if (i > 0) log_term += std::log(mean) - std::log(i);
    sum += std::exp(log_term);
  }
  return std::min(sum, 1.0);
}

// The mean at which P(X <= events) is `share`; it falls as the mean grows.
double mean_where(int events, double share) {
  double low = 0;
  double high = 2.0 * events + 20;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (poisson_at_most(events, middle) > share ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

Interval wilson(int hits, int of) {
  if (of <= 0) return {0, 1};
  const double n = of;
  const double p = hits / n;
  const double scale = 1 + kZ * kZ / n;
  const double middle = (p + kZ * kZ / (2 * n)) / scale;
  const double half = kZ * std::sqrt(p * (1 - p) / n + kZ * kZ / (4 * n * n)) / scale;
  return {hits == 0 ? 0 : std::max(0.0, middle - half), hits == of ? 1 : std::min(1.0, middle + half)};
}

Interval poisson(int events) {
  return {events > 0 ? mean_where(events - 1, 1 - kTail) : 0, mean_where(events, kTail)};
}

double quantile(std::vector<double> values, double q) {
  CHECK(!values.empty() && q >= 0 && q <= 1) << q;
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const size_t below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

}  // namespace culprit
