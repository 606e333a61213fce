// From files to a run and back to rows: matching with a cluster file, nothing left behind, what export and scrub write.
#include "store/import_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "store/export_rows.h"
#include "store/import_devices.h"
#include "store/run_reader.h"
#include "store/run_writer.h"

namespace culprit {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class ImportRun : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/culprit-import-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(std::string_view name) const { return cat(folder_, "/", name); }
  std::string file(std::string_view name, std::string_view text) {
    EXPECT_TRUE(write_file_atomically(path(name), text));
    return path(name);
  }
  Result<ImportSummary> csv(std::string_view text, const std::string& cluster = "") {
    return import_run({"csv", {file("in.csv", text)}, path("out"), cluster});
  }
  std::set<std::string> left() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) names.insert(entry.path().filename());
    return names;
  }

  std::string folder_;
};

constexpr std::string_view kRows =
    "time,node,source,device,metric,value\n"
    "102,s1,disk,sda,tps,2\n100,s1,disk,sda,tps,1.5\n101,s1,disk,sda,tps,\n"
    "100,s2,disk,sda,tps,7\n102,s2,disk,sda,tps,8\n100,s2,nic,eth0,rxbyt,9\n";

TEST_F(ImportRun, WritesARunInOrder) {
  auto summary = csv(kRows);
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->servers, 2u);
  EXPECT_EQ(summary->ticks, 3u) << "a time without a value counts: the node was there";
  EXPECT_THAT(summary->metrics, ElementsAre("tps", "rxbyt"));
  auto run = RunReader::open(path("out"));
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_FALSE(run->partial());
  EXPECT_EQ(run->manifest().origin, "imported");
  EXPECT_EQ(run->manifest().interval_ns, kNsPerSecond);
  EXPECT_EQ(run->manifest().start_ns, 100 * kNsPerSecond);
  EXPECT_EQ(run->manifest().end_ns, 102 * kNsPerSecond);
  std::vector<int64_t> seconds;
  for (const SampleInfo& sample : run->samples())
    if (sample.node == 0) seconds.push_back(sample.t_ns / kNsPerSecond);
  EXPECT_THAT(seconds, ElementsAre(100, 101, 102));
}

TEST_F(ImportRun, TheIntervalIsTheOneThatWasAskedFor) {
  auto jittered = csv("time,node,metric,value\n100.000125,s1,tps,1\n101,s1,tps,1\n101.999874,s1,tps,1\n");
  ASSERT_TRUE(jittered) << jittered.error().message();
  EXPECT_EQ(jittered->interval_ns, kNsPerSecond);
  auto run = RunReader::open(path("out"));
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->manifest().interval_ns, kNsPerSecond);
}

TEST_F(ImportRun, BadInputLeavesNothing) {
  auto bad = csv("time,node,metric,value\n1,s1,tps,1\n2,s1,tps,x\n");
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message(), HasSubstr("line 3"));
  EXPECT_THAT(left(), ElementsAre("in.csv"));
  EXPECT_THAT(csv("time,node,metric,value\n1,s1,tps,\n").error().message(), HasSubstr("holds no values"));
  EXPECT_FALSE(import_run({"csv", {path("none.csv")}, path("out"), ""}));
  EXPECT_EQ(import_run({"cvs", {path("in.csv")}, path("out"), ""}).error().kind, ErrorKind::usage);
  EXPECT_THAT(left(), ElementsAre("in.csv"));
}

TEST_F(ImportRun, AnExistingRunStays) {
  ASSERT_TRUE(csv(kRows));
  EXPECT_FALSE(csv(kRows));
  EXPECT_TRUE(RunReader::open(path("out")));
}

TEST_F(ImportRun, TheClusterFileSaysWhoIsWho) {
  std::string cluster =
      file("c.toml", "[[server]]\nname = \"s1\"\n[[server]]\nname = \"s9\"\n[[client]]\nname = \"s2.example.org\"\n");
  auto summary = csv(kRows, cluster);
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->servers, 1u);
  EXPECT_EQ(summary->clients, 1u) << "s2 is s2.example.org";
  EXPECT_THAT(summary->notes, Contains("no data of s9"));
}

TEST_F(ImportRun, NodesThatAreNotInTheClusterFile) {
  auto wrong = csv(kRows, file("c.toml", "[[server]]\nname = \"s1\"\n"));
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message(), HasSubstr("node 's2' is not in the cluster file"));
  auto twice = csv("time,node,metric,value\n1,s1.a,tps,1\n1,s1.b,tps,1\n", path("c.toml"));
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().hint, HasSubstr("two servers with one name"));
}

