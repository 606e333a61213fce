// Window geometry and smoothing: fast10 rules 3 and 4.
#pragma once

#include <cstddef>

#include "analyse/series.h"

namespace culprit {

// Windows start at tick 0, every `shift` ticks; the last one is whole.
struct Windows {
  size_t size = 64;
  size_t shift = 32;

  size_t count(size_t ticks) const { return ticks < size ? 0 : (ticks - size) / shift + 1; }
  size_t begin(size_t window) const { return window * shift; }
  size_t end(size_t window) const { return window * shift + size; }
};

// The mean of the last `span` ticks, this one included; kMissing where fewer than `at_least` of them have a value.
double trailing_mean(const Series& series, size_t tick, size_t span, size_t at_least);
Series trailing_average(const Series& series, size_t span, size_t at_least);

double median_of(std::vector<double> values);  // of an even number: the mean of the middle two; kMissing of none

// A sorted list as one of its members sees it: without itself.
class OthersSorted {
 public:
  OthersSorted(const std::vector<double>& sorted, double self);
  size_t size() const { return sorted_.size() - 1; }
  double operator[](size_t k) const { return sorted_[k < rank_ ? k : k + 1]; }

 private:
  const std::vector<double>& sorted_;
  size_t rank_;
};

}  // namespace culprit
