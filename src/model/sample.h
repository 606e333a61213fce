// One node's counters at one moment, as collectors make them, the stream carries them and the store keeps them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/source.h"

namespace culprit {

// A device, flow or daemon gets a small number the first time it is seen; rows then carry the number.
// `detail` is "word=value" pairs separated by blanks, for example "slaves=sda,sdb" or "peer=10.0.0.7:49152 daemon=4".
struct NewKey {
  uint32_t id = 0;  // unique within the node's stream, counted from 1; 0 is "the node itself"
  const Source* source = nullptr;
  std::string name;
  std::string detail;
};

struct SampleRow {
  const Source* source = nullptr;
  uint32_t key = 0;
  uint32_t first = 0;  // index of its first value in Sample::values; it has source->columns.size() of them
};

struct Sample {
  int64_t t_ns = 0;     // wall clock when the sample was begun
  int64_t mono_ns = 0;  // monotonic clock at the same moment: differences are taken with this one
  int64_t cost_ns = 0;  // CPU time that taking it cost
  int64_t skipped = 0;  // ticks that were missed just before this one
  std::vector<NewKey> keys;
  std::vector<SampleRow> rows;
  std::vector<int64_t> values;
  std::vector<std::string> notes;  // what the user should know, said once: "traffic of mlx5_0 is RDMA and not counted"

  void clear();  // keeps the memory
  void add(const Source& source, uint32_t key, std::span<const int64_t> row_values);
  std::span<const int64_t> row(const SampleRow& r) const { return {values.data() + r.first, r.source->columns.size()}; }
};

}  // namespace culprit
