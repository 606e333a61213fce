// Runs that somebody damaged, by accident or on purpose: always one Error or a readable run, never a crash.
#include "store/run_reader.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "base/fd.h"
#include "base/text.h"
#include "store/manifest.h"
#include "store/run_path.h"
#include "store/run_test_util.h"

namespace culprit {
namespace {

std::string slurp(const std::string& path) {
  auto text = read_file(path);
  EXPECT_TRUE(text.ok()) << path;
  return text ? *text : "";
}

void spill(const std::string& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// A closed run a.run and, of the same content, a partial one b.run.partial with its journal written back.
class HostileRun : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"a", "b"}) {
      RunWriter writer = must_create(folder.file(name), 2);
      for (int tick = 0; tick < 8; ++tick)
        for (size_t node = 0; node < 2; ++node) ASSERT_TRUE(writer.add(node, test_sample(tick, 1)).ok());
      ASSERT_TRUE(writer.add_value(0, kTestStart, "sda", "tps", 4).ok());
      ASSERT_TRUE(writer.add_event({kTestStart, "", "mark", "x"}).ok());
      ASSERT_TRUE(writer.close().ok());
    }
    auto manifest = read_manifest(folder.file("b.run"));
    ASSERT_TRUE(manifest.ok());
    manifest->complete = false;
    ASSERT_TRUE(write_manifest(folder.file("b.run"), *manifest).ok());
    std::filesystem::rename(folder.file("b.run"), folder.file("b.run.partial"));
  }

  std::string closed_db() const { return folder.file("a.run/metrics.sqlite"); }
  std::string partial_db() const { return folder.file("b.run.partial/metrics.sqlite"); }

  // Reads all there is; "" or the first error.
  static std::string read_all(const std::string& path) {
    auto reader = RunReader::open(path);
    if (!reader) return reader.error().message();
    auto ignore = [](const SampleInfo&, uint32_t, std::span<const int64_t>) {};
    for (const Source* source : standard_sources())
      if (Status scanned = reader->scan(*source, ignore); !scanned) return scanned.error().message();
    auto ignore_value = [](const SampleInfo&, uint32_t, const std::string&, double) {};
    if (Status scanned = reader->scan_values(ignore_value); !scanned) return scanned.error().message();
    auto events = reader->events();
    return events ? "" : events.error().message();
  }

  std::string after_sql(const std::string& sql) {
    sqlite3* db = nullptr;
    EXPECT_EQ(sqlite3_open(partial_db().c_str(), &db), SQLITE_OK);
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message;
    sqlite3_close(db);
    return read_all(folder.file("b"));
  }

  std::string with_manifest(const std::string& text) {
    spill(folder.file("b.run.partial/manifest.json"), text);
    return read_all(folder.file("b"));
  }

  TemporaryFolder folder;
};

TEST_F(HostileRun, IsFineBeforeItIsDamaged) {
  EXPECT_EQ(read_all(folder.file("a")), "");
  EXPECT_EQ(read_all(folder.file("a.run")), "");
  EXPECT_EQ(read_all(folder.file("a.run/")), "");
  EXPECT_EQ(read_all(folder.file("b")), "");
  EXPECT_EQ(read_all(folder.file("b.run.partial")), "");
  EXPECT_TRUE(must_open(folder.file("b")).partial());
}

TEST_F(HostileRun, Truncated) {
  const std::string bytes = slurp(closed_db());
  for (size_t i = 0; i < 60; ++i) {
    std::string_view cut(bytes.data(), i < 10 ? i : bytes.size() * i / 60);
    spill(closed_db(), cut);
    EXPECT_NE(read_all(folder.file("a")), "") << cut.size();
    spill(partial_db(), cut);
    EXPECT_NE(read_all(folder.file("b")), "") << cut.size();
  }
}

