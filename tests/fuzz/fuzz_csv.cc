// The CSV importer's core: bytes in, a table out, no disk.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>

#include "store/import_csv.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  culprit::ImportTable table(10'000);
  auto read = culprit::read_bytes_from({reinterpret_cast<const char*>(data), size});
  if (!culprit::import_csv(read, "fuzz.csv", table) || !table.finish(true)) return 0;
  for (const culprit::ImportSeries& one : table.all())
    for (size_t i = 0; i < one.values.size(); ++i) {
      if (!std::isfinite(one.values[i].value)) std::abort();
      if (i > 0 && one.values[i - 1].t_ns >= one.values[i].t_ns) std::abort();
    }
  for (const auto& times : culprit::times_by_node(table))
    if (!std::is_sorted(times.begin(), times.end(), std::less_equal<>())) std::abort();
  return 0;
}
