#include "model/sample.h"

#include "base/check.h"

namespace culprit {

void Sample::clear() {
  skipped = 0;
  keys.clear();
  rows.clear();
  values.clear();
  notes.clear();
}

void Sample::add(const Source& source, uint32_t key, std::span<const int64_t> row_values) {
  CHECK(row_values.size() == source.columns.size()) << source.name << " has " << source.columns.size() << " columns";
  rows.push_back({&source, key, static_cast<uint32_t>(values.size())});
  values.insert(values.end(), row_values.begin(), row_values.end());
}

}  // namespace culprit
