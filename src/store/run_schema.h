// Names, schema and limits that the writer and the reader of a run share. docs/formats/run.md explains them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace culprit {

constexpr int64_t kSchemaVersion = 1;

constexpr char kManifestFile[] = "manifest.json";
constexpr char kDatabaseFile[] = "metrics.sqlite";
constexpr char kLockFile[] = "recorder.lock";
constexpr char kReserveFile[] = "reserve";

// Far beyond what a cluster has, near enough that a damaged number cannot eat the memory.
constexpr size_t kMaxNodes = 1'000'000;
constexpr size_t kMaxKeys = 10'000'000;      // sockets come and go: 1,000 servers, 10,000 connections each
constexpr size_t kMaxSamples = 500'000'000;  // 40 bytes each in memory: a day of 5,000 nodes at 1 Hz
constexpr size_t kMaxSources = 256;
constexpr size_t kMaxColumns = 512;  // of one source
constexpr size_t kMaxMetrics = 100'000;
constexpr size_t kMaxTextBytes = 65536;             // of a name, detail or event; longer ones are cut when written
constexpr int64_t kMaxTimeNs = int64_t{1} << 62;    // the year 2116
constexpr int64_t kMaxOffsetNs = kMaxTimeNs;        // of a node's clock: one that starts at 1970 fits
constexpr std::string_view kValueSource = "value";  // source of the keys that imported values have

// Rowid tables without indexes: rows are only ever appended, so pages fill up and nothing is written twice.
constexpr char kSchema[] = R"(
CREATE TABLE meta(key TEXT, value TEXT);
CREATE TABLE node(id INTEGER PRIMARY KEY, name TEXT, kind TEXT, address TEXT);
CREATE TABLE source(name TEXT, "key" TEXT, help TEXT);
CREATE TABLE source_column(source TEXT, name TEXT, kind TEXT, help TEXT);
CREATE TABLE "key"(id INTEGER PRIMARY KEY, node INTEGER, source TEXT, name TEXT, detail TEXT);
CREATE TABLE sample(id INTEGER PRIMARY KEY, node INTEGER, t_ns INTEGER, mono_ns INTEGER, cost_ns INTEGER, skipped INTEGER);
CREATE TABLE metric(id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE value(sample INTEGER, "key" INTEGER, metric INTEGER, value REAL);
CREATE TABLE event(t_ns INTEGER, node TEXT, kind TEXT, text TEXT);
)";
// The recorder says that it closes, and an event goes in only before: SQLite's lock puts the two in an order.
constexpr char kSayClosing[] = "INSERT INTO meta VALUES('closing','1')";
constexpr char kInsertUnlessClosing[] =
    "INSERT INTO event SELECT ?,?,?,? WHERE NOT EXISTS (SELECT 1 FROM meta WHERE \"key\"='closing')";
constexpr std::string_view kOwnTables[] = {"meta",   "node",   "source", "source_column", "key",
                                           "sample", "metric", "value",  "event"};

// A source's or column's name becomes part of the schema: lower case, digits and underscores, and no name of ours.
constexpr bool is_schema_name(std::string_view name) {
  if (name.empty() || name.size() > 64 || (name[0] >= '0' && name[0] <= '9')) return false;
  for (char c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) return false;
  return !name.starts_with("sqlite_");
}
constexpr bool is_source_name(std::string_view name) {
  for (std::string_view own : kOwnTables)
    if (name == own) return false;
  return is_schema_name(name);
}
constexpr bool is_column_name(std::string_view name) {
  return is_schema_name(name) && name != "sample" && name != "key" && name != "rowid" && name != "oid" &&
         name != "_rowid_";
}

}  // namespace culprit
