// Is this database a run, and what is in it? Everything that rows refer to (nodes, sources, keys, samples) is read and
// checked once when the run is opened, so that scanning the rows can be quick and still trusts nothing.
#include <algorithm>
#include <cstdint>
#include <unordered_set>

#include "base/text.h"
#include "base/units.h"
#include "store/run_reader_state.h"
#include "store/run_schema.h"

namespace culprit {

namespace {

constexpr char kDamagedHint[] = "the run is damaged or was not written by culprit";

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

const std::vector<std::pair<std::string, std::vector<std::string>>>& own_columns() {
  static const std::vector<std::pair<std::string, std::vector<std::string>>> kColumns = {
      {"meta", {"key", "value"}},
      {"node", {"id", "name", "kind", "address"}},
      {"source", {"name", "key", "help"}},
      {"source_column", {"source", "name", "kind", "help"}},
      {"key", {"id", "node", "source", "name", "detail"}},
      {"sample", {"id", "node", "t_ns", "mono_ns", "cost_ns", "skipped"}},
      {"metric", {"id", "name"}},
      {"value", {"sample", "key", "metric", "value"}},
      {"event", {"t_ns", "node", "kind", "text"}},
  };
  return kColumns;
}

}  // namespace

Result<TableScan> TableScan::start(const Database& db, const std::string& table, const std::string& columns,
                                   std::string name, int64_t last_row) {
  TableScan scan;
  scan.table_ = table;
  scan.name_ = std::move(name);
  scan.what_ = cat("cannot read table ", table, " of ", scan.name_);
  std::string sql = cat("SELECT rowid,", columns, " FROM main.", quote_identifier(table), " NOT INDEXED");
  if (last_row != INT64_MAX) sql += cat(" WHERE rowid<=", last_row);
  sql += " ORDER BY rowid";
  sqlite3_stmt* raw = nullptr;
  int code = sqlite3_prepare_v2(db.get(), sql.c_str(), -1, &raw, nullptr);
  if (code != SQLITE_OK) return sqlite_error(db.get(), code, scan.what_);
  scan.statement_ = Statement(raw);
  return scan;
}

Result<bool> TableScan::next() {
  ASSIGN_OR_RETURN(bool row, statement_.step(what_));
  if (!row) return false;
  int64_t id = statement_.integer(0);
  if (!first_ && id <= last_) return damaged("its rows are out of order");
  first_ = false;
  last_ = id;
  return true;
}

Error TableScan::damaged(const std::string& why) const {
  return input_error(cat("table ", table_, " of ", name_, " is damaged: ", why), kDamagedHint);
}

Status TableScan::integer(int column, int64_t low, int64_t high, int64_t& out) const {
  if (!is_integer(column)) return damaged("a number is missing or of another type");
  out = statement_.integer(column);
  if (out < low || out > high) return damaged(cat("it holds the impossible number ", out));
  return Ok{};
}

Status TableScan::text(int column, std::string& out) const {
  if (statement_.type(column) != SQLITE_TEXT) return damaged("a text is missing or of another type");
  out = statement_.text(column);
  return Ok{};
}

Error RunReader::State::damaged(const std::string& why) const {
  return input_error(cat(path, " is damaged: ", why), kDamagedHint);
}

const DescribedSource* RunReader::State::describe(std::string_view name) const {
  for (const DescribedSource& source : described)
    if (source.name == name) return &source;
  return nullptr;
}

void RunReader::State::note(const std::string& table, std::string text) {
  auto [it, is_new] = note_of.try_emplace(table, manifest.notes.size());
  if (is_new) manifest.notes.emplace_back();
  manifest.notes[it->second] = std::move(text);
}

Status RunReader::State::load() {
  RETURN_IF_ERROR(distrust_schema(db));
  RETURN_IF_ERROR(db.exec("BEGIN", cat("cannot read ", path)));  // one moment of a run that is being written
  Status loaded = [&]() -> Status {
    RETURN_IF_ERROR(check_objects());
    RETURN_IF_ERROR(check_own_tables());
    RETURN_IF_ERROR(check_version());
    RETURN_IF_ERROR(load_nodes());
    RETURN_IF_ERROR(load_sources());
    RETURN_IF_ERROR(load_columns());
    RETURN_IF_ERROR(load_keys());
    RETURN_IF_ERROR(load_samples());
    RETURN_IF_ERROR(load_metrics());
    return find_last_rows();
  }();
  sqlite3_exec(db.get(), "COMMIT", nullptr, nullptr, nullptr);
  RETURN_IF_ERROR(loaded);
  if (manifest.interval_ns == 0) estimate_interval();
  return Ok{};
}

// A view or a virtual table under one of our names would run code of somebody's choice when it is read.
Status RunReader::State::check_objects() {
  ASSIGN_OR_RETURN(TableScan scan, TableScan::start(db, "sqlite_master", "type,name,tbl_name,sql", path));
  size_t count = 0;
  while (true) {
    ASSIGN_OR_RETURN(bool row, scan.next());
    if (!row) return Ok{};
    if (++count > 4 * kMaxSources) return damaged("its database has too many tables");
    std::string_view type = scan.row().text(1);
    std::string name = lower(scan.row().text(2));
    std::string table = lower(scan.row().text(3));
    std::string sql = lower(scan.row().text(4).substr(0, 64));
    if (type == "table" && sql.starts_with("create table")) {
      plain_tables.insert(std::move(name));
      continue;
    }
    if (type == "index") continue;  // never used: all scans go by row number
    bool ours = false;
    for (std::string_view own : kOwnTables) ours = ours || name == own || table == own;
    if (ours) return damaged(cat("its ", printable(name), " is not a plain table"));
  }
}

// Plain columns that are there: generated ones are expressions, which a run never has.
Status RunReader::State::check_columns(std::string_view table, const std::vector<std::string>& wanted) {
  std::string what = cat("cannot read table ", table, " of ", path);
  if (!plain_tables.contains(table)) return damaged(cat("it has no table ", table));
  ASSIGN_OR_RETURN(Statement info, db.prepare(cat("PRAGMA main.table_xinfo(", quote_identifier(table), ")"), what));
  std::unordered_set<std::string> present;
  while (true) {
    ASSIGN_OR_RETURN(bool row, info.step(what));
    if (!row) break;
    if (info.integer(6) != 0) return damaged(cat("table ", table, " has a column that is computed"));
    std::string column(info.text(1));
    if (lower(column) == "rowid") return damaged(cat("table ", table, " has a column rowid"));
    present.insert(std::move(column));
  }
  for (const std::string& column : wanted)
    if (!present.contains(column)) return damaged(cat("table ", table, " has no column ", printable(column)));
  return Ok{};
}

Status RunReader::State::check_own_tables() {
  for (const auto& [table, columns] : own_columns()) RETURN_IF_ERROR(check_columns(table, columns));
  return Ok{};
}

Status RunReader::State::check_version() {
  ASSIGN_OR_RETURN(TableScan scan, TableScan::start(db, "meta", "\"key\",value", path));
  while (true) {
    ASSIGN_OR_RETURN(bool row, scan.next());
    if (!row) return damaged("it does not say which schema version it has");
    std::string key, value;
    RETURN_IF_ERROR(scan.text(1, key));
    RETURN_IF_ERROR(scan.text(2, value));
    if (key != "schema_version") continue;
    auto version = parse_int(value);
    if (!version || *version < 1) return damaged("its schema version is not a number");
    if (*version > kSchemaVersion)
      return unsupported_error(
          cat(path, " has schema version ", *version, ", this culprit reads up to ", kSchemaVersion),
          "use the version of culprit that wrote the run, or a newer one");
    return Ok{};
  }
}

Status RunReader::State::load_nodes() {
  const std::vector<Node>& nodes = manifest.cluster.nodes;
  ASSIGN_OR_RETURN(TableScan scan, TableScan::start(db, "node", "id,name", path));
  int64_t expected = 0;
  while (true) {
    ASSIGN_OR_RETURN(bool row, scan.next());
    if (!row) break;
    int64_t id = 0;
    std::string name;
    RETURN_IF_ERROR(scan.integer(1, 0, static_cast<int64_t>(kMaxNodes), id));
    RETURN_IF_ERROR(scan.text(2, name));
    if (id != expected++ || static_cast<size_t>(id) >= nodes.size() || nodes[static_cast<size_t>(id)].name != name)
      return damaged("its manifest and its database name different nodes");
  }
  offsets.assign(nodes.size(), 0);
  std::map<std::string_view, int64_t> by_name;
  for (const NodeReport& report : manifest.nodes) by_name[report.name] = report.clock_offset_ns;
  for (size_t i = 0; i < nodes.size(); ++i) {
    auto it = by_name.find(nodes[i].name);
    if (it != by_name.end()) offsets[i] = it->second;
  }
  return Ok{};
}

Status RunReader::State::load_sources() {
  ASSIGN_OR_RETURN(TableScan scan, TableScan::start(db, "source", "name,\"key\",help", path));
  while (true) {
    ASSIGN_OR_RETURN(bool row, scan.next());
    if (!row) return Ok{};
    if (described.size() >= kMaxSources) return damaged("it has too many sources");
    std::string name;
    RETURN_IF_ERROR(scan.text(1, name));
    if (!is_source_name(name)) return damaged(cat("\"", printable(name), "\" cannot be a source"));
    if (describe(name)) return damaged(cat("source ", name, " is there twice"));
    DescribedSource& source = described.emplace_back();
    source.name = name;
    RETURN_IF_ERROR(scan.text(2, source.key));
    RETURN_IF_ERROR(scan.text(3, source.help));
  }
}

Status RunReader::State::load_columns() {
  ASSIGN_OR_RETURN(TableScan scan, TableScan::start(db, "source_column", "source,name,kind,help", path));
  while (true) {
    ASSIGN_OR_RETURN(bool row, scan.next());
    if (!row) break;
    std::string source_name, name, kind, help;
    RETURN_IF_ERROR(scan.text(1, source_name));
    RETURN_IF_ERROR(scan.text(2, name));
    RETURN_IF_ERROR(scan.text(3, kind));
    RETURN_IF_ERROR(scan.text(4, help));
    auto source = std::find_if(described.begin(), described.end(), [&](auto& d) { return d.name == source_name; });
    if (source == described.end()) return damaged("it describes a column of a source it does not have");
    if (!is_column_name(name)) return damaged(cat("\"", printable(name), "\" cannot be a column"));
    if (source->columns.size() >= kMaxColumns) return damaged(cat("source ", source_name, " has too many columns"));
    for (const Column& column : source->columns)
      if (column.name == name) return damaged(cat("source ", source_name, " describes column ", name, " twice"));
    std::string_view kept_name = source->texts.emplace_back(std::move(name));
    std::string_view kept_help = source->texts.emplace_back(std::move(help));
    source->columns.push_back({kept_name, kind == "counter" ? ColumnKind::counter : ColumnKind::gauge, kept_help});
  }
  for (DescribedSource& source : described) {
    std::vector<std::string> wanted = {"sample", "key"};
    for (const Column& column : source.columns) wanted.emplace_back(column.name);
    RETURN_IF_ERROR(check_columns(source.name, wanted));
    source.source = {source.name, source.key, source.help, source.columns};
  }
  return Ok{};
}

Status RunReader::State::load_keys() {
  ASSIGN_OR_RETURN(TableScan scan, TableScan::start(db, "key", "id,node,source,name,detail", path));
  int64_t last_node = static_cast<int64_t>(manifest.cluster.nodes.size()) - 1;
  while (true) {
    ASSIGN_OR_RETURN(bool row, scan.next());
    if (!row) return Ok{};
    if (keys.size() >= kMaxKeys) return damaged("it has too many keys");
    int64_t id = 0;
    int64_t node = 0;
    KeyInfo& key = keys.emplace_back();
    RETURN_IF_ERROR(scan.integer(1, keys.size() > 1 ? int64_t{keys[keys.size() - 2].id} + 1 : 1, UINT32_MAX, id));
    RETURN_IF_ERROR(scan.integer(2, 0, last_node, node));
    RETURN_IF_ERROR(scan.text(3, key.source));
    RETURN_IF_ERROR(scan.text(4, key.name));
    RETURN_IF_ERROR(scan.text(5, key.detail));
    key.id = static_cast<uint32_t>(id);
    key.node = static_cast<size_t>(node);
    uint16_t index = kNoSource;
    for (size_t i = 0; i < described.size(); ++i)
      if (described[i].name == key.source) index = static_cast<uint16_t>(i);
    if (index == kNoSource && key.source != kValueSource) return damaged("a key belongs to a source it does not have");
    key_sources.push_back(index);
  }
}

Status RunReader::State::load_samples() {
  ASSIGN_OR_RETURN(TableScan scan, TableScan::start(db, "sample", "id,node,t_ns,mono_ns,cost_ns", path));
  int64_t last_node = static_cast<int64_t>(manifest.cluster.nodes.size()) - 1;
  while (true) {
    ASSIGN_OR_RETURN(bool row, scan.next());
    if (!row) return Ok{};
    if (samples.size() >= kMaxSamples) return damaged("it has too many samples");
    int64_t node = 0;
    SampleInfo sample;
    RETURN_IF_ERROR(scan.integer(1, samples.empty() ? 1 : samples.back().id + 1, kMaxTimeNs, sample.id));
    RETURN_IF_ERROR(scan.integer(2, 0, last_node, node));
    RETURN_IF_ERROR(scan.integer(3, 0, kMaxTimeNs, sample.t_ns));
    sample.node = static_cast<size_t>(node);
    sample.mono_ns = sample.t_ns;  // imported: the other tool's clock is all there is
    if (scan.row().type(4) != SQLITE_NULL) RETURN_IF_ERROR(scan.integer(4, 0, INT64_MAX, sample.mono_ns));
    if (scan.row().type(5) != SQLITE_NULL) RETURN_IF_ERROR(scan.integer(5, INT64_MIN, INT64_MAX, sample.cost_ns));
    int64_t corrected = 0;
    if (__builtin_sub_overflow(sample.t_ns, offsets[sample.node], &corrected)) corrected = INT64_MAX;
    sample.t_ns = std::clamp<int64_t>(corrected, 0, kMaxTimeNs);
    if (sample.t_ns != corrected)
      note(cat("sample ", node), cat("the clock of ", printable(manifest.cluster.nodes[sample.node].name),
                                     " was set during the recording; some of its times are wrong"));
    samples.push_back(sample);
  }
}

Status RunReader::State::load_metrics() {
  ASSIGN_OR_RETURN(TableScan scan, TableScan::start(db, "metric", "id,name", path));
  while (true) {
    ASSIGN_OR_RETURN(bool row, scan.next());
    if (!row) return Ok{};
    if (metrics.size() >= kMaxMetrics) return damaged("it has too many metrics");
    int64_t id = 0;
    std::string name;
    RETURN_IF_ERROR(scan.integer(1, 1, UINT32_MAX, id));
    RETURN_IF_ERROR(scan.text(2, name));
    metrics[id] = std::move(name);
  }
}

Result<int64_t> RunReader::State::last_row(const std::string& table) {
  std::string what = cat("cannot read table ", table, " of ", path);
  ASSIGN_OR_RETURN(Statement last, db.prepare(cat("SELECT max(rowid) FROM main.", quote_identifier(table)), what));
  ASSIGN_OR_RETURN(bool row, last.step(what));
  return row ? last.integer(0) : int64_t{0};  // NULL, of an empty table, reads as 0
}

Status RunReader::State::find_last_rows() {
  ASSIGN_OR_RETURN(last_value_row, last_row(std::string(kValueSource)));
  for (DescribedSource& source : described) {
    ASSIGN_OR_RETURN(source.last_row, last_row(source.name));
    if (source.last_row > 0) sources.push_back(source.name);
  }
  return Ok{};
}

// The median distance of a node's samples; of the first ones, for they are enough to know.
void RunReader::State::estimate_interval() {
  constexpr size_t kEnough = 20000;
  std::vector<int64_t> last(manifest.cluster.nodes.size(), INT64_MIN);
  std::vector<int64_t> steps;
  for (const SampleInfo& sample : samples) {
    int64_t& before = last[sample.node];
    if (before != INT64_MIN && sample.t_ns > before) steps.push_back(sample.t_ns - before);
    before = sample.t_ns;
    if (steps.size() >= kEnough) break;
  }
  if (steps.empty()) return;
  auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  int64_t unit = *middle >= 100 * kNsPerMs ? 10 * kNsPerMs : kNsPerMs;  // what a person would have asked for
  manifest.interval_ns = std::max(unit, (*middle + unit / 2) / unit * unit);
}

}  // namespace culprit
