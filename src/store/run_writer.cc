// How samples get into the run's database: they wait in memory and go in with one short transaction per commit, because
// `culprit mark` writes into the same database from another process. Closing must work on a full disk: space for the
// last checkpoint is set aside in a file, and commits are kept small enough to fit in it.
#include "store/run_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "store/manifest.h"
#include "store/run_batch.h"
#include "store/run_keys.h"
#include "store/run_path.h"
#include "store/run_schema.h"
#include "store/run_tables.h"
#include "store/sqlite.h"

namespace culprit {

namespace {

constexpr size_t kFlushRows = 16384;          // some 1.6 MB of journal: see kReserveBytes
constexpr int kCheckpointPages = 256;         // 1 MB of journal, then it goes into the database
constexpr off_t kReserveBytes = 4 << 20;      // a journal of 1 MB and one flush, and the database growing by as much
constexpr int kBusyMs = 5000;                 // a mark takes milliseconds
constexpr int kCloseBusyMs = 10000;           // a diagnosis of the run in progress takes seconds
constexpr size_t kMaxKnownMoments = 8 << 20;  // of imports; some 400 MB. Past it a late value gets a sample of its own
constexpr char kReturned[] = "sockets that had no row for long and then had one again are left out";

struct NodeState {
  NodeKeys keys;
  std::unordered_map<std::string, uint32_t> value_keys;  // of imports, by device
  int64_t last_t_ns = -1;                                // of imports
  int64_t last_sample = 0;
  int64_t samples = 0;
  int64_t skipped = 0;
};

std::string clip(std::string_view text) {
  return std::string(text.substr(0, kMaxTextBytes));
}

struct Moment {
  size_t node;
  int64_t t_ns;
  bool operator==(const Moment&) const = default;
};
struct MomentHash {
  size_t operator()(const Moment& m) const {
    return (static_cast<size_t>(m.t_ns) ^ (m.node << 40)) * size_t{0x9E3779B97F4A7C15} >> 7;
  }
};

int count_frames(void* frames, sqlite3*, const char*, int pages) {
  *static_cast<int*>(frames) = pages;
  return SQLITE_OK;
}

Status make_reserve(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd.valid()) return system_error(cat("cannot create ", path), errno);
  int error = ::posix_fallocate(fd.get(), 0, kReserveBytes);
  if (error == 0) return Ok{};
  return system_error(cat("cannot set space aside in ", path), error,
                      error == ENOSPC ? "a run needs at least 5 MB on its disk" : "");
}

}  // namespace

struct RunWriter::State {
  RunPaths paths;
  std::string directory;
  Manifest manifest;
  Fd lock;
  Database db;
  RunTables tables;
  std::vector<NodeState> nodes;
  std::unordered_set<std::string> names;
  size_t nodes_saved = 0;  // in manifest.json
  RunBatch pending;
  KeyLimit limit;
  std::map<std::string, int64_t> left_out;  // rows without a key, by the note that says why
  int64_t last_sample = 0;
  std::unordered_map<std::string, uint32_t> metrics;
  std::unordered_map<Moment, int64_t, MomentHash> moments;
  int journal_pages = 0;
  std::optional<Error> full;  // the disk is full: only close() and events are left
  bool closed = false;

  std::string file(const char* name) const { return cat(directory, "/", name); }

  Status open_database();
  Status check_node(size_t node);
  Status take_new_nodes();
  Result<uint32_t> register_key(size_t node, std::string_view source, std::string_view name, std::string_view detail);
  Status take_key(size_t node, const NewKey& key);
  Status take_row(size_t node, int64_t sample_id, const Sample& sample, const SampleRow& row);
  void leave_out_row(const std::string& why);
  Result<int64_t> sample_at(size_t node, int64_t t_ns);
  Status after_add();

  Status save_manifest();
  Status flush();
  Status checkpoint(int mode);
  Error note(Error error);
  void drop_reserve() { ::unlink(file(kReserveFile).c_str()); }

  Status keep_marks_out();
  Status finish_database();
  void count_into_reports();
  Status publish();
};

