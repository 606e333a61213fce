#include "store/run_writer.h"

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
#include "store/run_test_util.h"

namespace culprit {
namespace {

RunWriter must_create(const std::string& path, int servers) {
  auto writer = RunWriter::create(path, test_manifest(servers));
  EXPECT_TRUE(writer.ok()) << writer.error().message();
  return std::move(writer).value();
}

RunReader must_open(const std::string& path) {
  auto reader = RunReader::open(path);
  EXPECT_TRUE(reader.ok()) << reader.error().message();
  return std::move(reader).value();
}

int64_t count_rows(const RunReader& reader, const Source& source) {
  int64_t rows = 0;
  Status scanned = reader.scan(source, [&](const SampleInfo&, uint32_t, std::span<const int64_t>) { ++rows; });
  EXPECT_TRUE(scanned.ok()) << scanned.error().message();
  return rows;
}

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

}  // namespace
}  // namespace culprit
