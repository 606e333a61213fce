// Histograms of one metric in one window and the symmetric Kullback-Leibler distance between them (FAST'10, 10.1;
// rules 5 and 6). The distance of all pairs is a matrix product: with L = log P and h = P.L,
//   D(i,j) = (h_i + h_j - P_i.L_j - P_j.L_i) / 2.
#pragma once

#include <cstddef>
#include <vector>

namespace culprit {

struct Binning {
  int bins = 16;
  double epsilon = 1e-4;       // keeps empty bins finite; +1 smoothing would cap the distance far too low
  double median_share = 0.05;  // least bin width as a share of the pooled median: smaller differences are noise
  double floor = 0;            // least bin width and least pooled range, in the metric's unit
};

// The largest possible distance: everything of each in one bin, another one.
double distance_ceiling(const Binning& binning);

// A square table of distances.
class Distances {
 public:
  explicit Distances(size_t n) : n_(n), cells_(n * n, 0.0) {}
  size_t size() const { return n_; }
  double at(size_t i, size_t j) const { return cells_[i * n_ + j]; }
  void set(size_t i, size_t j, double d) { cells_[i * n_ + j] = cells_[j * n_ + i] = d; }
  const double* row(size_t i) const { return cells_.data() + i * n_; }

 private:
  size_t n_;
  std::vector<double> cells_;
};

// `values[i]` are server i's values in the window (none missing, at least one each). `active` is false when the pooled
// range lies below the floor: then nothing happened and all distances are 0.
Distances all_distances(const std::vector<std::vector<double>>& values, const Binning& binning, bool& active);

}  // namespace culprit
