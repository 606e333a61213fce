// What importers fill: values per node, device and metric, in memory, so that nothing is on disk before all of the
// input was found good, rows may come in any order, and fuzzing needs no disk. Its size has a limit.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "model/run.h"

namespace culprit {

// Fills the buffer and returns how many bytes it put there; 0 at the end of the input.
using ReadFn = std::function<Result<size_t>(char* buffer, size_t size)>;
Result<ReadFn> read_bytes_of(const std::string& path);  // "-" is stdin; folders are refused
ReadFn read_bytes_from(std::string_view text);

constexpr size_t kMaxImportValues = 50'000'000;  // 16 bytes each, so 0.8 to 1.6 GB: a day of ten servers at 1 s
constexpr size_t kMaxImportSeries = 1'000'000;

struct TimedValue {
  int64_t t_ns = 0;
  double value = 0;
};

struct ImportSeries {
  size_t node = 0;
  std::string device;
  std::string metric;
  std::vector<TimedValue> values;
};

class ImportTable {
 public:
  explicit ImportTable(size_t max_values = kMaxImportValues) : max_values_(max_values) {}

  Result<size_t> node(std::string_view name);  // its index, in the order of appearance; refuses names that are none
  Result<size_t> series(size_t node, std::string_view device, std::string_view metric);
  Status add(size_t series, int64_t t_ns, double value);
  Status heard(size_t node, int64_t t_ns);  // the node was there at this time, also if no value was
  void add_event(Event event) { events_.push_back(std::move(event)); }
  void note(std::string text);  // once

  // Sorts every series by time. Of two values at one time the later one stays: as an error when `strict` and they
  // differ (two servers with one name look like that), as a note otherwise.
  Status finish(bool strict);

  const std::vector<std::string>& nodes() const { return nodes_; }
  const std::vector<std::vector<int64_t>>& heard_times() const { return heard_; }  // by node
  const std::vector<ImportSeries>& all() const { return series_; }
  const std::vector<Event>& events() const { return events_; }
  const std::vector<std::string>& notes() const { return notes_; }
  bool empty() const;  // no value at all

 private:
  Status check_room(int64_t t_ns);

  size_t max_values_;
  size_t values_ = 0;
  std::vector<std::string> nodes_;
  std::vector<std::vector<int64_t>> heard_;
  std::map<std::string, size_t, std::less<>> node_ids_;
  std::vector<ImportSeries> series_;
  std::map<std::tuple<size_t, std::string, std::string>, size_t> series_ids_;
  std::vector<Event> events_;
  std::vector<std::string> notes_;
};

// The distinct times of each node, ascending.
std::vector<std::vector<int64_t>> times_by_node(const ImportTable& table);

}  // namespace culprit