Status RunWriter::State::open_database() {
  std::string path = file(kDatabaseFile);
  std::string what = cat("cannot create ", path);
  ASSIGN_OR_RETURN(db, Database::open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  sqlite3_busy_timeout(db.get(), kBusyMs);
  RETURN_IF_ERROR(db.exec("PRAGMA page_size=4096", what));
  {
    ASSIGN_OR_RETURN(Statement mode, db.prepare("PRAGMA journal_mode=WAL", what));
    ASSIGN_OR_RETURN(bool row, mode.step(what));
    if (!row || mode.text(0) != "wal")
      return unsupported_error(cat(what, ": this file system cannot share memory between processes"),
                               "write the run to a local disk");
  }
  RETURN_IF_ERROR(db.exec("PRAGMA synchronous=NORMAL; PRAGMA temp_store=MEMORY", what));
  sqlite3_wal_hook(db.get(), count_frames, &journal_pages);
  RETURN_IF_ERROR(db.exec(cat("BEGIN;", kSchema, "INSERT INTO meta VALUES('schema_version','", kSchemaVersion,
                              "'),('tool',", quote_text(manifest.tool), "); COMMIT"),
                          what));
  return pending.prepare(db);
}

Status RunWriter::State::check_node(size_t node) {
  CHECK(!closed) << "the run was closed";
  CHECK(node < manifest.cluster.nodes.size()) << node << " of " << manifest.cluster.nodes.size() << " nodes";
  if (full) return *full;
  return take_new_nodes();
}

Status RunWriter::State::take_new_nodes() {
  const auto& all = manifest.cluster.nodes;
  if (all.size() > kMaxNodes) return input_error(cat("a run can have at most ", kMaxNodes, " nodes"));
  while (nodes.size() < all.size()) {
    const std::string& name = all[nodes.size()].name;
    if (name.empty()) return input_error("a node has no name");
    if (!names.insert(name).second)
      return input_error(cat("two nodes have the name ", printable(name)), "give every node a name of its own");
    pending.nodes.push_back(
        {static_cast<int64_t>(nodes.size()), name, all[nodes.size()].address, all[nodes.size()].kind});
    nodes.emplace_back();
  }
  return Ok{};
}

Result<uint32_t> RunWriter::State::register_key(size_t node, std::string_view source, std::string_view name,
                                                std::string_view detail) {
  const bool socket = is_socket_source(source);
  if (limit.is_full(socket)) return input_error(limit.text(socket), "start a new run");
  const uint32_t id = limit.next(socket);
  pending.keys.push_back({id, static_cast<int64_t>(node), std::string(source), clip(name), clip(detail)});
  return id;
}

Status RunWriter::State::take_key(size_t node, const NewKey& key) {
  const std::string& name = manifest.cluster.nodes[node].name;
  if (key.id == 0 || !key.source) return input_error(cat("node ", name, " sent a key without a number or source"));
  NodeKeys& keys = nodes[node].keys;
  ASSIGN_OR_RETURN(RowPlan * plan, tables.plan(*key.source, pending.ddl));
  RunKey run_key;
  run_key.table = plan->table;
  run_key.socket = is_socket_source(key.source->name);
  run_key.seen = nodes[node].samples;
  run_key.identity = cat(key.source->name, '\n', key.name, '\n', key.detail);
  run_key.id = keys.take_former(run_key.identity);
  if (run_key.id == 0 && limit.is_full(run_key.socket)) {
    keys.drop(key.id);  // the number may have meant another one before
    return Ok{};
  }
  if (run_key.id == 0) {
    ASSIGN_OR_RETURN(run_key.id, register_key(node, key.source->name, key.name, key.detail));
  }
  keys.put(key.id, std::move(run_key));
  return Ok{};
}

Status RunWriter::State::take_row(size_t node, int64_t sample_id, const Sample& sample, const SampleRow& row) {
  const std::string& name = manifest.cluster.nodes[node].name;
  CHECK(row.source && row.first + row.source->columns.size() <= sample.values.size()) << "row without its values";
  ASSIGN_OR_RETURN(RowPlan * plan, tables.plan(*row.source, pending.ddl));
  uint32_t key = 0;
  if (row.key != 0) {
    NodeState& state = nodes[node];
    const bool socket = is_socket_source(row.source->name);
    const RunKey* known = state.keys.find(row.key, state.samples);
    if (!known && (limit.is_full(socket) || (socket && state.keys.has_forgotten()))) {
      leave_out_row(limit.is_full(socket) ? limit.text(socket) : kReturned);
      return Ok{};
    }
    if (!known || known->table != plan->table)
      return input_error(
          cat("node ", name, " sent a row of ", row.source->name, " for a key it never announced: ", row.key));
    key = known->id;
  }
  auto values = sample.row(row);
  pending.rows.push_back({plan, sample_id, key, pending.cells.size()});
  pending.cells.insert(pending.cells.end(), values.begin(), values.end());
  return Ok{};
}

void RunWriter::State::leave_out_row(const std::string& why) {
  if (left_out[why]++ > 0) return;
  manifest.notes.push_back(why);
  nodes_saved = 0;  // a run that stays partial must say it, too
}

Result<int64_t> RunWriter::State::sample_at(size_t node, int64_t t_ns) {
  NodeState& state = nodes[node];
  if (state.last_t_ns == t_ns) return state.last_sample;
  if (moments.size() >= kMaxKnownMoments) moments.clear();
  auto [it, is_new] = moments.try_emplace(Moment{node, t_ns}, 0);
  if (is_new) {
    if (last_sample >= static_cast<int64_t>(kMaxSamples))
      return input_error(cat("a run can have at most ", kMaxSamples, " samples"), "start a new run");
    it->second = ++last_sample;
    pending.samples.push_back({last_sample, static_cast<int64_t>(node), t_ns, -1, 0, 0});
    ++state.samples;
  }
  state.last_t_ns = t_ns;
  state.last_sample = it->second;
  return it->second;
}

Status RunWriter::State::after_add() {
  if (pending.rows.size() + pending.values.size() < kFlushRows) return Ok{};
  return flush();
}

// Remembers a full disk and gives back the space that was set aside for closing.
Error RunWriter::State::note(Error error) {
  if (error.errno_value == EDQUOT) error.errno_value = ENOSPC;  // to this user the disk is full
  if (error.errno_value == ENOSPC && !full) {
    full = error;
    drop_reserve();
  }
  return error;
}

Status RunWriter::State::save_manifest() {
  RETURN_IF_ERROR(write_manifest(directory, manifest));
  nodes_saved = manifest.cluster.nodes.size();
  return Ok{};
}

Status RunWriter::State::flush() {
  RETURN_IF_ERROR(take_new_nodes());
  if (pending.empty()) return Ok{};
  // The manifest first: the database must never know a node that the manifest does not.
  if (nodes_saved < nodes.size()) {
    if (Status saved = save_manifest(); !saved) return note(saved.error());
  }
  if (Status written = pending.write(db, tables, file(kDatabaseFile)); !written) return note(written.error());
  pending.clear();
  if (journal_pages < kCheckpointPages) return Ok{};
  return checkpoint(SQLITE_CHECKPOINT_PASSIVE);
}

Status RunWriter::State::checkpoint(int mode) {
  int code = sqlite3_wal_checkpoint_v2(db.get(), nullptr, mode, nullptr, nullptr);
  if (code == SQLITE_OK) return Ok{};
  if (code == SQLITE_BUSY && mode == SQLITE_CHECKPOINT_PASSIVE)
    return Ok{};  // a reader is at work; the next one will do
  return note(sqlite_error(db.get(), code, cat("cannot write ", file(kDatabaseFile))));
}

// An event that another process puts in after the last checkpoint would be lost, or make the checksum a wrong one.
Status RunWriter::State::keep_marks_out() {
  Status said = db.exec(kSayClosing, cat("cannot write ", file(kDatabaseFile)));
  if (!said && said.error().errno_value == ENOSPC) return Ok{};  // where this does not fit, no event does
  return said;
}

Status RunWriter::State::finish_database() {
  drop_reserve();
  sqlite3_busy_timeout(db.get(), kCloseBusyMs);
  RETURN_IF_ERROR(checkpoint(SQLITE_CHECKPOINT_TRUNCATE));
  RETURN_IF_ERROR(keep_marks_out());
  if (Status flushed = flush(); !flushed) {
    // On a full disk the last tick may not fit; the run is worth more than it.
    if (flushed.error().errno_value != ENOSPC) return flushed;
    pending.clear();
    manifest.notes.push_back("the disk was full: the last samples are lost");
  }
  RETURN_IF_ERROR(checkpoint(SQLITE_CHECKPOINT_TRUNCATE));
  // Fails when another process has the run open. Then the file still says WAL, with an empty journal, and reads the
  // same.
  sqlite3_busy_timeout(db.get(), 0);
  sqlite3_exec(db.get(), "PRAGMA journal_mode=DELETE", nullptr, nullptr, nullptr);
  pending.close();
  tables.close();
  db.close();
  ::unlink(cat(file(kDatabaseFile), "-wal").c_str());
  ::unlink(cat(file(kDatabaseFile), "-shm").c_str());
  Fd fd(::open(file(kDatabaseFile).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() || ::fsync(fd.get()) != 0) return system_error(cat("cannot sync ", file(kDatabaseFile)), errno);
  return Ok{};
}

void RunWriter::State::count_into_reports() {
  for (std::string& note : manifest.notes)
    if (auto found = left_out.find(note); found != left_out.end()) note += cat(": ", found->second, " rows");
  std::unordered_map<std::string, size_t> reports;
  for (size_t i = 0; i < manifest.nodes.size(); ++i) reports[manifest.nodes[i].name] = i;
  for (size_t i = 0; i < nodes.size(); ++i) {
    auto [it, is_new] = reports.try_emplace(manifest.cluster.nodes[i].name, manifest.nodes.size());
    if (is_new) manifest.nodes.emplace_back().name = it->first;
    NodeReport& report = manifest.nodes[it->second];
    report.samples = nodes[i].samples;
    report.skipped = std::max(report.skipped, nodes[i].skipped);
  }
}

Status RunWriter::State::publish() {
  ASSIGN_OR_RETURN(manifest.checksum, file_checksum(file(kDatabaseFile)));
  if (manifest.end_ns == 0) manifest.end_ns = wall_now_ns();
  manifest.complete = true;
  RETURN_IF_ERROR(write_manifest(directory, manifest));
  RETURN_IF_ERROR(sync_directory(directory));
  ::unlink(file(kLockFile).c_str());
  RETURN_IF_ERROR(rename_closed(paths));
  directory = paths.closed;
  lock.reset();
  return Ok{};
}

RunWriter::RunWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
RunWriter::RunWriter(RunWriter&&) noexcept = default;
RunWriter& RunWriter::operator=(RunWriter&&) noexcept = default;
RunWriter::~RunWriter() = default;

Result<RunWriter> RunWriter::create(const std::string& path, Manifest manifest, size_t max_keys) {
  auto state = std::make_unique<State>();
  state->limit = KeyLimit(max_keys);
  ASSIGN_OR_RETURN(state->paths, run_paths(path));
  RETURN_IF_ERROR(make_run_directory(state->paths));
  state->directory = state->paths.partial;
  state->manifest = std::move(manifest);
  state->manifest.complete = false;
  state->manifest.checksum.clear();
  if (state->manifest.tool.empty()) state->manifest.tool = cat("culprit ", CULPRIT_VERSION);
  if (state->manifest.start_ns == 0) state->manifest.start_ns = wall_now_ns();
  auto set_up = [&]() -> Status {
    RETURN_IF_ERROR(state->take_new_nodes());
    ASSIGN_OR_RETURN(state->lock, take_recorder_lock(state->directory));
    RETURN_IF_ERROR(state->save_manifest());
    RETURN_IF_ERROR(make_reserve(state->file(kReserveFile)));
    RETURN_IF_ERROR(state->open_database());
    return state->flush();
  };
  if (Status done = set_up(); !done) {
    state->db.close();
    for (const char* name :
         {kManifestFile, kDatabaseFile, "metrics.sqlite-wal", "metrics.sqlite-shm", kReserveFile, kLockFile})
      ::unlink(state->file(name).c_str());
    ::rmdir(state->directory.c_str());
    return std::move(done).error();
  }
  return RunWriter(std::move(state));
}

Status RunWriter::add(size_t node, const Sample& sample) {
  RETURN_IF_ERROR(state_->check_node(node));
  const std::string& name = state_->manifest.cluster.nodes[node].name;
  if (sample.t_ns < 0 || sample.t_ns > kMaxTimeNs || sample.mono_ns < 0)
    return input_error(cat("node ", name, " sent a sample with an impossible time"), "check that node's clock");
  if (state_->last_sample >= static_cast<int64_t>(kMaxSamples))
    return input_error(cat("a run can have at most ", kMaxSamples, " samples"), "start a new run");
  for (const NewKey& key : sample.keys) RETURN_IF_ERROR(state_->take_key(node, key));
  RunBatch& pending = state_->pending;
  int64_t id = state_->last_sample + 1;
  size_t rows = pending.rows.size();
  size_t cells = pending.cells.size();
  for (const SampleRow& row : sample.rows) {
    if (Status taken = state_->take_row(node, id, sample, row); !taken) {
      pending.rows.resize(rows);
      pending.cells.resize(cells);
      return taken;
    }
  }
  state_->last_sample = id;
  pending.samples.push_back(
      {id, static_cast<int64_t>(node), sample.t_ns, sample.mono_ns, sample.cost_ns, sample.skipped});
  NodeState& state = state_->nodes[node];
  ++state.samples;
  state.skipped += sample.skipped;
  state.keys.tidy(state.samples, sample.rows.size());
  return state_->after_add();
}

void RunWriter::reset_keys(size_t node) {
  state_->tables.forget();
  if (node < state_->nodes.size()) state_->nodes[node].keys.reset();
}

Status RunWriter::add_value(size_t node, int64_t t_ns, std::string_view device, std::string_view metric, double value) {
  RETURN_IF_ERROR(state_->check_node(node));
  if (t_ns < 0 || t_ns > kMaxTimeNs) return input_error(cat("a value has an impossible time: ", t_ns, " ns"));
  if (!std::isfinite(value)) return input_error(cat("a value of ", printable(metric), " is not a finite number"));
  uint32_t key = 0;
  if (!device.empty()) {
    auto [it, is_new] = state_->nodes[node].value_keys.try_emplace(std::string(device), 0);
    if (is_new) {
      ASSIGN_OR_RETURN(it->second, state_->register_key(node, kValueSource, device, ""));
    }
    key = it->second;
  }
  auto [it, is_new] =
      state_->metrics.try_emplace(std::string(metric), static_cast<uint32_t>(state_->metrics.size() + 1));
  if (is_new) {
    if (state_->metrics.size() > kMaxMetrics)
      return input_error(cat("a run can have at most ", kMaxMetrics, " metrics"));
    state_->pending.metrics.emplace_back(it->second, clip(metric));
  }
  ASSIGN_OR_RETURN(int64_t sample, state_->sample_at(node, t_ns));
  state_->pending.values.push_back({sample, key, it->second, value});
  return state_->after_add();
}

Status RunWriter::add_event(const Event& event) {
  CHECK(!state_->closed) << "the run was closed";
  int64_t t_ns = std::clamp<int64_t>(event.t_ns, 0, kMaxTimeNs);  // a clock may say anything; readers take no other
  state_->pending.events.push_back({t_ns, clip(event.node), clip(event.kind), clip(event.text)});
  return Ok{};
}

Status RunWriter::commit() {
  CHECK(!state_->closed) << "the run was closed";
  if (state_->full) return *state_->full;
  return state_->flush();
}

void RunWriter::make_room() {
  state_->drop_reserve();
}

Manifest& RunWriter::manifest() {
  return state_->manifest;
}
Status RunWriter::save_manifest() {
  return state_->save_manifest();
}
const std::string& RunWriter::path() const {
  return state_->directory;
}

int64_t RunWriter::size_bytes() const {
  int64_t total = 0;
  for (const char* name : {kManifestFile, kDatabaseFile, "metrics.sqlite-wal", "metrics.sqlite-shm"}) {
    struct stat info {};
    if (::stat(state_->file(name).c_str(), &info) == 0) total += info.st_size;
  }
  return total;
}

Result<std::string> RunWriter::close() {
  CHECK(!state_->closed) << "the run was closed twice";
  state_->closed = true;
  RETURN_IF_ERROR(state_->finish_database());
  state_->count_into_reports();
  RETURN_IF_ERROR(state_->publish());
  return state_->directory;
}

void RunWriter::discard() {
  CHECK(state_->directory != state_->paths.closed) << "the run was closed";
  std::string path = state_->directory;
  state_.reset();  // lets go of its files before they are removed
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

}  // namespace culprit
