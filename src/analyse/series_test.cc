// From recorded counters to metrics: the definitions, and what gaps, resets, stalls and stacked disks make of them.
#include "analyse/series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "model/sample.h"
#include "store/run_writer.h"

namespace culprit {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kStart = 1'767'225'600 * kSecond;

class SeriesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("culprit-series-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    manifest_.origin = "recorded";
    manifest_.interval_ns = kSecond;
    manifest_.start_ns = kStart;
    manifest_.cluster.fs = "glusterfs";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Node& node(const std::string& name, NodeKind kind = NodeKind::server, const std::string& address = "") {
    manifest_.cluster.nodes.push_back({});
    Node& node = manifest_.cluster.nodes.back();
    node.name = name;
    node.kind = kind;
    node.address = address;
    return node;
  }

  void begin() {
    auto writer = RunWriter::create((folder_ / "t.run").string(), manifest_);
    ASSERT_TRUE(writer) << writer.error().message();
    writer_.emplace(std::move(writer).value());
  }

  // One sample with rows of (source, key, values); keys are announced the first time.
  struct Row {
    const Source* source;
    std::string name;
    std::vector<int64_t> values;
    std::string detail = "";
  };
  void sample(size_t node, double seconds, const std::vector<Row>& rows) {
    Sample s;
    s.t_ns = kStart + static_cast<int64_t>(seconds * 1e9);
    s.mono_ns = s.t_ns - kStart + 5 * kSecond;
    for (const Row& row : rows) {
      uint32_t& id = keys_[{node, row.name}];
      if (id == 0 && !row.name.empty()) {
        id = ++next_key_;
        s.keys.push_back({id, row.source, row.name, row.detail});
      }
      s.add(*row.source, id, row.values);
    }
    ASSERT_TRUE(writer_->add(node, s));
  }

  SeriesSet load(SeriesOptions options = {}) {
    auto path = writer_->close();
    EXPECT_TRUE(path) << path.error().message();
    auto run = RunReader::open(path.value());
    EXPECT_TRUE(run) << run.error().message();
    auto set = load_series(run.value(), options);
    EXPECT_TRUE(set) << set.error().message();
    return std::move(set).value();
  }

  static std::vector<int64_t> disk(int64_t ios, int64_t sectors, int64_t ms, int64_t busy, int64_t in_flight = 0) {
    return {ios, 0, sectors, ms, ios, 0, 2 * sectors, ms, in_flight, busy, (3 * busy) & 0xffffffff, 0, 0, 0, 0, 0};
  }

  std::filesystem::path folder_;
  Manifest manifest_;
  std::optional<RunWriter> writer_;
  std::map<std::pair<size_t, std::string>, uint32_t> keys_;
  uint32_t next_key_ = 0;
};

double at(const SeriesSet& set, Metric metric, size_t server, size_t tick) {
  return set.of(metric).at(server).at(tick);
}

TEST_F(SeriesTest, DiskMetricsFollowTheirDefinitions) {
  node("s1");
  begin();
  sample(0, 0, {{&source_disk, "sda", disk(100, 1000, 50, 400)}});
  sample(0, 1, {{&source_disk, "sda", disk(110, 1800, 130, 900)}});
  const SeriesSet set = load();
  ASSERT_EQ(set.ticks, 2u);
  EXPECT_DOUBLE_EQ(at(set, Metric::tps, 0, 1), 20);  // 10 reads, 10 writes
  EXPECT_DOUBLE_EQ(at(set, Metric::rd_sec, 0, 1), 800);
  EXPECT_DOUBLE_EQ(at(set, Metric::wr_sec, 0, 1), 1600);
  EXPECT_DOUBLE_EQ(at(set, Metric::await, 0, 1), 160.0 / 20);
  EXPECT_DOUBLE_EQ(at(set, Metric::util, 0, 1), 50);
  EXPECT_DOUBLE_EQ(at(set, Metric::avgqu_sz, 0, 1), 1.5);
  EXPECT_DOUBLE_EQ(at(set, Metric::avgrq_sz, 0, 1), 120);
  EXPECT_DOUBLE_EQ(at(set, Metric::svctm, 0, 1), 25);
}

TEST_F(SeriesTest, DisksAreSummedThenDerived) {
  node("s1").disks = {"sda", "sdb"};
  begin();
  sample(0, 0,
         {{&source_disk, "sda", disk(0, 0, 0, 0)},
          {&source_disk, "sdb", disk(0, 0, 0, 0)},
          {&source_disk, "sdc", disk(0, 0, 0, 0)}});
  sample(0, 1,
         {{&source_disk, "sda", disk(1, 100, 10, 100)},
          {&source_disk, "sdb", disk(9, 300, 20, 300)},
          {&source_disk, "sdc", disk(99, 999, 999, 999)}});
  const SeriesSet set = load();
  EXPECT_DOUBLE_EQ(at(set, Metric::rd_sec, 0, 1), 400);
  EXPECT_DOUBLE_EQ(at(set, Metric::await, 0, 1), 60.0 / 20);  // of all requests, not the mean of two means
  EXPECT_DOUBLE_EQ(at(set, Metric::util, 0, 1), 20);
}

TEST_F(SeriesTest, StackedDisksAreNotCountedTwice) {
  node("s1");
  node("s2").disks = {"dm-0", "sda"};
  begin();
  for (size_t n : {0, 1})
    for (int t : {0, 1})
      sample(n, t,
             {{&source_disk, "sda", disk(t * 5, t * 100, t * 10, t * 10), "kind=plain"},
              {&source_disk, "dm-0", disk(t * 5, t * 100, t * 10, t * 10), "kind=dm slaves=sda"}});
  const SeriesSet set = load();
  EXPECT_DOUBLE_EQ(at(set, Metric::rd_sec, 0, 1), 100);
  EXPECT_DOUBLE_EQ(at(set, Metric::rd_sec, 1, 1), 100);
  EXPECT_THAT(set.notes, testing::Contains(testing::HasSubstr("not counted twice")));
}

TEST_F(SeriesTest, AStalledDiskIsNotNoData) {
  node("s1");
  begin();
  // Completes in second 1, then hangs with 4 requests in flight and counts busy time only.
  sample(0, 0, {{&source_disk, "sda", disk(0, 0, 0, 0)}});
  sample(0, 1, {{&source_disk, "sda", disk(5, 100, 10, 500)}});
  for (int t = 2; t < 8; ++t) sample(0, t, {{&source_disk, "sda", disk(5, 100, 10, 500 + (t - 1) * 1000, 4)}});
  // An idle disk beside it has no await.
  const SeriesSet set = load();
  for (size_t t = 2; t < 8; ++t) EXPECT_DOUBLE_EQ(at(set, Metric::await, 0, t), static_cast<double>(t - 1) * 1000);
  EXPECT_DOUBLE_EQ(at(set, Metric::tps, 0, 7), 0);
}

TEST_F(SeriesTest, AnIdleDiskHasNoAwaitAndANewRequestHasNotWaitedTheIdleTime) {
  node("s1");
  begin();
  sample(0, 0, {{&source_disk, "sda", disk(0, 0, 0, 0)}});
  sample(0, 1, {{&source_disk, "sda", disk(5, 100, 10, 100)}});
  for (int t = 2; t < 60; ++t) sample(0, t, {{&source_disk, "sda", disk(5, 100, 10, 100)}});
  sample(0, 60, {{&source_disk, "sda", disk(5, 100, 10, 103, 1)}});  // it arrived 3 ms ago
  const SeriesSet set = load();
  EXPECT_TRUE(is_missing(at(set, Metric::await, 0, 30)));
  EXPECT_DOUBLE_EQ(at(set, Metric::await, 0, 60), 3);
  EXPECT_TRUE(set.sampled[0][30]);
}

TEST_F(SeriesTest, AGapIsNeverAZero) {
  node("s1");
  begin();
  sample(0, 0, {{&source_disk, "sda", disk(0, 0, 0, 0)}});
  sample(0, 1, {{&source_disk, "sda", disk(1, 100, 10, 10)}});
  sample(0, 10, {{&source_disk, "sda", disk(9, 9000, 10, 10)}});
  sample(0, 11, {{&source_disk, "sda", disk(9, 9100, 10, 10)}});
  const SeriesSet set = load();
  for (size_t t = 2; t <= 10; ++t) EXPECT_TRUE(is_missing(at(set, Metric::rd_sec, 0, t))) << t;
  EXPECT_DOUBLE_EQ(at(set, Metric::rd_sec, 0, 11), 100);
  EXPECT_FALSE(set.sampled[0][5]);
}

TEST_F(SeriesTest, OneMissedTickIsBridged) {
  node("s1");
  begin();
  sample(0, 0, {{&source_disk, "sda", disk(0, 0, 0, 0)}});
  sample(0, 2, {{&source_disk, "sda", disk(1, 100, 10, 10)}});
  const SeriesSet set = load();
  EXPECT_TRUE(is_missing(at(set, Metric::rd_sec, 0, 1)));
  EXPECT_DOUBLE_EQ(at(set, Metric::rd_sec, 0, 2), 50);
}

TEST_F(SeriesTest, CounterResetsAndWraps) {
  node("s1");
  begin();
  const int64_t top = (int64_t{1} << 32) - 40;
  sample(0, 0, {{&source_disk, "sda", disk(500, 90000, top, top)}});
  sample(0, 1, {{&source_disk, "sda", disk(510, 90100, 60, 60)}});  // the ms wrapped: 100 ms each
  sample(0, 2, {{&source_disk, "sda", disk(3, 10, 5, 5)}});         // reset
  sample(0, 3, {{&source_disk, "sda", disk(4, 20, 10, 10)}});
  const SeriesSet set = load();
  EXPECT_DOUBLE_EQ(at(set, Metric::await, 0, 1), 200.0 / 20);
  EXPECT_TRUE(is_missing(at(set, Metric::rd_sec, 0, 2)));
  EXPECT_DOUBLE_EQ(at(set, Metric::rd_sec, 0, 3), 10);
}

TEST_F(SeriesTest, TicksAreNearestMultiplesAndTheLastSampleWins) {
  node("s1");
  begin();
  sample(0, 0, {{&source_disk, "sda", disk(0, 0, 0, 0)}});
  sample(0, 0.8, {{&source_disk, "sda", disk(0, 80, 0, 0)}});
  sample(0, 1.3, {{&source_disk, "sda", disk(0, 280, 0, 0)}});
  const SeriesSet set = load();
  ASSERT_EQ(set.ticks, 2u);
  EXPECT_DOUBLE_EQ(at(set, Metric::rd_sec, 0, 1), 400);
  EXPECT_EQ(set.start_ns, kStart);
}

TEST_F(SeriesTest, NetworkRatesAndLoopback) {
  node("s1");
  begin();
  sample(0, 0, {{&source_nic, "eth0", {0, 0, 0, 0, 0, 0, 0, 0}}, {&source_nic, "lo", {0, 0, 0, 0, 0, 0, 0, 0}}});
  sample(0, 2,
         {{&source_nic, "eth0", {2000, 20, 0, 0, 4000, 40, 0, 0}}, {&source_nic, "lo", {9, 9, 9, 9, 9, 9, 9, 9}}});
  const SeriesSet set = load();
  EXPECT_DOUBLE_EQ(at(set, Metric::rxbyt, 0, 2), 1000);
  EXPECT_DOUBLE_EQ(at(set, Metric::rxpck, 0, 2), 10);
  EXPECT_DOUBLE_EQ(at(set, Metric::txbyt, 0, 2), 2000);
  EXPECT_DOUBLE_EQ(at(set, Metric::txpck, 0, 2), 20);
}

std::vector<int64_t> socket(int64_t cwnd, int64_t sent) {
  return {cwnd, kAbsent, 100, 0, sent, 0, 0, 0, 0, 0, 0, 0};
}

// Rule 11: data sockets only, that sent lately, both directions apart.
TEST_F(SeriesTest, CongestionWindowsByServerAndDirection) {
  node("s1", NodeKind::server, "10.0.0.1");
  node("s2", NodeKind::server, "10.0.0.2");
  node("c1", NodeKind::client, "10.0.0.9");
  begin();
  for (int t = 0; t < 40; ++t) {
    const int64_t sent = t < 3 ? t * 100 : 200;  // both data sockets of s1 send until second 2
    sample(0, t,
           {{&source_tcp, "10.0.0.1:49152>10.0.0.9:1001", socket(10, sent)},
            {&source_tcp, "10.0.0.1:49152>10.0.0.9:1002", socket(30, sent)},
            {&source_tcp, "10.0.0.1:49152>10.0.0.9:1003", socket(500, 7)},        // never sends
            {&source_tcp, "10.0.0.1:49152>10.0.0.2:1004", socket(900, t * 100)},  // to another server
            {&source_tcp, "10.0.0.1:22>10.0.0.9:1005", socket(900, t * 100)}});   // not the file system's
    sample(2, t,
           {{&source_tcp, "10.0.0.9:1001>10.0.0.1:49152", socket(44, t * 10)},
            {&source_tcp, "10.0.0.9:1009>10.0.0.2:49153", socket(55, t * 10)}});
  }
  const SeriesSet set = load();
  EXPECT_TRUE(is_missing(at(set, Metric::cwnd_to_clients, 0, 0)));
  EXPECT_DOUBLE_EQ(at(set, Metric::cwnd_to_clients, 0, 1), 20);
  EXPECT_DOUBLE_EQ(at(set, Metric::cwnd_to_clients, 0, 32), 20);  // sent 30 ticks ago
  EXPECT_TRUE(is_missing(at(set, Metric::cwnd_to_clients, 0, 33)));
  EXPECT_DOUBLE_EQ(at(set, Metric::cwnd_from_clients, 0, 5), 44);
  EXPECT_DOUBLE_EQ(at(set, Metric::cwnd_from_clients, 1, 5), 55);
}

// The data ports of GlusterFS overlap the ephemeral ones: what the collector says of the side counts.
TEST_F(SeriesTest, SocketsThatOnlyLookLikeDataAreLeftOut) {
  node("s1");
  node("s2");
  begin();
  for (int t = 0; t < 5; ++t) {
    sample(0, t,
           {{&source_tcp, "10.0.0.1:49152>10.0.0.9:1001", socket(10, t * 100), "side=server"},
            {&source_tcp, "10.0.0.1:49152>10.0.0.2:1002", socket(700, t * 100), "side=server"},
            {&source_tcp, "10.0.0.1:51000>10.0.0.7:389", socket(900, t * 100), "side=other"}});
    sample(1, t, {{&source_tcp, "10.0.0.2:49153>10.0.0.9:1003", socket(20, t * 100), "side=server"}});
  }
  const SeriesSet set = load();
  EXPECT_DOUBLE_EQ(at(set, Metric::cwnd_to_clients, 0, 3), 10);  // s2's address was learned from its own sockets
  EXPECT_DOUBLE_EQ(at(set, Metric::cwnd_to_clients, 1, 3), 20);
}

TEST_F(SeriesTest, ForeignTrafficIsWhatTheFileSystemsSocketsDidNotCarry) {
  node("s1");
  begin();
  for (int t : {0, 1}) {
    std::vector<int64_t> data = socket(10, t * 3000), other = socket(10, t * 700);
    sample(0, t,
           {{&source_nic, "eth0", {t * 1000, 0, 0, 0, t * 4000, 0, 0, 0}},
            {&source_tcp, "10.0.0.1:49152>10.0.0.9:1001", data, "side=server"},
            {&source_tcp, "10.0.0.1:22>10.0.0.9:1002", other, "side=other"},
            {&source_tcp, "127.0.0.1:49152>127.0.0.1:1003", other, "side=server"}});
  }
  EXPECT_DOUBLE_EQ(at(load(), Metric::foreign_net, 0, 1), 2000);
}

TEST_F(SeriesTest, DisksMayBeNamedByDeviceMapperOrByLink) {
  node("s1").disks = {"vg0-data"};
  node("s2").disks = {"disk/by-id/wwn-1"};
  begin();
  for (int t : {0, 1}) {
    sample(0, t, {{&source_disk, "dm-0", disk(t, t * 100, t, t), "kind=dm dm=vg0-data slaves=sda"}});
    sample(1, t, {{&source_disk, "sdb", disk(t, t * 100, t, t), "kind=plain"}});
  }
  const SeriesSet set = load();
  EXPECT_DOUBLE_EQ(at(set, Metric::rd_sec, 0, 1), 100);
  EXPECT_DOUBLE_EQ(at(set, Metric::rd_sec, 1, 1), 100);
}

// Kernels from 5.0 to 5.17 do not count busy time while a disk hangs.
TEST_F(SeriesTest, AStalledDiskWhoseBusyTimeStandsStill) {
  node("s1");
  begin();
  sample(0, 0, {{&source_disk, "sda", disk(0, 0, 0, 0)}});
  sample(0, 1, {{&source_disk, "sda", disk(5, 100, 10, 500, 4)}});
  for (int t = 2; t < 8; ++t) sample(0, t, {{&source_disk, "sda", disk(5, 100, 10, 500, 4)}});
  const SeriesSet set = load();
  for (size_t t = 2; t < 8; ++t) EXPECT_DOUBLE_EQ(at(set, Metric::await, 0, t), static_cast<double>(t - 1) * 1000);
}

TEST_F(SeriesTest, OfTwoImportedSamplesInATickTheLastWins) {
  node("s1");
  begin();
  for (double seconds : {0.0, 0.6, 1.4, 2.0})
    ASSERT_TRUE(writer_->add_value(0, kStart + static_cast<int64_t>(seconds * 1e9), "sda", "rd_sec", 100 + seconds));
  EXPECT_DOUBLE_EQ(at(load(), Metric::rd_sec, 0, 1), 101.4);
}

TEST_F(SeriesTest, ImportedValuesOfSeveralDevices) {
  node("s1");
  begin();
  for (int t = 0; t < 3; ++t) {
    const int64_t when = kStart + t * kSecond;
    for (auto [device, tps, await] : {std::tuple("sda", 30.0, 10.0), std::tuple("sdb", 10.0, 50.0)}) {
      ASSERT_TRUE(writer_->add_value(0, when, device, "await", await));
      ASSERT_TRUE(writer_->add_value(0, when, device, "tps", tps));
    }
    ASSERT_TRUE(writer_->add_value(0, when, "sdc", "await", 0));
    ASSERT_TRUE(writer_->add_value(0, when, "sdc", "tps", 0));
    ASSERT_TRUE(writer_->add_value(0, when, "lo", "rxbyt", 1e6));
    ASSERT_TRUE(writer_->add_value(0, when, "eth0", "rxbyt", 5));
  }
  const SeriesSet set = load();
  EXPECT_DOUBLE_EQ(at(set, Metric::tps, 0, 1), 40);
  EXPECT_DOUBLE_EQ(at(set, Metric::await, 0, 1), 20);  // 30 of 10 ms, 10 of 50 ms
  EXPECT_DOUBLE_EQ(at(set, Metric::rxbyt, 0, 1), 5);
}

TEST_F(SeriesTest, ImportedLatencyOfAStalledDiskIsKept) {
  node("s1");
  begin();
  for (int t = 0; t < 3; ++t) {
    ASSERT_TRUE(writer_->add_value(0, kStart + t * kSecond, "sda", "tps", 0));
    ASSERT_TRUE(writer_->add_value(0, kStart + t * kSecond, "sda", "await", t == 1 ? 900 : 0));
  }
  const SeriesSet set = load();
  EXPECT_TRUE(is_missing(at(set, Metric::await, 0, 0)));
  EXPECT_DOUBLE_EQ(at(set, Metric::await, 0, 1), 900);
}

TEST_F(SeriesTest, ImportedDevicesFollowTheClusterFile) {
  node("s1").disks = {"sdb"};
  begin();
  for (const char* disk : {"sda", "sdb"}) ASSERT_TRUE(writer_->add_value(0, kStart, disk, "rd_sec", 100));
  for (const char* nic : {"eth0", "eth1"}) ASSERT_TRUE(writer_->add_value(0, kStart, nic, "rxbyt", 100));
  const SeriesSet set = load();
  EXPECT_DOUBLE_EQ(at(set, Metric::rd_sec, 0, 0), 100);
  EXPECT_DOUBLE_EQ(at(set, Metric::rxbyt, 0, 0), 200);  // no interface is named
}

TEST_F(SeriesTest, SinceUntilAndExclude) {
  node("s1");
  node("s2");
  node("meta").roles = {"meta"};
  begin();
  for (int t = 0; t < 10; ++t)
    for (size_t n : {0, 1, 2}) sample(n, t, {{&source_disk, "sda", disk(t, t * 100, 0, 0)}});
  SeriesOptions options;
  options.since = "+3s";
  options.until = "+6s";
  options.exclude = {"s2"};
  const SeriesSet set = load(options);
  EXPECT_THAT(set.servers, testing::ElementsAre("s1"));
  EXPECT_EQ(set.ticks, 4u);
  EXPECT_EQ(set.start_ns, kStart + 3 * kSecond);
}

TEST_F(SeriesTest, WrongOptionsAreRefusedWithAHint) {
  node("s1");
  begin();
  sample(0, 0, {{&source_disk, "sda", disk(0, 0, 0, 0)}});
  auto run = RunReader::open(writer_->close().value());
  SeriesOptions options;
  options.exclude = {"s11"};
  auto set = load_series(run.value(), options);
  ASSERT_FALSE(set);
  EXPECT_THAT(set.error().hint, testing::HasSubstr("s1"));
  options = {};
  options.since = "yesterday";
  EXPECT_FALSE(load_series(run.value(), options));
}

TEST_F(SeriesTest, ARunThatIsTooLongSaysHowToLookAtLess) {
  node("s1");
  begin();
  sample(0, 0, {{&source_disk, "sda", disk(0, 0, 0, 0)}});
  sample(0, 20'000'000, {{&source_disk, "sda", disk(1, 0, 0, 0)}});
  auto run = RunReader::open(writer_->close().value());
  SeriesOptions options;
  auto set = load_series(run.value(), options);
  ASSERT_FALSE(set);
  EXPECT_THAT(set.error().hint, testing::HasSubstr("a clock"));  // two samples in 20,000,000 ticks
  EXPECT_THAT(set.error().hint, testing::HasSubstr("--since"));
  options.until = "+60s";
  EXPECT_TRUE(load_series(run.value(), options));
}

}  // namespace
}  // namespace culprit
