// Does any content of a run crash the reader? The first byte chooses what the rest is: the bytes of metrics.sqlite, a
// manifest, or a script that puts cells of any type into a well-formed database, which random bytes never become.
#include <sqlite3.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/text.h"
#include "store/manifest.h"
#include "store/run_reader.h"
#include "store/run_schema.h"
#include "store/sqlite.h"

namespace {

using namespace culprit;

Manifest manifest_of_two() {
  Manifest manifest;
  for (const char* name : {"s1", "s2"}) manifest.cluster.nodes.emplace_back().name = name;
  manifest.nodes.emplace_back().name = "s2";
  manifest.nodes[0].clock_offset_ns = 1'000'000;
  return manifest;
}

void read_everything(Database db, Manifest manifest) {
  auto reader = RunReader::from_database(std::move(db), std::move(manifest), "fuzz");
  if (!reader) return;
  int64_t sum = 0;
  auto add = [&](const SampleInfo& sample, uint32_t key, std::span<const int64_t> values) {
    sum ^= sample.t_ns + int64_t{key};
    for (int64_t value : values) sum ^= value;
  };
  for (const Source* source : standard_sources()) (void)reader->scan(*source, add).ok();
  for (const std::string& name : reader->sources())
    if (const Source* source = reader->source(name)) (void)reader->scan(*source, add).ok();
  (void)reader
      ->scan_values([&](const SampleInfo& sample, uint32_t key, const std::string& metric, double) {
        sum ^= sample.id + int64_t{key} + static_cast<int64_t>(metric.size());
      })
      .ok();
  if (auto events = reader->events()) sum ^= static_cast<int64_t>(events->size());
  volatile int64_t sink = sum;
  (void)sink;
}

Database in_memory() {
  sqlite3* raw = nullptr;
  if (sqlite3_open_v2(":memory:", &raw, SQLITE_OPEN_READWRITE, nullptr) != SQLITE_OK) std::abort();
  return Database(raw);
}

Database from_bytes(const uint8_t* data, size_t size, unsigned flags) {
  Database db = in_memory();
  auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(size + 1));
  std::memcpy(copy, data, size);
  if (size > 19) copy[18] = copy[19] = 1;  // a file in memory has no journal to look for
  auto length = static_cast<sqlite3_int64>(size);
  sqlite3_deserialize(db.get(), "main", copy, length, length, flags | SQLITE_DESERIALIZE_FREEONCLOSE);
  return db;
}

void as_database(const uint8_t* data, size_t size) {
  read_everything(from_bytes(data, size, SQLITE_DESERIALIZE_READONLY), manifest_of_two());
}

void as_manifest(const uint8_t* data, size_t size) {
  auto manifest = parse_manifest({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!manifest) return;
  // What is accepted must survive being written and read again.
  auto again = parse_manifest(format_manifest(*manifest), "fuzz");
  if (!again || again->cluster.nodes.size() != manifest->cluster.nodes.size()) std::abort();
}

// A table's number and its cells, one byte of type each: small and large integers, reals, texts, blobs, NULL.
class Script {
 public:
  Script(const uint8_t* data, size_t size) : data_(data), end_(data + size) {}
  bool done() const { return data_ == end_; }
  uint8_t byte() { return done() ? 0 : *data_++; }
  std::string cell() {
    static const char* const kOdd[] = {"NULL",
                                       "9e999",
                                       "-9e999",
                                       "9223372036854775807",
                                       "-9223372036854775808",
                                       "'counter'",
                                       "'disk'",
                                       "'sample'",
                                       "x'00ff'",
                                       "'schema_version'",
                                       "'reads'",
                                       "4294967296",
                                       "'value'",
                                       "1700000000000000000",
                                       "0.5",
                                       "'s1'"};
    uint8_t kind = byte();
    if (kind < 128) return cat(static_cast<int>(kind));
    if (kind < 192) return kOdd[kind % 16];
    return cat(static_cast<int>(byte()) - 128);
  }

 private:
  const uint8_t* data_;
  const uint8_t* end_;
};

constexpr char kSetting[] = R"(
INSERT INTO meta VALUES('schema_version','1');
INSERT INTO node VALUES(0,'s1','server',''),(1,'s2','server','');
CREATE TABLE disk(sample INTEGER, "key" INTEGER, reads INTEGER, in_flight INTEGER);
INSERT INTO source VALUES('disk','device','');
INSERT INTO source_column VALUES('disk','reads','counter',''),('disk','in_flight','gauge','');
INSERT INTO metric VALUES(1,'tps');
)";

// The well-formed database, made once: its schema is the slow part.
Database setting() {
  static const std::string bytes = [] {
    Database db = in_memory();
    sqlite3_exec(db.get(), cat("PRAGMA page_size=512;", kSchema, kSetting).c_str(), nullptr, nullptr, nullptr);
    sqlite3_int64 size = 0;
    unsigned char* image = sqlite3_serialize(db.get(), "main", &size, 0);
    std::string copy(reinterpret_cast<char*>(image), static_cast<size_t>(size));
    sqlite3_free(image);
    return copy;
  }();
  return from_bytes(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), SQLITE_DESERIALIZE_RESIZEABLE);
}

void as_script(const uint8_t* data, size_t size) {
  static constexpr struct {
    const char* table;
    int cells;
  } kTables[] = {{"sample", 6}, {"\"key\"", 5},       {"disk", 4}, {"value", 4},  {"event", 4}, {"node", 4},
                 {"source", 3}, {"source_column", 4}, {"meta", 2}, {"metric", 2}, {"disk", 4}};
  Database db = setting();
  std::string sql = "BEGIN;";
  Script script(data, size);
  for (int row = 0; row < 64 && !script.done(); ++row) {
    const auto& table = kTables[script.byte() % std::size(kTables)];
    sql += cat("INSERT OR IGNORE INTO ", table.table, " VALUES(", script.cell());
    for (int i = 1; i < table.cells; ++i) sql += cat(",", script.cell());
    sql += ");";
  }
  // A row that SQLite itself refuses ends the script; what came before stays.
  sqlite3_exec(db.get(), sql.c_str(), nullptr, nullptr, nullptr);
  sqlite3_exec(db.get(), "COMMIT", nullptr, nullptr, nullptr);
  read_everything(std::move(db), manifest_of_two());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  switch (data[0] % 3) {
    case 0:
      as_database(data + 1, size - 1);
      break;
    case 1:
      as_manifest(data + 1, size - 1);
      break;
    default:
      as_script(data + 1, size - 1);
  }
  return 0;
}
