// What a RunReader holds, shared by the file that loads it and the file that scans it. Not for others.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "store/run_reader.h"
#include "store/sqlite.h"

namespace culprit {

// A source as the run describes it. Column and Source only point at the texts here, so it must not move.
struct DescribedSource {
  std::string name;
  std::string key;
  std::string help;
  std::deque<std::string> texts;
  std::vector<Column> columns;
  Source source;
  int64_t last_row = 0;  // when the run was opened: what a recorder adds later is not for this reader
};

struct RunReader::State {
  std::string path;
  Manifest manifest;
  bool partial = false;
  Database db;
  std::vector<KeyInfo> keys;
  std::vector<uint16_t> key_sources;  // index into described, parallel to keys; kNoSource for imported values
  std::vector<SampleInfo> samples;
  std::vector<int64_t> offsets;  // by node
  std::deque<DescribedSource> described;
  std::vector<std::string> sources;
  std::map<int64_t, std::string> metrics;
  int64_t last_value_row = 0;
  std::map<std::string, size_t> note_of;  // index in manifest.notes by table: a second scan must not note twice

  Error damaged(const std::string& why) const;
  const DescribedSource* describe(std::string_view name) const;
  void note(const std::string& table, std::string text);
  Status load();

 private:
  std::set<std::string, std::less<>> plain_tables;

  Status check_objects();
  Status check_columns(std::string_view table, const std::vector<std::string>& wanted);
  Status check_own_tables();
  Status check_version();
  Status load_nodes();
  Status load_sources();
  Status load_columns();
  Status load_keys();
  Status load_samples();
  Status load_metrics();
  Status find_last_rows();
  Result<int64_t> last_row(const std::string& table);
  void estimate_interval();
};

constexpr uint16_t kNoSource = 0xffff;

// Reads a table row by row; the rowid is column 0 and must grow, which a damaged tree that points at itself cannot
// fake.
class TableScan {
 public:
  static Result<TableScan> start(const Database& db, const std::string& table, const std::string& columns,
                                 std::string name_for_errors, int64_t last_row = INT64_MAX);
  Result<bool> next();
  Statement& row() { return statement_; }
  bool is_integer(int column) const { return statement_.type(column) == SQLITE_INTEGER; }
  // An integer of [low, high]; otherwise the scan is damaged.
  Status integer(int column, int64_t low, int64_t high, int64_t& out) const;
  Status text(int column, std::string& out) const;
  Error damaged(const std::string& why) const;

 private:
  Statement statement_;
  std::string table_;
  std::string name_;
  std::string what_;
  int64_t last_ = INT64_MIN;
  bool first_ = true;
};

}  // namespace culprit
