// Counters to differences, per device: what a reset, a wrapped counter, a gap or a missing value makes of them.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/source.h"
#include "store/run_reader.h"

namespace culprit {

struct Step {
  double seconds = 0;
  std::vector<int64_t> values;  // counters: how much they grew; gauges: as they are; kAbsent where it cannot be said
  double at(int column) const {
    return values[static_cast<size_t>(column)] == kAbsent ? 0
                                                          : static_cast<double>(values[static_cast<size_t>(column)]);
  }
  bool has(int column) const { return values[static_cast<size_t>(column)] != kAbsent; }
};

class Differences {
 public:
  // A difference over more than `longest_ns` belongs to no tick: there was a gap.
  Differences(const Source& source, int64_t longest_ns) : source_(source), longest_ns_(longest_ns) {}

  // The step from this key's last row to this one; null for the first row, after a gap and when a counter went back.
  const Step* step(const SampleInfo& sample, uint32_t key, std::span<const int64_t> values);

 private:
  struct Last {
    int64_t mono_ns = 0;
    std::vector<int64_t> values;
  };
  const Source& source_;
  int64_t longest_ns_;
  std::unordered_map<uint32_t, Last> last_;
  Step step_;
};

}  // namespace culprit