TEST(StackedDevices, OfOldSysstat) {
  EXPECT_THAT(stacked_devices({"dev253-0", "dev8-0", "dev9-1"}), ElementsAre("dev9-1", "dev253-0"));
  EXPECT_THAT(stacked_devices({"dev253-0", "dev253-16"}), ElementsAre()) << "virtio disks have that number, too";
  EXPECT_THAT(stacked_devices({"dev253-0", "dev7-0"}), ElementsAre("dev7-0"));
  EXPECT_THAT(stacked_devices({"sda", "dm-0", "devil", "dev-", ""}), ElementsAre());
}

TEST(StackedDevices, PartitionsVlansAndBridges) {
  EXPECT_THAT(stacked_devices({"sda", "sda1", "sda12", "sdab", "nvme0n1", "nvme0n1p2", "mmcblk0p1", "sdb1"}),
              ElementsAre("sda1", "sda12", "nvme0n1p2"));
  EXPECT_THAT(stacked_devices({"dev8-0", "dev8-1", "dev8-17", "dev65-16", "dev65-18"}),
              ElementsAre("dev8-1", "dev65-18"));
  EXPECT_THAT(stacked_devices({"br0", "eth0", "eth0.100", "eth1", "eth10", "ib0.8001", "vmbr12"}),
              ElementsAre("br0", "eth0.100", "vmbr12"));
  EXPECT_THAT(stacked_devices({"br0", "sda"}), ElementsAre()) << "all there is of the network";
  EXPECT_THAT(stacked_devices({"enp3s0", "enp3", "p1p1", "p1", "md1", "md10", "md1p3"}), ElementsAre("p1p1", "md1p3"));
}

TEST(SdName, OfSysstatsNumbers) {
  EXPECT_EQ(sd_name("dev8-0"), "sda");
  EXPECT_EQ(sd_name("dev8-17"), "sdb1");
  EXPECT_EQ(sd_name("dev65-0"), "sdq");
  EXPECT_EQ(sd_name("dev65-160"), "sdaa");
  EXPECT_EQ(sd_name("dev71-240"), "sddx");
  for (const char* other : {"sda", "dev253-0", "dev8", "dev8-", "dev8-0-1", "dev8--1", "dev8-256", ""})
    EXPECT_EQ(sd_name(other), "") << other;
}

TEST_F(ImportRun, NamesInTheClusterFileThatTheInputDoesNotHave) {
  auto wrong = csv("time,node,device,metric,value\n1,s1,sdb,tps,1\n1,s1,sdc,tps,1\n1,s1,eth0,rxbyt,1\n",
                   file("c.toml", "[[server]]\nname = \"s1\"\ndisks = [\"sdx\"]\n"));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::input);
  EXPECT_THAT(wrong.error().what, HasSubstr("names disks of s1 (sdx), but the input has sdb, sdc"));
  EXPECT_THAT(wrong.error().hint, HasSubstr("leave disks out"));
  EXPECT_THAT(left(), ElementsAre("c.toml", "in.csv"));
  auto nics = csv("time,node,device,metric,value\n1,s1,sdb,tps,1\n1,s1,lo,rxbyt,1\n1,s1,eth0,rxbyt,1\n",
                  file("c.toml", "[[server]]\nname = \"s1\"\nnics = [\"eth7\"]\n"));
  ASSERT_FALSE(nics);
  EXPECT_THAT(nics.error().what, HasSubstr("names nics of s1 (eth7), but the input has eth0"));
  auto none = csv("time,node,device,metric,value\n1,s1,sdb,tps,1\n1,s1,,retrans,1\n", path("c.toml"));
  EXPECT_TRUE(none) << "no interface is in the input: nothing is lost";
}

TEST_F(ImportRun, DisksOfOldSysstatAreKnownByTheirNames) {
  auto done = csv("time,node,device,metric,value\n1,s1,dev8-16,tps,1\n1,s1,dev8-17,tps,1\n1,s1,dev8-0,tps,7\n",
                  file("c.toml", "[[server]]\nname = \"s1\"\ndisks = [\"/dev/sdb1\", \"sdz\"]\n"));
  ASSERT_TRUE(done) << done.error().message();
  auto run = RunReader::open(path("out"));
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_THAT(run->nodes()[0].disks, ElementsAre("dev8-17", "sdz"));
  EXPECT_EQ(run->keys().size(), 3u) << "a partition that is named is kept";
}

