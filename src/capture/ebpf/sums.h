// Aggregating mode, the user side: the kernel only ever adds up, so a second is the difference of two readings.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>

#include "calls/call.h"
#include "capture/ebpf/syscap_abi.h"

namespace culprit {

class SumDeltas {
 public:
  // Totals of a reading; the sums of all CPUs.
  void add(const syscap_sum_key& key, const syscap_sum& total);
  void add_error(const syscap_error_key& key, uint64_t total);
  // What happened since the last reading, labelled with `second`; rows without calls are left out.
  void take(int64_t second, const std::function<void(size_t node, const CallSum& sum)>& fn);

 private:
  using Key = std::tuple<uint16_t, uint16_t, uint32_t>;  // node, class, number
  struct Row {
    syscap_sum before{};
    syscap_sum now{};
    std::map<int, uint64_t> errors_before;
    std::map<int, uint64_t> errors;
  };
  std::map<Key, Row> rows_;
};

// Reads the probes' maps `sums` and `errors` (descriptors) into `deltas`.
void read_sums(int sums_map, int errors_map, SumDeltas& deltas);

}  // namespace culprit