TEST_F(HostileRun, BitFlips) {
  const std::string bytes = slurp(closed_db());
  int unnoticed = 0;
  for (size_t i = 0; i < 400; ++i) {
    std::string flipped = bytes;
    size_t place = i < 100 ? i : (i * 7919) % bytes.size();
    flipped[place] = static_cast<char>(flipped[place] ^ (1 << (i % 8)));
    if (i % 8 == 0) {
      spill(closed_db(), flipped);
      EXPECT_NE(read_all(folder.file("a")), "") << place;
    }
    spill(partial_db(), flipped);
    unnoticed += read_all(folder.file("b")).empty();
  }
  EXPECT_GT(unnoticed, 0);  // a partial run has no checksum: a flipped counter is readable
}

TEST_F(HostileRun, GarbageInTheJournal) {
  for (const char* text : {"", "x", "\x37\x7f\x06\x82 and then nothing of use"}) {
    spill(partial_db() + "-wal", text);
    EXPECT_EQ(read_all(folder.file("b")), "") << text;
  }
}

TEST_F(HostileRun, FilesMissingOrOfAnotherKind) {
  spill(folder.file("c"), "a file");
  EXPECT_NE(read_all(folder.file("c")).find("is a file"), std::string::npos);
  std::filesystem::create_directory(folder.file("monday.run"));
  auto missing = RunReader::open(folder.file("mondya.run"));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().hint, "did you mean monday?");
  std::filesystem::create_directory(folder.file("d.run"));
  EXPECT_NE(read_all(folder.file("d")).find("manifest.json"), std::string::npos);
  std::filesystem::remove(closed_db());
  EXPECT_NE(read_all(folder.file("a")).find("metrics.sqlite"), std::string::npos);
  std::filesystem::create_directory(closed_db());
  EXPECT_NE(read_all(folder.file("a")).find("is not a file"), std::string::npos);
  EXPECT_NE(read_all(""), "");
}

TEST_F(HostileRun, ManifestGarbage) {
  const std::string good = slurp(folder.file("b.run.partial/manifest.json"));
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("null"), std::string("{}"),
        std::string(2'000'000, '['), "{\"version\":" + std::string(100'000, '{'), std::string("{\"version\":\"1\"}"),
        std::string("{\"version\":-1}"), std::string("{\"version\":1e999}"),
        std::string("{\"version\":1,\"cluster\":[]}"), std::string("{\"version\":1,\"cluster\":{\"nodes\":[{}]}}"),
        std::string("{\"version\":1,\"notes\":[1]}"), std::string("{\"version\":1,\"start_ns\":18446744073709551615}"),
        std::string("{\"version\":1,\"nodes\":[{\"name\":\"s1\",\"clock_offset_ns\":"
                    "-9223372036854775808}]}"),
        std::string("\xff\xfe"), good.substr(0, good.size() / 2), good + good})
    EXPECT_NE(with_manifest(text), "") << printable(text);
  EXPECT_EQ(with_manifest(good), "");
}

TEST_F(HostileRun, NewerVersions) {
  std::string newer = with_manifest("{\"version\":2,\"cluster\":17}");
  EXPECT_NE(newer.find("has run version 2, this culprit reads up to 1"), std::string::npos) << newer;
}

TEST_F(HostileRun, NewerSchema) {
  std::string newer = after_sql("UPDATE meta SET value='7' WHERE key='schema_version'");
  EXPECT_NE(newer.find("has schema version 7, this culprit reads up to 1"), std::string::npos) << newer;
  EXPECT_NE(after_sql("UPDATE meta SET value='x' WHERE key='schema_version'"), "");
  EXPECT_NE(after_sql("DELETE FROM meta"), "");
}

TEST_F(HostileRun, TwoNodesWithOneName) {
  std::string text = slurp(folder.file("b.run.partial/manifest.json"));
  size_t place = 0;
  while ((place = text.find("\"s2\"", place)) != text.npos) text.replace(place, 4, "\"s1\"");
  EXPECT_NE(with_manifest(text).find("two nodes have the name s1"), std::string::npos);
}

