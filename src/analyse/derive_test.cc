// What a server did that was not the file system's doing, and which interfaces and sockets are counted for it: cases in
// which a value is not known, or would be counted twice.
#include "analyse/derive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <optional>

#include "model/sample.h"
#include "store/run_writer.h"

namespace culprit {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kStart = 1'767'225'600 * kSecond;

class DeriveTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("culprit-derive-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    Manifest manifest;
    manifest.origin = "recorded";
    manifest.interval_ns = kSecond;
    manifest.start_ns = kStart;
    manifest.cluster.fs = "glusterfs";
    manifest.cluster.nodes.emplace_back().name = "s1";
    auto writer = RunWriter::create((folder_ / "t.run").string(), manifest);
    ASSERT_TRUE(writer) << writer.error().message();
    writer_.emplace(std::move(writer).value());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  struct Row {
    const Source* source;
    std::string name;
    std::vector<int64_t> values;
    std::string detail;
  };
  void sample(int64_t second, const std::vector<Row>& rows) {
    Sample s;
    s.t_ns = kStart + second * kSecond;
    s.mono_ns = (second + 5) * kSecond;
    for (const Row& row : rows) {
      uint32_t& id = keys_[row.name];
      if (id == 0) {
        id = static_cast<uint32_t>(keys_.size());
        s.keys.push_back({id, row.source, row.name, row.detail});
      }
      s.add(*row.source, id, row.values);
    }
    ASSERT_TRUE(writer_->add(0, s));
  }
  SeriesSet load() {
    auto path = writer_->close();
    EXPECT_TRUE(path) << path.error().message();
    auto run = RunReader::open(path.value());
    EXPECT_TRUE(run) << run.error().message();
    auto set = load_series(run.value(), {});
    EXPECT_TRUE(set) << set.error().message();
    return std::move(set).value();
  }

  std::filesystem::path folder_;
  std::optional<RunWriter> writer_;
  std::map<std::string, uint32_t> keys_;
};

// Reads and writes `sectors` each.
std::vector<int64_t> disk(int64_t sectors) {
  std::vector<int64_t> row(disk_column::count, 0);
  row[disk_column::sectors_read] = sectors;
  row[disk_column::sectors_written] = sectors;
  return row;
}

std::vector<int64_t> daemon_io(int64_t bytes) {
  std::vector<int64_t> row(process_column::count, 0);
  row[process_column::read_bytes] = bytes;
  row[process_column::write_bytes] = bytes;
  row[process_column::cancelled_write_bytes] = bytes == kAbsent ? kAbsent : 0;
  return row;
}

std::vector<int64_t> nic(int64_t received, int64_t sent) {
  std::vector<int64_t> row(nic_column::count, 0);
  row[nic_column::rx_bytes] = received;
  row[nic_column::tx_bytes] = sent;
  return row;
}

std::vector<int64_t> socket(int64_t sent) {
  std::vector<int64_t> row(tcp_column::count, 0);
  row[tcp_column::cwnd_segments] = 10;
  row[tcp_column::bytes_sent] = sent;
  return row;
}

// The metric's value in second 1; missing also where no server has the metric.
double at_one(const SeriesSet& set, Metric metric) {
  return set.has(metric) ? set.of(metric).at(0).at(1) : kMissing;
}

TEST_F(DeriveTest, ForeignIoIsWhatTheDaemonsDidNotDo) {
  for (int64_t t : {0, 1})
    sample(t, {{&source_disk, "sda", disk(t * 10), "kind=plain"}, {&source_process, "d/1", daemon_io(t * 1000), ""}});
  EXPECT_DOUBLE_EQ(at_one(load(), Metric::foreign_io), 20 * 512 - 2000);
}

// Without root a daemon's /proc/PID/io cannot be read: then nothing is known about foreign I/O, also not from another
// daemon that can be read.
TEST_F(DeriveTest, ADaemonThatCannotBeReadMakesNoIoForeign) {
  for (int64_t t : {0, 1})
    sample(t, {{&source_disk, "sda", disk(t * 10), "kind=plain"},
               {&source_process, "d/1", daemon_io(kAbsent), ""},
               {&source_process, "d/2", daemon_io(t * 1000), ""}});
  EXPECT_TRUE(is_missing(at_one(load(), Metric::foreign_io)));
}

// Linux before 4.19 does not say how much a socket has sent.
TEST_F(DeriveTest, ASocketWithoutBytesMakesNoTrafficForeign) {
  for (int64_t t : {0, 1})
    sample(t, {{&source_nic, "eth0", nic(t * 1000, t * 4000), ""},
               {&source_tcp, "10.0.0.1:49152>10.0.0.9:1001", socket(kAbsent), "side=server"},
               {&source_tcp, "10.0.0.1:49152>10.0.0.9:1002", socket(t * 3000), "side=server"}});
  EXPECT_TRUE(is_missing(at_one(load(), Metric::foreign_net)));
}

// Somebody logs in from a port that a brick might have.
TEST_F(DeriveTest, ASocketOfAnotherServiceIsForeignWhateverPortItCameFrom) {
  for (int64_t t : {0, 1})
    sample(t, {{&source_nic, "eth0", nic(t * 1000, t * 4000), ""},
               {&source_tcp, "10.0.0.1:22>10.0.0.9:49152", socket(t * 700), "side=other"},
               {&source_tcp, "10.0.0.1:49152>10.0.0.9:1002", socket(t * 3000), "side=server"}});
  EXPECT_DOUBLE_EQ(at_one(load(), Metric::foreign_net), 2000);
}

TEST_F(DeriveTest, VirtualInterfacesAreNotCountedBesideTheOneWithADevice) {
  for (int64_t t : {0, 1})
    sample(t, {{&source_nic, "eth0", nic(t * 1000, t * 4000), ""},
               {&source_nic, "veth1", nic(t * 400, t * 100), "kind=virtual"},
               {&source_nic, "tap0", nic(t * 400, t * 100), "kind=virtual"}});
  const SeriesSet set = load();
  EXPECT_DOUBLE_EQ(at_one(set, Metric::rxbyt), 1000);
  EXPECT_DOUBLE_EQ(at_one(set, Metric::txbyt), 4000);
  EXPECT_THAT(set.notes, testing::Contains(testing::HasSubstr("virtual interfaces are not counted")));
}

TEST_F(DeriveTest, WhereThereAreOnlyVirtualInterfacesTheyAreCounted) {
  for (int64_t t : {0, 1})
    sample(t, {{&source_nic, "veth1", nic(t * 400, t * 100), "kind=virtual"},
               {&source_nic, "veth2", nic(t * 400, t * 100), "kind=virtual"},
               {&source_nic, "docker0", nic(t * 9, t * 9), "kind=virtual"}});
  EXPECT_DOUBLE_EQ(at_one(load(), Metric::rxbyt), 800);
}

}  // namespace
}  // namespace culprit