std::string rows_of(const RunReader& run, RowFormat format, Scrubber* scrub) {
  std::string text;
  RowWriter out(format, [&](std::string_view bytes) -> Status {
    text += bytes;
    return Ok{};
  });
  EXPECT_TRUE(export_raw(run, scrub, out));
  EXPECT_TRUE(out.finish());
  return text;
}

TEST_F(ImportRun, ExportedRowsImportToTheSameRows) {
  ASSERT_TRUE(
      csv("time,node,device,metric,value\n1.25,s1,\"a "
          "\"\",b\",tps,0.1\n2.000000001,s1,\"#x\",frobs,-3e-9\n3,s2,,await,7\n"));
  std::string first = rows_of(RunReader::open(path("out")).value(), RowFormat::csv, nullptr);
  EXPECT_THAT(first, HasSubstr("1970-01-01T00:00:01.250Z,s1,value,\"a \"\",b\",tps,0.1\n"));
  EXPECT_THAT(first, HasSubstr("1970-01-01T00:00:02.000000001Z,s1,value,\"#x\",frobs,-3e-09\n"));
  ASSERT_TRUE(import_run({"csv", {file("again.csv", first)}, path("again"), ""}));
  EXPECT_EQ(rows_of(RunReader::open(path("again")).value(), RowFormat::csv, nullptr), first);
}

TEST_F(ImportRun, JsonLines) {
  ASSERT_TRUE(csv("time,node,device,metric,value\n1,s1,\"q\"\"q\",tps,0.5\n"));
  EXPECT_EQ(rows_of(RunReader::open(path("out")).value(), RowFormat::jsonl, nullptr),
            "{\"time\":\"1970-01-01T00:00:01.000Z\",\"node\":\"s1\",\"source\":\"value\",\"device\":\"q\\\"q\","
            "\"metric\":\"tps\",\"value\":0.5}\n");
}

// A recorded run with everything in it that must not leave the house.
std::string record_secrets(const std::string& path) {
  Manifest manifest;
  manifest.source = "culprit record --cluster /home/secret/c.toml";
  manifest.cluster.name = "secret";
  for (const char* name : {"secret-a", "secret-b"}) {
    Node& node = manifest.cluster.nodes.emplace_back();
    node.name = name;
    node.address = name == std::string_view("secret-a") ? "192.0.2.1" : "192.0.2.2";
    node.reach = "ssh:root@secret.example.org";
    node.disks = {"secretdisk"};
    manifest.nodes.emplace_back().name = name;
    manifest.nodes.back().environment = {{"kernel", "6.1"}, {"tcp_congestion_control", "cubic"}, {"mounts", "/secret"}};
  }
  manifest.notes = {"secret note"};
  RunWriter run = RunWriter::create(path, manifest).value();
  Sample sample;
  sample.t_ns = kNsPerSecond;
  sample.keys = {{1, &source_disk, "secretdisk", "kind=dm dm=secret slaves=secretlower"},
                 {2, &source_tcp, "192.0.2.1:49152>192.0.2.2:1017", "inode=7 side=server daemon=glusterfsd/12"},
                 {3, &source_process, "glusterfsd/12", "start=5 cmd=glusterfsd%20/secret"}};
  sample.add(source_disk, 1, std::vector<int64_t>(disk_column::count, 11));
  sample.add(source_tcp, 2, std::vector<int64_t>(tcp_column::count, 12));
  sample.add(source_process, 3, std::vector<int64_t>(process_column::count, kAbsent));
  EXPECT_TRUE(run.add(0, sample));
  EXPECT_TRUE(run.add_event({kNsPerSecond, "secret-b", "mark", "secret mark"}));
  return run.close().value();
}

std::string all_bytes(const std::string& folder) {
  std::string bytes;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) bytes += read_file(entry.path()).value();
  return bytes;
}