TEST_F(HostileRun, StructuralDamageIsAnError) {
  const std::string bytes = slurp(partial_db());
  for (const char* sql : {"UPDATE disk SET reads='many'",
                          "UPDATE disk SET reads=x'00'",
                          "UPDATE disk SET reads=1.5",
                          "UPDATE disk SET sample=99999 WHERE rowid=1",
                          "UPDATE disk SET sample=NULL",
                          "UPDATE disk SET sample=0",
                          "UPDATE disk SET key=77",
                          "UPDATE disk SET key=-1",
                          "UPDATE disk SET key=2",
                          "UPDATE nic SET key=1",
                          "UPDATE disk SET key=(SELECT max(id) FROM key WHERE source='disk')",
                          "UPDATE sample SET node=2",
                          "UPDATE sample SET node=-1",
                          "UPDATE sample SET node='s1'",
                          "UPDATE sample SET t_ns=-1",
                          "UPDATE sample SET t_ns=9223372036854775807",
                          "UPDATE sample SET mono_ns='x'",
                          "DELETE FROM sample WHERE id=3",
                          "DELETE FROM key",
                          "UPDATE key SET node=9",
                          "UPDATE key SET source='nothing'",
                          "UPDATE key SET name=NULL",
                          "UPDATE node SET name='other' WHERE id=1",
                          "UPDATE node SET id=7 WHERE id=1",
                          "DELETE FROM source",
                          "INSERT INTO source VALUES('sample','','')",
                          "INSERT INTO source VALUES('disk','','')",
                          "INSERT INTO source_column VALUES('disk','reads','counter','')",
                          "INSERT INTO source_column VALUES('disk','nothing','counter','')",
                          "INSERT INTO source_column VALUES('disk','x\" y','counter','')",
                          "DELETE FROM metric",
                          "UPDATE value SET value='x'",
                          "UPDATE value SET metric='tps'",
                          "UPDATE event SET t_ns='noon'",
                          "UPDATE event SET text=NULL",
                          "DROP TABLE event",
                          "DROP TABLE disk",
                          "DROP TABLE event; CREATE VIEW event AS SELECT 1 AS t_ns, '' AS node, '' AS kind, '' AS text",
                          "DROP TABLE disk; CREATE VIEW disk AS SELECT * FROM nic",
                          "DROP TABLE event; CREATE TABLE event(t_ns, node, kind, text PRIMARY KEY) WITHOUT ROWID",
                          "DROP TABLE event; CREATE TABLE event(t_ns, node, kind, text AS (node))",
                          "DROP TABLE event; CREATE TABLE event(t_ns, node, kind, text, rowid)",
                          "CREATE TRIGGER mine AFTER INSERT ON event BEGIN DELETE FROM event; END"}) {
    spill(partial_db(), bytes);
    std::string message = after_sql(sql);
    EXPECT_NE(message, "") << sql;
    EXPECT_EQ(message.find('\n'), message.npos) << message;
  }
}

TEST_F(HostileRun, IndexesAndForeignTablesDoNoHarm) {
  EXPECT_EQ(after_sql("CREATE INDEX by_key ON disk(key, sample); CREATE TABLE mine(x); CREATE VIEW v AS SELECT 1"), "");
}

