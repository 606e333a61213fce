#include "analyse/histogram.h"

#include <algorithm>
#include <cmath>

#include "analyse/windows.h"
#include "base/check.h"

namespace culprit {

namespace {

struct Grid {
  double low = 0;
  double width = 0;
};

std::vector<double> pooled(const std::vector<std::vector<double>>& values) {
  std::vector<double> all;
  for (const auto& v : values) all.insert(all.end(), v.begin(), v.end());
  return all;
}

// Probabilities of one server's values: p = (c/N + e) / (1 + B e).
void fill_probabilities(const std::vector<double>& values, const Grid& grid, const Binning& binning, double* p) {
  std::fill(p, p + binning.bins, 0.0);
  for (double value : values) {
    int bin = static_cast<int>((value - grid.low) / grid.width);
    p[std::clamp(bin, 0, binning.bins - 1)] += 1;
  }
  const double n = static_cast<double>(values.size());
  for (int b = 0; b < binning.bins; ++b) p[b] = (p[b] / n + binning.epsilon) / (1 + binning.bins * binning.epsilon);
}

double dot(const double* a, const double* b, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

double distance_ceiling(const Binning& binning) {
  const double e = binning.epsilon;
  return std::log((1 + e) / e) / (1 + binning.bins * e);
}

Distances all_distances(const std::vector<std::vector<double>>& values, const Binning& binning, bool& active) {
  Distances out(values.size());
  std::vector<double> all = pooled(values);
  CHECK(!all.empty());
  auto [low, high] = std::minmax_element(all.begin(), all.end());
  const double range = *high - *low;
  active = range > 0 && range >= binning.floor;
  if (!active) return out;

  Grid grid{*low, range / binning.bins};
  grid.width = std::max({grid.width, binning.floor, binning.median_share * std::fabs(median_of(all))});

  const size_t n = values.size();
  const size_t bins = static_cast<size_t>(binning.bins);
  std::vector<double> p(n * bins), l(n * bins), h(n);
  for (size_t i = 0; i < n; ++i) {
    fill_probabilities(values[i], grid, binning, &p[i * bins]);
    for (size_t b = 0; b < bins; ++b) l[i * bins + b] = std::log(p[i * bins + b]);
    h[i] = dot(&p[i * bins], &l[i * bins], binning.bins);
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i + 1; j < n; ++j) {
      double cross = dot(&p[i * bins], &l[j * bins], binning.bins) + dot(&p[j * bins], &l[i * bins], binning.bins);
      out.set(i, j, std::max(0.0, (h[i] + h[j] - cross) / 2));  // rounding must not make equals differ below zero
    }
  }
  return out;
}

}  // namespace culprit
