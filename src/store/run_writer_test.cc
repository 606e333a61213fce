#include "store/run_writer.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include "base/fd.h"
#include "base/text.h"
#include "store/run_path.h"
#include "store/run_reader.h"
#include "store/run_schema.h"
#include "store/run_test_util.h"
#include "store/sqlite.h"

namespace culprit {
namespace {

TEST(RunWriter, WhatWasWrittenIsRead) {
  TemporaryFolder folder;
  RunWriter writer = must_create(folder.file("a"), 2);
  EXPECT_EQ(writer.path(), folder.file("a.run.partial"));
  for (int tick = 0; tick < 5; ++tick) {
    for (size_t node = 0; node < 2; ++node) ASSERT_TRUE(writer.add(node, test_sample(tick, 3)).ok());
    ASSERT_TRUE(writer.commit().ok());
  }
  ASSERT_TRUE(writer.add_event({kTestStart + 5, "s1", "mark", "here"}).ok());
  auto closed = writer.close();
  ASSERT_TRUE(closed.ok()) << closed.error().message();
  EXPECT_EQ(*closed, folder.file("a.run"));

  RunReader reader = must_open(folder.file("a"));
  EXPECT_FALSE(reader.partial());
  EXPECT_EQ(reader.samples().size(), 10u);
  EXPECT_EQ(reader.keys().size(), 12u);
  EXPECT_EQ(reader.sources(), (std::vector<std::string>{"disk", "nic", "process", "tcp", "netstat", "system"}));
  EXPECT_EQ(count_rows(reader, source_tcp), 30);
  size_t row = 0;
  Status scanned = reader.scan(source_disk, [&](const SampleInfo& info, uint32_t key, std::span<const int64_t> values) {
    Sample expected = test_sample(static_cast<int64_t>(row / 2), 0);
    EXPECT_EQ(info.node, row % 2);
    EXPECT_EQ(info.t_ns, expected.t_ns);
    EXPECT_EQ(info.mono_ns, expected.mono_ns);
    EXPECT_EQ(info.cost_ns, expected.cost_ns);
    ASSERT_NE(reader.key(key), nullptr);
    EXPECT_EQ(reader.key(key)->name, "sdb");
    EXPECT_EQ(reader.key(key)->node, info.node);
    auto wanted = expected.row(expected.rows[0]);
    EXPECT_TRUE(std::equal(values.begin(), values.end(), wanted.begin(), wanted.end()));
    ++row;
  });
  EXPECT_TRUE(scanned.ok());
  EXPECT_EQ(row, 10u);
  auto events = reader.events();
  ASSERT_TRUE(events.ok());
  ASSERT_EQ(events->size(), 1u);
  EXPECT_EQ(events->at(0).text, "here");
  EXPECT_EQ(reader.manifest().nodes.at(1).samples, 5);
  // Nothing but the two files that make a closed run is left.
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(*closed)) files += entry.is_regular_file();
  EXPECT_EQ(files, 2u);
}

// Bytes per server and tick of a closed run, without the part that does not grow.
double bytes_per_tick(int sockets) {
  TemporaryFolder folder;
  constexpr int kServers = 20;
  constexpr int kTicks = 200;
  RunWriter writer = must_create(folder.file("a"), kServers);
  for (int tick = 0; tick < kTicks; ++tick) {
    for (size_t node = 0; node < kServers; ++node) EXPECT_TRUE(writer.add(node, test_sample(tick, sockets)).ok());
    EXPECT_TRUE(writer.commit().ok());
  }
  auto closed = writer.close();
  EXPECT_TRUE(closed.ok()) << closed.error().message();
  return static_cast<double>(std::filesystem::file_size(*closed + "/metrics.sqlite")) / kServers / kTicks;
}

TEST(RunWriter, RowsAreSmall) {
  double without = bytes_per_tick(0);
  double with = bytes_per_tick(10);
  EXPECT_LE(without, 500);
  EXPECT_LE((with - without) / 10, 60);
}

TEST(RunWriter, AbsentValuesStayAbsent) {
  TemporaryFolder folder;
  RunWriter writer = must_create(folder.file("a"), 1);
  Sample sample;
  sample.t_ns = kTestStart;
  sample.keys.push_back({1, &source_nic, "eth0", ""});
  sample.add(source_nic, 1, std::vector<int64_t>{1, kAbsent, 3, 4, kAbsent, 0, 7, 8});
  ASSERT_TRUE(writer.add(0, sample).ok());
  ASSERT_TRUE(writer.close().ok());
  RunReader reader = must_open(folder.file("a"));
  std::vector<int64_t> seen;
  ASSERT_TRUE(
      reader.scan(source_nic, [&](auto&, uint32_t, auto values) { seen.assign(values.begin(), values.end()); }).ok());
  EXPECT_EQ(seen, (std::vector<int64_t>{1, kAbsent, 3, 4, kAbsent, 0, 7, 8}));
  EXPECT_TRUE(reader.manifest().notes.empty());
}

TEST(RunWriter, NodesOfDifferentAgeShareOneTable) {
  TemporaryFolder folder;
  const Column old_columns[] = {{"a_bytes", ColumnKind::counter, ""}};
  const Column new_columns[] = {{"b_bytes", ColumnKind::gauge, ""}, {"a_bytes", ColumnKind::counter, ""}};
  const Source old_source{"flash", "", "", old_columns};
  const Source new_source{"flash", "", "", new_columns};
  RunWriter writer = must_create(folder.file("a"), 2);
  Sample sample;
  sample.add(old_source, 0, std::vector<int64_t>{1});
  ASSERT_TRUE(writer.add(0, sample).ok());
  ASSERT_TRUE(writer.commit().ok());
  sample.clear();
  sample.add(new_source, 0, std::vector<int64_t>{20, 2});
  ASSERT_TRUE(writer.add(1, sample).ok());
  ASSERT_TRUE(writer.close().ok());
  RunReader reader = must_open(folder.file("a"));
  std::vector<int64_t> seen;
  ASSERT_NE(reader.source("flash"), nullptr);
  EXPECT_EQ(reader.source("flash")->columns.size(), 2u);
  auto collect = [&](auto&, uint32_t, auto values) { seen.insert(seen.end(), values.begin(), values.end()); };
  ASSERT_TRUE(reader.scan(new_source, collect).ok());
  EXPECT_EQ(seen, (std::vector<int64_t>{kAbsent, 1, 20, 2}));
}

TEST(RunWriter, RefusesSourcesThatWouldBreakTheSchema) {
  TemporaryFolder folder;
  RunWriter writer = must_create(folder.file("a"), 1);
  const Column fine[] = {{"a", ColumnKind::gauge, ""}};
  const Column bad[] = {{"rowid", ColumnKind::gauge, ""}};
  const Column quoted[] = {{"a\"; DROP TABLE x", ColumnKind::gauge, ""}};
  for (const Source& source : {Source{"sample", "", "", fine}, Source{"a b", "", "", fine}, Source{"ok", "", "", bad},
                               Source{"ok2", "", "", quoted}}) {
    Sample sample;
    sample.add(source, 0, std::vector<int64_t>{1});
    EXPECT_FALSE(writer.add(0, sample).ok()) << source.name;
  }
  Sample sample;
  sample.add(source_disk, 9, std::vector<int64_t>(disk_column::count, 0));
  Status unknown_key = writer.add(0, sample);
  ASSERT_FALSE(unknown_key.ok());
  EXPECT_NE(unknown_key.error().what.find("never announced"), std::string::npos);
  ASSERT_TRUE(writer.close().ok());
  EXPECT_TRUE(must_open(folder.file("a")).samples().empty());
}

TEST(RunWriter, TooManyKeysCostOnlyTheirOwnRows) {
  TemporaryFolder folder;
  auto writer = RunWriter::create(folder.file("a"), test_manifest(1), 5);
  ASSERT_TRUE(writer.ok()) << writer.error().message();
  for (int64_t tick = 0; tick < 3; ++tick) {
    Status added = writer->add(0, test_sample(tick, 4));  // 3 devices and 4 sockets
    ASSERT_TRUE(added.ok()) << added.error().message();
    ASSERT_TRUE(writer->commit().ok());
  }
  const std::string limit = "a run can have at most 5 devices, sockets and daemons; later ones are left out";
  EXPECT_EQ(must_open(folder.file("a")).manifest().notes, std::vector<std::string>{limit});
  ASSERT_TRUE(writer->close().ok());
  RunReader reader = must_open(folder.file("a"));
  EXPECT_EQ(reader.samples().size(), 3u);
  EXPECT_EQ(reader.keys().size(), 5u);
  EXPECT_EQ(count_rows(reader, source_disk), 3);
  EXPECT_EQ(count_rows(reader, source_tcp), 6);
  EXPECT_EQ(reader.manifest().notes, std::vector<std::string>{limit + ": 6 rows"});
}

TEST(RunWriter, ANumberThatMeansANewKeyIsNotTheOldOne) {
  TemporaryFolder folder;
  auto writer = RunWriter::create(folder.file("a"), test_manifest(1), 4);
  ASSERT_TRUE(writer.ok()) << writer.error().message();
  ASSERT_TRUE(writer->add(0, test_sample(0, 1)).ok());
  Sample sample = test_sample(1, 1);
  sample.keys = {{4, &source_tcp, "10.0.0.1:49152-10.0.1.8:1", ""}};
  ASSERT_TRUE(writer->add(0, sample).ok());
  ASSERT_TRUE(writer->close().ok());
  EXPECT_EQ(count_rows(must_open(folder.file("a")), source_tcp), 1);
}

TEST(RunWriter, ASavedManifestIsNotWrittenAgain) {
  TemporaryFolder folder;
  RunWriter writer = must_create(folder.file("a"), 1);
  auto inode = [&] {
    struct stat info {};
    EXPECT_EQ(::stat((writer.path() + "/manifest.json").c_str(), &info), 0);
    return info.st_ino;
  };
  writer.manifest().cluster.nodes.emplace_back().name = "s2";
  ASSERT_TRUE(writer.save_manifest().ok());
  const auto saved = inode();
  ASSERT_TRUE(writer.add(1, test_sample(0, 0)).ok());
  ASSERT_TRUE(writer.commit().ok());
  EXPECT_EQ(inode(), saved);
}

TEST(RunWriter, ARestartedNodeKeepsItsDevices) {
  TemporaryFolder folder;
  RunWriter writer = must_create(folder.file("a"), 1);
  ASSERT_TRUE(writer.add(0, test_sample(0, 1)).ok());
  writer.reset_keys(0);
  Sample again = test_sample(0, 1);
  std::swap(again.keys[0].id, again.keys[1].id);
  std::swap(again.rows[0].key, again.rows[1].key);
  again.keys[3].detail = "peer=10.9.9.9 daemon=3";
  ASSERT_TRUE(writer.add(0, again).ok());
  ASSERT_TRUE(writer.close().ok());
  RunReader reader = must_open(folder.file("a"));
  EXPECT_EQ(reader.keys().size(), 5u);  // the socket's detail changed, so it is another one
  std::vector<uint32_t> disks;
  ASSERT_TRUE(reader.scan(source_disk, [&](auto&, uint32_t key, auto) { disks.push_back(key); }).ok());
  ASSERT_EQ(disks.size(), 2u);
  EXPECT_EQ(disks[0], disks[1]);
}

TEST(RunWriter, ImportedValuesShareTheirSamples) {
  TemporaryFolder folder;
  Manifest manifest = test_manifest(2);
  manifest.interval_ns = 0;
  auto writer = RunWriter::create(folder.file("a"), manifest);
  ASSERT_TRUE(writer.ok());
  for (const char* metric : {"tps", "await"})
    for (int tick = 0; tick < 5; ++tick)
      for (size_t node = 0; node < 2; ++node)
        ASSERT_TRUE(writer->add_value(node, kTestStart + tick * 10'000'000'000, "sda", metric, tick + 0.5).ok());
  EXPECT_FALSE(writer->add_value(0, kTestStart, "sda", "tps", NAN).ok());
  EXPECT_FALSE(writer->add_value(0, -1, "sda", "tps", 1).ok());
  Node late;
  late.name = "late";
  writer->manifest().cluster.nodes.push_back(late);
  ASSERT_TRUE(writer->add_value(2, kTestStart, "", "tps", 1).ok());
  ASSERT_TRUE(writer->close().ok());
  RunReader reader = must_open(folder.file("a"));
  EXPECT_EQ(reader.samples().size(), 11u);
  EXPECT_EQ(reader.keys().size(), 2u);
  EXPECT_EQ(reader.manifest().interval_ns, 10'000'000'000);
  EXPECT_EQ(reader.samples()[0].mono_ns, reader.samples()[0].t_ns);
  double sum = 0;
  int64_t awaits = 0;
  ASSERT_TRUE(reader
                  .scan_values([&](auto&, uint32_t, const std::string& metric, double value) {
                    sum += value;
                    awaits += metric == "await";
                  })
                  .ok());
  EXPECT_EQ(awaits, 10);
  EXPECT_DOUBLE_EQ(sum, 51);
}

TEST(RunWriter, RefusesARunThatExists) {
  TemporaryFolder folder;
  {
    RunWriter writer = must_create(folder.file("a"), 1);
    auto second = RunWriter::create(folder.file("a.run"), test_manifest(1));
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().what, cat("another recorder (pid ", static_cast<int>(::getpid()), ") is writing ",
                                       folder.file("a.run.partial")));
  }
  auto after_death = RunWriter::create(folder.file("a"), test_manifest(1));
  ASSERT_FALSE(after_death.ok());
  EXPECT_NE(after_death.error().what.find("did not finish"), std::string::npos);
  RunWriter other = must_create(folder.file("b"), 1);
  ASSERT_TRUE(other.close().ok());
  auto closed = RunWriter::create(folder.file("b"), test_manifest(1));
  ASSERT_FALSE(closed.ok());
  EXPECT_NE(closed.error().what.find("exists already"), std::string::npos);
}

TEST(RunWriter, ADiscardedRunIsGone) {
  TemporaryFolder folder;
  RunWriter writer = must_create(folder.file("a"), 1);
  ASSERT_TRUE(writer.add(0, test_sample(0, 1)).ok());
  ASSERT_TRUE(writer.commit().ok());
  writer.discard();
  EXPECT_TRUE(std::filesystem::is_empty(folder.file("")));
  EXPECT_TRUE(must_create(folder.file("a"), 1).close().ok());  // the name is free again
}

TEST(RunWriter, RefusesWhatCannotBecomeARun) {
  TemporaryFolder folder;
  auto no_folder = RunWriter::create(folder.file("missing/a"), test_manifest(1));
  ASSERT_FALSE(no_folder.ok());
  EXPECT_EQ(no_folder.error().errno_value, ENOENT);
  EXPECT_FALSE(RunWriter::create("", test_manifest(1)).ok());
  EXPECT_FALSE(RunWriter::create(folder.file("."), test_manifest(1)).ok());
  Manifest twins = test_manifest(2);
  twins.cluster.nodes[1].name = "s1";
  auto two = RunWriter::create(folder.file("twins"), twins);
  ASSERT_FALSE(two.ok());
  EXPECT_EQ(two.error().what, "two nodes have the name s1");
  EXPECT_FALSE(path_exists(folder.file("twins.run.partial")));
}

TEST(RunWriter, MarksOfAnotherProcess) {
  TemporaryFolder folder;
  RunWriter writer = must_create(folder.file("a"), 1);
  ASSERT_TRUE(writer.add(0, test_sample(0, 0)).ok());  // waiting rows must not keep marks out
  pid_t child = ::fork();
  if (child == 0) ::_exit(append_event(folder.file("a"), {kTestStart, "", "mark", "one"}).ok() ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_TRUE(writer.commit().ok());
  ASSERT_TRUE(writer.add_event({kTestStart, "s1", "mark", "two"}).ok());
  ASSERT_TRUE(writer.close().ok());
  auto events = must_open(folder.file("a")).events();
  ASSERT_TRUE(events.ok());
  ASSERT_EQ(events->size(), 2u);
  EXPECT_EQ(events->at(0).text, "one");
  Status late = append_event(folder.file("a"), {kTestStart, "", "mark", "three"});
  ASSERT_FALSE(late.ok());
  EXPECT_NE(late.error().what.find("is closed"), std::string::npos);
  EXPECT_FALSE(late.error().hint.empty());
}

TEST(RunWriter, NoMarkGoesIntoARunThatIsBeingClosed) {
  TemporaryFolder folder;
  RunWriter writer = must_create(folder.file("a"), 1);
  auto db = Database::open(writer.path() + "/metrics.sqlite", SQLITE_OPEN_READWRITE);
  ASSERT_TRUE(db.ok()) << db.error().message();
  ASSERT_TRUE(db->exec(kSayClosing, "cannot say it").ok());
  db->close();
  Status late = append_event(folder.file("a"), {kTestStart, "", "mark", "late"});
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().kind, ErrorKind::input);
  EXPECT_NE(late.error().what.find("is being closed"), std::string::npos);
  ASSERT_TRUE(writer.close().ok());
  EXPECT_TRUE(must_open(folder.file("a")).events()->empty());
}

int mark_until_refused(const std::string& path, int start) {
  char byte = 0;
  if (::read(start, &byte, 1) != 1) return 255;
  int accepted = 0;
  while (accepted < 200 && append_event(path, {kTestStart, "", "mark", "again"}).ok()) ++accepted;
  return accepted;
}

TEST(RunWriter, MarksThatRaceWithTheCloseAreInTheRunOrRefused) {
  for (int round = 0; round < 10; ++round) {
    TemporaryFolder folder;
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    pid_t child = ::fork();  // before there is a database: SQLite's state must not be inherited
    if (child == 0) ::_exit(mark_until_refused(folder.file("a"), ends[0]));
    RunWriter writer = must_create(folder.file("a"), 1);
    EXPECT_EQ(::write(ends[1], "x", 1), 1);
    ::usleep(static_cast<useconds_t>(1000 * round));
    auto closed = writer.close();
    EXPECT_TRUE(closed.ok()) << closed.error().message();
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    for (int end : ends) ::close(end);
    EXPECT_EQ(must_open(folder.file("a")).events()->size(), static_cast<size_t>(WEXITSTATUS(status)));
  }
}

TEST(RunWriter, MarksGoIntoARunLeftPartial) {
  TemporaryFolder folder;
  { RunWriter writer = must_create(folder.file("a"), 1); }
  ASSERT_TRUE(append_event(folder.file("a"), {kTestStart, "", "mark", "late"}).ok());
  RunReader reader = must_open(folder.file("a"));
  EXPECT_TRUE(reader.partial());
  EXPECT_EQ(reader.events()->size(), 1u);
}

TEST(RunWriter, ClockOffsetsReachReadersOfAPartialRun) {
  TemporaryFolder folder;
  RunWriter writer = must_create(folder.file("a"), 2);
  writer.manifest().nodes = {{"s2", 5'000'000'000, 1000, 0, 0, 0, {}}};
  ASSERT_TRUE(writer.save_manifest().ok());
  for (size_t node = 0; node < 2; ++node) ASSERT_TRUE(writer.add(node, test_sample(0, 0)).ok());
  ASSERT_TRUE(writer.commit().ok());
  RunReader reader = must_open(folder.file("a"));
  ASSERT_EQ(reader.samples().size(), 2u);
  EXPECT_EQ(reader.samples()[0].t_ns - reader.samples()[1].t_ns, 5'000'000'000);
}

TEST(RunWriter, AClockThatStartsAt1970) {
  TemporaryFolder folder;
  RunWriter writer = must_create(folder.file("a"), 2);
  writer.manifest().nodes = {{"s2", -kTestStart, 1000, 0, 0, 0, {}}};
  Sample early = test_sample(0, 0);
  early.t_ns -= kTestStart;
  ASSERT_TRUE(writer.add(0, test_sample(0, 0)).ok());
  ASSERT_TRUE(writer.add(1, early).ok());
  ASSERT_TRUE(writer.close().ok());
  RunReader reader = must_open(folder.file("a"));
  ASSERT_EQ(reader.samples().size(), 2u);
  EXPECT_EQ(reader.samples()[0].t_ns, reader.samples()[1].t_ns);
  EXPECT_TRUE(reader.manifest().notes.empty());
}

TEST(RunWriter, NoOffsetMakesARunUnreadable) {
  TemporaryFolder folder;
  RunWriter writer = must_create(folder.file("a"), 2);
  writer.manifest().nodes = {{"s1", kMaxOffsetNs, 1, 0, 0, 0, {}}, {"s2", -kMaxOffsetNs, 1, 0, 0, 0, {}}};
  Sample late = test_sample(0, 0);
  late.t_ns = kMaxTimeNs;
  ASSERT_TRUE(writer.add(0, test_sample(0, 0)).ok());
  ASSERT_TRUE(writer.add(1, late).ok());
  ASSERT_TRUE(writer.close().ok());
  RunReader reader = must_open(folder.file("a"));
  ASSERT_EQ(reader.samples().size(), 2u);
  EXPECT_EQ(reader.samples()[0].t_ns, 0);
  EXPECT_EQ(reader.samples()[1].t_ns, kMaxTimeNs);
  ASSERT_EQ(reader.manifest().notes.size(), 2u);
  EXPECT_EQ(reader.manifest().notes[1], "the clock of s2 was set during the recording; some of its times are wrong");
}

TEST(RunWriter, EventsOfImpossibleTimesAreRead) {
  TemporaryFolder folder;
  RunWriter writer = must_create(folder.file("a"), 1);
  ASSERT_TRUE(writer.add_event({-5, "s1", "gap", "before 1970"}).ok());
  ASSERT_TRUE(writer.add_event({INT64_MAX, "s1", "gap", "after all"}).ok());
  ASSERT_TRUE(writer.commit().ok());
  ASSERT_TRUE(append_event(folder.file("a"), {INT64_MIN, "", "mark", "long ago"}).ok());
  ASSERT_TRUE(writer.close().ok());
  auto events = must_open(folder.file("a")).events();
  ASSERT_TRUE(events.ok()) << events.error().message();
  ASSERT_EQ(events->size(), 3u);
  EXPECT_EQ(events->at(0).t_ns, 0);
  EXPECT_EQ(events->at(1).t_ns, kMaxTimeNs);
  EXPECT_EQ(events->at(2).t_ns, 0);
}

TEST(RunWriter, ClosesWhileSomebodyReads) {
  TemporaryFolder folder;
  RunWriter writer = must_create(folder.file("a"), 1);
  ASSERT_TRUE(writer.add(0, test_sample(0, 1)).ok());
  ASSERT_TRUE(writer.commit().ok());
  RunReader early = must_open(folder.file("a"));
  ASSERT_TRUE(writer.add(0, test_sample(1, 0)).ok());
  auto closed = writer.close();
  ASSERT_TRUE(closed.ok()) << closed.error().message();
  EXPECT_EQ(count_rows(early, source_disk), 1);  // what was there when it was opened
  EXPECT_EQ(count_rows(must_open(folder.file("a")), source_disk), 2);
}

// A child writes one tick per commit at full speed and tells the last committed one; it is killed at some moment.
int64_t write_until_killed(const std::string& path, useconds_t after_us) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  pid_t child = ::fork();
  if (child == 0) {
    auto writer = RunWriter::create(path, test_manifest(1));
    if (!writer) ::_exit(1);
    for (int64_t tick = 0; tick < 1'000'000; ++tick) {
      if (!writer->add(0, test_sample(tick, 2)) || !writer->commit()) ::_exit(1);
      if (::write(ends[1], &tick, sizeof tick) != sizeof tick) ::_exit(1);
    }
    ::_exit(1);
  }
  ::close(ends[1]);
  int64_t tick = -1;
  EXPECT_EQ(::read(ends[0], &tick, sizeof tick), ssize_t{sizeof tick});
  ::usleep(after_us);
  ::kill(child, SIGKILL);
  while (::read(ends[0], &tick, sizeof tick) == ssize_t{sizeof tick}) {
  }
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return tick;
}

TEST(RunWriter, SurvivesBeingKilled) {
  TemporaryFolder folder;
  unsigned random = 12345;
  for (int round = 0; round < 100; ++round) {
    std::string path = folder.file("r" + std::to_string(round));
    random = random * 1103515245 + 12345;
    int64_t committed = write_until_killed(path, (random >> 16) % 12000);
    auto reader = RunReader::open(path);
    ASSERT_TRUE(reader.ok()) << "round " << round << ": " << reader.error().message();
    EXPECT_TRUE(reader->partial());
    int64_t ticks = static_cast<int64_t>(reader->samples().size());
    ASSERT_GE(ticks, committed + 1) << "round " << round;
    ASSERT_LE(ticks, committed + 2) << "round " << round;  // one may be committed and not told
    ASSERT_EQ(count_rows(*reader, source_tcp), 2 * ticks);
    ASSERT_EQ(count_rows(*reader, source_system), ticks);
    std::filesystem::remove_all(path + ".run.partial");
  }
}

}  // namespace
}  // namespace culprit
