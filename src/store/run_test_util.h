// For the unit tests of the run directory: a folder that goes away, and samples with the sizes real counters have.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "model/run.h"
#include "model/sample.h"
#include "store/run_reader.h"
#include "store/run_writer.h"

namespace culprit {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    // In memory where that can be had: the tests make hundreds of runs, and every one is synced to its disk.
    bool in_memory = ::access("/dev/shm", W_OK | X_OK) == 0;
    auto parent = in_memory ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path();
    std::string name = (parent / "culprit-test-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline constexpr int64_t kTestStart = 1'700'000'000'000'000'000;

inline Manifest test_manifest(int servers) {
  Manifest manifest;
  manifest.origin = "recorded";
  manifest.start_ns = kTestStart;
  manifest.interval_ns = 1'000'000'000;
  for (int i = 1; i <= servers; ++i) {
    Node node;
    node.name = "s" + std::to_string(i);
    manifest.cluster.nodes.push_back(node);
  }
  return manifest;
}

// A tick of one server: disk, nic, daemon, netstat, system and `sockets` sockets. Keys come with tick 0.
inline Sample test_sample(int64_t tick, int sockets) {
  Sample s;
  s.t_ns = kTestStart + tick * 1'000'000'000 + 123'456;
  s.mono_ns = 4'000'000'000'000'000 + tick * 1'000'000'000;  // up for 46 days
  s.cost_ns = 800'000 + tick % 1000;
  if (tick == 0) {
    s.keys = {
        {1, &source_disk, "sdb", ""}, {2, &source_nic, "eth0", ""}, {3, &source_process, "glusterfsd", "pid=4711"}};
    for (int i = 0; i < sockets; ++i)
      s.keys.push_back({static_cast<uint32_t>(4 + i), &source_tcp,
                        "10.0.0.1:49152-10.0.1.7:" + std::to_string(40000 + i), "peer=10.0.1.7 daemon=3"});
  }
  const int64_t n = tick;
  const int64_t disk[] = {1'500'000'000 + 400 * n,
                          90'000'000 + n,
                          200'000'000'000 + 90'000 * n,
                          1'900'000'000 + 900 * n,
                          1'200'000'000 + 300 * n,
                          80'000'000 + n,
                          300'000'000'000 + 80'000 * n,
                          2'000'000'000 + 800 * n,
                          7,
                          1'000'000'000 + 600 * n,
                          9'000'000'000 + 1700 * n,
                          0,
                          0,
                          0,
                          5'000'000 + n,
                          40'000'000 + n};
  const int64_t nic[] = {900'000'000'000 + 100'000'000 * n,
                         1'100'000'000 + 70'000 * n,
                         0,
                         120,
                         950'000'000'000 + n,
                         1'200'000'000 + n,
                         0,
                         0};
  const int64_t process[] = {500'000'000'000 + n, 600'000'000'000 + n, 1'000'000'000,
                             700'000'000'000 + n, 800'000'000'000 + n, 90'000'000 + n,
                             60'000'000 + n,      1'500'000'000,       40};
  const int64_t netstat[] = {9'000'000'000 + n,
                             8'000'000'000 + n,
                             4'000'000,
                             30'000,
                             90'000,
                             9'000,
                             7'000'000 + n,
                             40'000,
                             30'000,
                             12,
                             5,
                             300};
  const int64_t system[] = {900'000'000 + n,
                            5'000,
                            400'000'000 + n,
                            1'900'000'000 + n,
                            90'000'000 + n,
                            0,
                            40'000'000 + n,
                            1'000'000,
                            90'000'000'000 + 9000 * n,
                            3,
                            1,
                            60'000'000'000 + n,
                            90'000'000 + n,
                            2'000'000,
                            9'000'000'000 + n,
                            80'000'000'000 + n,
                            70'000'000'000 + n,
                            5'000'000,
                            4'000'000};
  s.add(source_disk, 1, disk);
  s.add(source_nic, 2, nic);
  s.add(source_process, 3, process);
  s.add(source_netstat, 0, netstat);
  s.add(source_system, 0, system);
  const int64_t tcp[] = {10 + n % 40,
                         22 + n % 9,
                         250 + n % 100,
                         4,
                         50'000'000'000 + 10'000'000 * n,
                         40'000'000'000 + n,
                         36'000'000 + 7000 * n,
                         1200 + n % 7,
                         1'700'000 + n,
                         800,
                         3,
                         110'000'000 + n};
  for (int i = 0; i < sockets; ++i) s.add(source_tcp, static_cast<uint32_t>(4 + i), tcp);
  return s;
}

inline RunWriter must_create(const std::string& path, int servers) {
  auto writer = RunWriter::create(path, test_manifest(servers));
  EXPECT_TRUE(writer.ok()) << writer.error().message();
  return std::move(writer).value();
}

inline RunReader must_open(const std::string& path) {
  auto reader = RunReader::open(path);
  EXPECT_TRUE(reader.ok()) << reader.error().message();
  return std::move(reader).value();
}

inline int64_t count_rows(const RunReader& reader, const Source& source) {
  int64_t rows = 0;
  Status scanned = reader.scan(source, [&](const SampleInfo&, uint32_t, std::span<const int64_t>) { ++rows; });
  EXPECT_TRUE(scanned.ok()) << scanned.error().message();
  return rows;
}

}  // namespace culprit