TEST_F(HostileRun, ImpossibleValuesAreLeftOutAndCounted) {
  ASSERT_EQ(after_sql("UPDATE disk SET reads=-5 WHERE rowid<=3; UPDATE disk SET in_flight=-1 WHERE rowid=1;"
                      "INSERT INTO value SELECT sample,key,metric,9e999 FROM value;"
                      "INSERT INTO value SELECT sample,key,metric,NULL FROM value LIMIT 1"),
            "");
  RunReader reader = must_open(folder.file("b"));
  for (int pass = 0; pass < 2; ++pass) {
    int64_t absent = 0;
    int64_t negative_gauges = 0;
    int64_t values = 0;
    ASSERT_TRUE(reader
                    .scan(source_disk,
                          [&](auto&, uint32_t, auto row) {
                            absent += row[disk_column::reads] == kAbsent;
                            negative_gauges += row[disk_column::in_flight] == -1;
                          })
                    .ok());
    ASSERT_TRUE(reader.scan_values([&](auto&, uint32_t, auto&, double) { ++values; }).ok());
    EXPECT_EQ(absent, 3);
    EXPECT_EQ(negative_gauges, 1);
    EXPECT_EQ(values, 1);
    ASSERT_EQ(reader.manifest().notes.size(), 2u);  // also after the second pass
    EXPECT_EQ(reader.manifest().notes[0], "3 negative counters of source disk count as absent");
    EXPECT_EQ(reader.manifest().notes[1], "2 imported values are not finite numbers and were left out");
  }
}

TEST_F(HostileRun, WithoutItsChecksum) {
  auto manifest = read_manifest(folder.file("a.run"));
  ASSERT_TRUE(manifest.ok());
  manifest->checksum.clear();
  ASSERT_TRUE(write_manifest(folder.file("a.run"), *manifest).ok());
  EXPECT_NE(read_all(folder.file("a")).find("checksum"), std::string::npos);
}

// As a user who may not write there; root may write anywhere, so root becomes nobody first.
int read_without_write_permission(const std::string& run) {
  constexpr uid_t kNobody = 65534;
  if (::geteuid() == 0 && (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0)) return 77;
  auto reader = RunReader::open(run);
  if (!reader || reader->manifest().notes.size() != 1) return 1;
  if (reader->manifest().notes[0].find("a copy of it was read") == std::string::npos) return 2;
  return count_rows(*reader, source_disk) == 16 ? 0 : 3;
}

TEST_F(HostileRun, PartialInAFolderThatCannotBeWritten) {
  ASSERT_EQ(after_sql("PRAGMA journal_mode=WAL"), "");
  for (const char* suffix : {"-wal", "-shm"}) std::filesystem::remove(partial_db() + suffix);
  ASSERT_EQ(::chmod(folder.file(".").c_str(), 0755), 0);
  ASSERT_EQ(::chmod(folder.file("b.run.partial").c_str(), 0555), 0);
  pid_t child = ::fork();
  if (child == 0) ::_exit(read_without_write_permission(folder.file("b")));
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(::chmod(folder.file("b.run.partial").c_str(), 0755), 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "cannot become another user here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Manifest, SurvivesBeingWrittenAndRead) {
  Manifest m = test_manifest(2);
  m.tool = "culprit 9";
  m.source = "record \"a\\b\" \xff";
  m.end_ns = kTestStart + 5;
  m.stopped = "asked";
  m.cluster.name = "c";
  m.cluster.fs = "glusterfs";
  m.cluster.data_ports = {{49152, 49251}};
  m.cluster.nodes[1].kind = NodeKind::client;
  m.cluster.nodes[1].roles = {"io", "meta"};
  m.cluster.nodes[1].disks = {"sdb"};
  m.cluster.nodes[1].storage = {"/data/brick"};
  m.nodes = {{"s2", -7, 3, 2, 1, 4, {{"kernel", "6.1"}}}};
  m.notes = {"n1", "n2"};
  m.own_cpu_seconds = 1.25;
  m.truth = {{"fault", "disk_hog"}};
  auto parsed = parse_manifest(format_manifest(m), "m");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message();
  EXPECT_EQ(parsed->source, "record \"a\\b\" \xef\xbf\xbd");
  EXPECT_EQ(format_manifest(*parsed), format_manifest(m));
  EXPECT_EQ(parsed->nodes[0].clock_offset_ns, -7);
  EXPECT_EQ(parsed->cluster.nodes[1].kind, NodeKind::client);
}

}  // namespace
}  // namespace culprit
