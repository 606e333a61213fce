// Reads a run directory, also a partial one and one that is still being written. Every byte of it is suspect.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/run.h"
#include "model/source.h"

namespace culprit {

class Database;
class TableScan;

struct KeyInfo {
  uint32_t id = 0;  // unique within the run; 0 is "the node itself"
  size_t node = 0;
  std::string source;
  std::string name;
  std::string detail;
};

struct SampleInfo {
  int64_t id = 0;
  size_t node = 0;
  int64_t t_ns = 0;  // corrected by the node's clock offset
  int64_t mono_ns = 0;
  int64_t cost_ns = 0;
};

// One thread at a time may use a reader; several readers of one run are fine.
class RunReader {
 public:
  // `path` is NAME, NAME.run or NAME.run.partial.
  static Result<RunReader> open(const std::string& path);
  // The same for a database that is open already; `name` is for errors. Everything in it is checked as in open().
  static Result<RunReader> from_database(Database db, Manifest manifest, const std::string& name);
  RunReader(RunReader&&) noexcept;
  RunReader& operator=(RunReader&&) noexcept;
  ~RunReader();

  const std::string& path() const;
  // As the run has it, but: an unknown interval is estimated, and what the reader had to leave out is added to notes.
  const Manifest& manifest() const;
  bool partial() const;  // not closed: the recorder was killed or is still at work
  const std::vector<Node>& nodes() const;
  const std::vector<KeyInfo>& keys() const;  // sorted by id
  const KeyInfo* key(uint32_t id) const;
  const std::vector<SampleInfo>& samples() const;  // sorted by id, which is the order of arrival
  const SampleInfo* sample(int64_t id) const;
  const std::vector<std::string>& sources() const;    // those that have rows; imported values are not among them
  const Source* source(std::string_view name) const;  // as this run describes it; nullptr when it has none
  Result<std::vector<Event>> events() const;

  // Calls `row` for every row of a source, in the order it was written. Absent values and columns that the run does
  // not have come as kAbsent, and so do negative counters, which are counted in a note. A row without its sample or key
  // is an error: the run is damaged.
  using RowFn = std::function<void(const SampleInfo& sample, uint32_t key, std::span<const int64_t> values)>;
  // With `columns` (numbers of the source's columns) only those are read, which is faster; the others are kAbsent.
  Status scan(const Source& source, std::initializer_list<int> columns, const RowFn& row) const;
  Status scan(const Source& source, const RowFn& row) const { return scan(source, {}, row); }
  using ValueFn = std::function<void(const SampleInfo& sample, uint32_t key, const std::string& metric, double value)>;
  // Likewise for imported values; those that are not finite numbers are left out and counted in a note.
  Status scan_values(const ValueFn& row) const;

 private:
  struct State;
  explicit RunReader(std::unique_ptr<State> state);
  Result<const SampleInfo*> find_sample(const TableScan& scan, uint16_t source, uint32_t& key_id) const;
  std::unique_ptr<State> state_;
};

}  // namespace culprit
