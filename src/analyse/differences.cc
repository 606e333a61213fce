#include "analyse/differences.h"

namespace culprit {

namespace {

constexpr int64_t k32Bits = int64_t{1} << 32;

// Kernels print the milliseconds of /proc/diskstats as 32-bit numbers: they wrap after 49 days.
bool wrapped(const Column& column, int64_t before, int64_t now) {
  return column.name.ends_with("_ms") && before < k32Bits && before >= k32Bits / 2 && now < k32Bits / 2;
}

}  // namespace

const Step* Differences::step(const SampleInfo& sample, uint32_t key, std::span<const int64_t> values) {
  Last& last = last_[key];
  const bool first = last.values.empty();
  const int64_t elapsed = sample.mono_ns - last.mono_ns;
  bool usable = !first && elapsed > 0 && elapsed <= longest_ns_;
  step_.seconds = static_cast<double>(elapsed) / 1e9;
  step_.values.assign(values.begin(), values.end());
  for (size_t i = 0; i < values.size() && usable; ++i) {
    if (source_.columns[i].kind == ColumnKind::gauge || values[i] == kAbsent) continue;
    if (last.values[i] == kAbsent) {
      step_.values[i] = kAbsent;
      continue;
    }
    step_.values[i] -= last.values[i];
    if (step_.values[i] < 0 && wrapped(source_.columns[i], last.values[i], values[i])) step_.values[i] += k32Bits;
    usable = step_.values[i] >= 0;
  }
  last.mono_ns = sample.mono_ns;
  last.values.assign(values.begin(), values.end());
  return usable ? &step_ : nullptr;
}

}  // namespace culprit
