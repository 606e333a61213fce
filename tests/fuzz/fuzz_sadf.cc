// The sadf importer's core: the input is split in two files where a zero byte is, no disk.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "store/import_sadf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  culprit::ImportTable table(10'000);
  culprit::SadfImport import(table);
  size_t zero = text.find('\0');
  if (!import.add(culprit::read_bytes_from(text.substr(0, zero)), "one.json")) return 0;
  if (zero != std::string_view::npos && !import.add(culprit::read_bytes_from(text.substr(zero + 1)), "two.json"))
    return 0;
  if (!table.finish(false)) return 0;
  for (const culprit::ImportSeries& one : table.all())
    for (size_t i = 0; i < one.values.size(); ++i) {
      if (!std::isfinite(one.values[i].value) || one.values[i].value < 0) std::abort();
      if (i > 0 && one.values[i - 1].t_ns >= one.values[i].t_ns) std::abort();
    }
  return 0;
}
