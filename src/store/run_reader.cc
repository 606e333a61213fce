// Rows of a run, as fast as SQLite reads them: one pass per table in the order of writing, nothing allocated per row.
#include "store/run_reader.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "store/run_reader_state.h"
#include "store/run_schema.h"

namespace culprit {

namespace {

// Ids without holes, which is what a writer makes, are found by their distance from the first.
template <class Info, class Id>
const Info* find_by_id(const std::vector<Info>& all, Id id) {
  if (all.empty() || id < all.front().id || id > all.back().id) return nullptr;
  size_t guess = static_cast<size_t>(id - all.front().id);
  if (guess < all.size() && all[guess].id == id) return &all[guess];
  auto it = std::lower_bound(all.begin(), all.end(), id, [](const Info& info, Id wanted) { return info.id < wanted; });
  return it->id == id ? &*it : nullptr;
}

// Which of the columns that are asked for the run has, and at which place of the SELECT.
struct Selection {
  std::string sql;
  std::vector<size_t> target;    // index in the caller's row
  std::vector<bool> is_counter;  // parallel to target
};

Selection select_columns(const Source& wanted, const DescribedSource& have, std::initializer_list<int> only) {
  Selection selection;
  selection.sql = "sample,\"key\"";
  for (size_t i = 0; i < wanted.columns.size(); ++i) {
    if (only.size() > 0 && std::find(only.begin(), only.end(), static_cast<int>(i)) == only.end()) continue;
    for (const Column& column : have.columns) {
      if (column.name != wanted.columns[i].name) continue;
      selection.sql += cat(",", quote_identifier(column.name));
      selection.target.push_back(i);
      selection.is_counter.push_back(wanted.columns[i].kind == ColumnKind::counter);
    }
  }
  return selection;
}

constexpr int kFirstCell = 3;  // after rowid, sample and key

// Fills `cells`; returns how many negative counters were left out, or -1 for a cell that is no integer.
int64_t read_cells(sqlite3_stmt* row, const Selection& selection, std::vector<int64_t>& cells) {
  int64_t negative = 0;
  for (size_t i = 0; i < selection.target.size(); ++i) {
    int column = kFirstCell + static_cast<int>(i);
    sqlite3_value* cell = sqlite3_column_value(row, column);  // one look-up for both
    int type = sqlite3_value_type(cell);
    int64_t value = sqlite3_value_int64(cell);
    if (type == SQLITE_NULL) {
      value = kAbsent;
    } else if (type != SQLITE_INTEGER) {
      return -1;
    } else if (value < 0 && selection.is_counter[i]) {
      value = kAbsent;
      ++negative;
    }
    cells[selection.target[i]] = value;
  }
  return negative;
}

}  // namespace

RunReader::RunReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
RunReader::RunReader(RunReader&&) noexcept = default;
RunReader& RunReader::operator=(RunReader&&) noexcept = default;
RunReader::~RunReader() = default;

Result<RunReader> RunReader::from_database(Database db, Manifest manifest, const std::string& name) {
  auto state = std::make_unique<State>();
  state->path = name;
  state->partial = !manifest.complete;
  state->manifest = std::move(manifest);
  state->db = std::move(db);
  RETURN_IF_ERROR(state->load());
  return RunReader(std::move(state));
}

const std::string& RunReader::path() const {
  return state_->path;
}
const Manifest& RunReader::manifest() const {
  return state_->manifest;
}
bool RunReader::partial() const {
  return state_->partial;
}
const std::vector<Node>& RunReader::nodes() const {
  return state_->manifest.cluster.nodes;
}
const std::vector<KeyInfo>& RunReader::keys() const {
  return state_->keys;
}
const KeyInfo* RunReader::key(uint32_t id) const {
  return find_by_id(state_->keys, id);
}
const std::vector<SampleInfo>& RunReader::samples() const {
  return state_->samples;
}
const SampleInfo* RunReader::sample(int64_t id) const {
  return find_by_id(state_->samples, id);
}
const std::vector<std::string>& RunReader::sources() const {
  return state_->sources;
}

const Source* RunReader::source(std::string_view name) const {
  const DescribedSource* described = state_->describe(name);
  return described ? &described->source : nullptr;
}

Result<std::vector<Event>> RunReader::events() const {
  std::vector<Event> events;
  ASSIGN_OR_RETURN(TableScan scan, TableScan::start(state_->db, "event", "t_ns,node,kind,text", state_->path));
  while (true) {
    ASSIGN_OR_RETURN(bool row, scan.next());
    if (!row) return events;
    Event& event = events.emplace_back();
    RETURN_IF_ERROR(scan.integer(1, 0, kMaxTimeNs, event.t_ns));
    RETURN_IF_ERROR(scan.text(2, event.node));
    RETURN_IF_ERROR(scan.text(3, event.kind));
    RETURN_IF_ERROR(scan.text(4, event.text));
  }
}

// Looks up what a row refers to; never nullptr.
Result<const SampleInfo*> RunReader::find_sample(const TableScan& scan, uint16_t source, uint32_t& key_id) const {
  int64_t id = 0;
  RETURN_IF_ERROR(scan.integer(1, 1, kMaxTimeNs, id));
  const SampleInfo* info = sample(id);
  if (!info) return scan.damaged(cat("a row belongs to sample ", id, ", which is not there"));
  int64_t number = 0;
  RETURN_IF_ERROR(scan.integer(2, 0, UINT32_MAX, number));
  key_id = static_cast<uint32_t>(number);
  if (key_id == 0) return info;
  const KeyInfo* found = key(key_id);
  if (!found) return scan.damaged(cat("a row belongs to key ", key_id, ", which is not there"));
  if (found->node != info->node || state_->key_sources[static_cast<size_t>(found - state_->keys.data())] != source)
    return scan.damaged(cat("a row has key ", key_id, " of another node or source"));
  return info;
}

Status RunReader::scan(const Source& source, std::initializer_list<int> columns, const RowFn& row) const {
  const DescribedSource* described = state_->describe(source.name);
  if (!described) return Ok{};
  uint16_t index = 0;
  while (&state_->described[index] != described) ++index;
  Selection selection = select_columns(source, *described, columns);
  ASSIGN_OR_RETURN(TableScan scan,
                   TableScan::start(state_->db, described->name, selection.sql, state_->path, described->last_row));
  std::vector<int64_t> cells(source.columns.size(), kAbsent);
  int64_t negative = 0;
  while (true) {
    ASSIGN_OR_RETURN(bool more, scan.next());
    if (!more) break;
    uint32_t key_id = 0;
    ASSIGN_OR_RETURN(const SampleInfo* info, find_sample(scan, index, key_id));
    int64_t found = read_cells(scan.row().get(), selection, cells);
    if (found < 0) return scan.damaged("a value is not a whole number");
    negative += found;
    row(*info, key_id, cells);
  }
  if (negative > 0)
    state_->note(described->name, cat(negative, " negative counters of source ", described->name, " count as absent"));
  return Ok{};
}

Status RunReader::scan_values(const ValueFn& row) const {
  ASSIGN_OR_RETURN(TableScan scan, TableScan::start(state_->db, "value", "sample,\"key\",metric,value", state_->path,
                                                    state_->last_value_row));
  int64_t unusable = 0;
  while (true) {
    ASSIGN_OR_RETURN(bool more, scan.next());
    if (!more) break;
    uint32_t key_id = 0;
    ASSIGN_OR_RETURN(const SampleInfo* info, find_sample(scan, kNoSource, key_id));
    int64_t metric = 0;
    RETURN_IF_ERROR(scan.integer(3, 1, UINT32_MAX, metric));
    auto name = state_->metrics.find(metric);
    if (name == state_->metrics.end()) return scan.damaged(cat("a value has metric ", metric, ", which is not there"));
    int type = scan.row().type(4);
    if (type == SQLITE_TEXT || type == SQLITE_BLOB) return scan.damaged("a value is not a number");
    double value = scan.row().real(4);
    if (type == SQLITE_NULL || !std::isfinite(value)) {  // SQLite keeps a NaN as NULL
      ++unusable;
      continue;
    }
    row(*info, key_id, name->second, value);
  }
  if (unusable > 0)
    state_->note(std::string(kValueSource), cat(unusable, " imported values are not finite numbers and were left out"));
  return Ok{};
}

}  // namespace culprit
