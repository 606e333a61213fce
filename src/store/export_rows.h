// A run as rows time,node,source,device,metric,value: CSV that import takes again, or JSON lines. docs/formats/csv.md.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "store/run_reader.h"
#include "store/scrub.h"

namespace culprit {

enum class RowFormat { csv, jsonl };

struct ExportRow {
  int64_t t_ns = 0;
  std::string_view node;
  std::string_view source;
  std::string_view device;
  std::string_view metric;
  // Derived metrics are numbers with a fraction, counters are whole; neither: the node was there, the value was not.
  std::variant<double, int64_t, std::monostate> value;
};

using WriteFn = std::function<Status(std::string_view bytes)>;

// Collects rows and hands them on in blocks. The first failure ends it; later rows are ignored.
class RowWriter {
 public:
  RowWriter(RowFormat format, WriteFn write);
  void add(const ExportRow& row);
  Status finish();  // what went wrong, if anything did
  bool failed() const { return !status_.ok(); }
  int64_t rows() const { return rows_; }

 private:
  void flush();

  RowFormat format_;
  WriteFn write_;
  Status status_ = Ok{};
  std::string buffer_;
  int64_t rows_ = 0;
};

// Every counter as it was sampled, and every imported value. `scrub` may be null.
Status export_raw(const RunReader& run, Scrubber* scrub, RowWriter& out);

// A copy of the run with all names replaced; returns its path. It is held in memory on the way: a run of more than
// 100 million numbers is refused.
Result<std::string> export_scrubbed_run(const RunReader& run, const std::string& out);

// "2026-11-15T22:40:01.250Z", with nine digits where three would lose something.
std::string exact_time(int64_t t_ns);

}  // namespace culprit