TEST_F(ImportRun, AScrubbedCopyHoldsNoNames) {
  auto run = RunReader::open(record_secrets(path("house")));
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_THAT(all_bytes(path("house.run")), HasSubstr("secret"));
  auto copied = export_scrubbed_run(*run, path("shared"));
  ASSERT_TRUE(copied) << copied.error().message();
  std::string bytes = all_bytes(*copied);
  EXPECT_THAT(bytes, Not(HasSubstr("secret")));
  EXPECT_THAT(bytes, Not(HasSubstr("192.0.2")));
  auto copy = RunReader::open(*copied);
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->nodes()[1].name, "node-2");
  EXPECT_EQ(copy->nodes()[1].address, "addr-2");
  EXPECT_EQ(copy->nodes()[0].disks, std::vector<std::string>{"disk-1"});
  EXPECT_EQ(copy->manifest().nodes[0].environment,
            (std::map<std::string, std::string>{{"kernel", "6.1"}, {"tcp_congestion_control", "cubic"}}));
  EXPECT_EQ(copy->events().value()[0].node, "node-2");
  std::string rows = rows_of(*copy, RowFormat::csv, nullptr);
  EXPECT_THAT(rows, HasSubstr(",node-1,tcp,addr-1:49152>addr-2:1017,cwnd_segments,12\n"));
  EXPECT_THAT(rows, HasSubstr(",node-1,disk,disk-1,reads,11\n"));
  EXPECT_EQ(copy->keys()[0].detail, "kind=dm dm=disk-2 slaves=disk-3");
}

TEST_F(ImportRun, AScrubbedImportKeepsItsDevicesAndItsIdleTicks) {
  std::string cluster = file("c.toml", "[[server]]\nname = \"s1\"\ndisks = [\"sda\"]\nnics = [\"eth0\"]\n");
  auto imported =
      csv("time,node,device,metric,value\n100,s1,sdb,tps,1\n100,s1,sda,tps,1\n101,s1,sda,tps,\n102,s1,eth0,rxbyt,2\n"
          "103,s1,sda,tps,\n",
          cluster);
  ASSERT_TRUE(imported) << imported.error().message();
  auto run = RunReader::open(path("out"));
  ASSERT_TRUE(run);
  auto copied = export_scrubbed_run(*run, path("shared"));
  ASSERT_TRUE(copied) << copied.error().message();
  auto copy = RunReader::open(*copied);
  ASSERT_TRUE(copy) << copy.error().message();
  EXPECT_EQ(copy->manifest().interval_ns, kNsPerSecond);
  std::vector<int64_t> seconds;
  for (const SampleInfo& sample : copy->samples()) seconds.push_back(sample.t_ns / kNsPerSecond);
  EXPECT_THAT(seconds, ElementsAre(100, 101, 102, 103));
  std::string rows = rows_of(*copy, RowFormat::csv, nullptr);
  EXPECT_THAT(copy->nodes()[0].disks, ElementsAre("disk-1"));
  EXPECT_THAT(copy->nodes()[0].nics, ElementsAre("nic-1"));
  EXPECT_THAT(rows, HasSubstr(",value,disk-1,tps,1\n"));
  EXPECT_THAT(rows, HasSubstr(",value,dev-1,tps,1\n"));
  EXPECT_THAT(rows, HasSubstr(",value,nic-1,rxbyt,2\n"));
}

TEST_F(ImportRun, ScrubbedRowsHoldNoNames) {
  auto run = RunReader::open(record_secrets(path("house")));
  ASSERT_TRUE(run);
  Scrubber scrub;
  std::string rows = rows_of(*run, RowFormat::csv, &scrub);
  EXPECT_THAT(rows, Not(HasSubstr("secret")));
  EXPECT_THAT(rows, Not(HasSubstr("192.0.2")));
  EXPECT_THAT(rows, HasSubstr("addr-1:49152>addr-2:1017"));
}

TEST(Scrubber, StableAndKeepsWhatAnalysesGoBy) {
  Scrubber scrub;
  EXPECT_EQ(scrub.node("a"), "node-1");
  EXPECT_EQ(scrub.node("b"), "node-2");
  EXPECT_EQ(scrub.node("a"), "node-1");
  EXPECT_EQ(scrub.node(""), "");
  EXPECT_EQ(scrub.device("nic", "lo"), "lo");
  EXPECT_EQ(scrub.device("disk", "dm-17"), "dm-x1");
  EXPECT_EQ(scrub.device("value", "sda"), "dev-1");
  EXPECT_EQ(scrub.key("tcp", "[fe80::1]:5>[fe80::2]:6"), "addr-1:5>addr-2:6");
}

TEST(ExactTime, LosesNothing) {
  for (int64_t t : {int64_t{0}, int64_t{1}, 1'767'431'680'000'117'000, 1'767'431'680'250'000'000})
    EXPECT_EQ(parse_time(exact_time(t)).value(), t) << exact_time(t);
}

}  // namespace
}  // namespace culprit
