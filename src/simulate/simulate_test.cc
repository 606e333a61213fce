// The whole way: plan, run directory, and what a reader finds in it.
#include "simulate/simulate.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "store/run_reader.h"

namespace culprit {
namespace {

class SimulatedRun : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "culprit-simulate-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  RunReader make(const std::string& name, const std::string& fault) {
    SimulationRequest request;
    request.servers = 3;
    request.fault = fault;
    request.on = fault == "none" ? "" : "s2";
    request.seed = 7;
    request.ticks = 130;
    auto plan = make_plan(request);
    EXPECT_TRUE(plan.ok());
    auto path = simulate_run(*plan, folder_ + "/" + name, "the command", {});
    EXPECT_TRUE(path.ok()) << path.error().message();
    auto reader = RunReader::open(*path);
    EXPECT_TRUE(reader.ok()) << reader.error().message();
    return std::move(reader).value();
  }

  static std::vector<int64_t> all_values(const RunReader& reader) {
    std::vector<int64_t> values;
    for (const Source* source : standard_sources()) {
      const Status status =
          reader.scan(*source, [&](const SampleInfo& sample, uint32_t key, std::span<const int64_t> row) {
            values.push_back(sample.t_ns);
            values.push_back(key);
            values.insert(values.end(), row.begin(), row.end());
          });
      EXPECT_TRUE(status.ok()) << status.error().message();
    }
    return values;
  }

  std::string folder_;
};

TEST_F(SimulatedRun, AFailedOneLeavesNothing) {
  SimulationRequest request;
  request.servers = 3;
  request.ticks = 130;
  auto plan = make_plan(request);
  ASSERT_TRUE(plan.ok());
  // Somebody takes the name meanwhile.
  auto take_name = [&](int64_t) { std::filesystem::create_directories(folder_ + "/a.run/theirs"); };
  EXPECT_FALSE(simulate_run(*plan, folder_ + "/a", "the command", take_name).ok());
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/a.run.partial"));
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/a.run/theirs"));
}

TEST_F(SimulatedRun, SaysThatItIsSimulatedAndWhatIsTrue) {
  const RunReader reader = make("a", "disk_hog");
  const Manifest& manifest = reader.manifest();
  EXPECT_EQ(manifest.origin, "simulated");
  EXPECT_EQ(manifest.source, "the command");
  EXPECT_EQ(manifest.cluster.fs, "glusterfs");
  EXPECT_TRUE(manifest.complete);
  EXPECT_FALSE(reader.partial());
  EXPECT_EQ(manifest.truth.at("fault"), "disk_hog");
  EXPECT_EQ(manifest.truth.at("server"), "s2");
  EXPECT_EQ(manifest.truth.at("workload"), "ddw");
  EXPECT_EQ(manifest.truth.at("seed"), "7");
  EXPECT_EQ(manifest.truth.at("from_ns"), std::to_string(manifest.start_ns + 120 * kNsPerSecond));
  EXPECT_EQ(manifest.truth.at("until_ns"), std::to_string(manifest.start_ns + 129 * kNsPerSecond))
      << "the run ends first";
  EXPECT_EQ(reader.nodes().size(), 5u);
  EXPECT_EQ(reader.samples().size(), 5u * 130);
}

TEST_F(SimulatedRun, MarksTheFaultWithEvents) {
  auto events = make("a", "disk_hog").events();
  ASSERT_TRUE(events.ok());
  ASSERT_EQ(events->size(), 2u);
  EXPECT_EQ((*events)[0].kind, "fault");
  EXPECT_EQ((*events)[0].node, "s2");
  EXPECT_EQ((*events)[0].text, "disk_hog begins");
  EXPECT_EQ((*events)[1].text, "disk_hog ends");
  events = make("b", "none").events();
  ASSERT_TRUE(events.ok());
  EXPECT_TRUE(events->empty());
}

TEST_F(SimulatedRun, SameSeedIsTheSameRun) {
  const auto a = all_values(make("a", "send_pktloss")), b = all_values(make("b", "send_pktloss"));
  EXPECT_GT(a.size(), 10000u);
  EXPECT_TRUE(a == b);
}

TEST_F(SimulatedRun, WillNotOverwriteARun) {
  make("a", "none");
  auto plan = make_plan(SimulationRequest{});
  ASSERT_TRUE(plan.ok());
  EXPECT_FALSE(simulate_run(*plan, folder_ + "/a", "", {}).ok());
}

}  // namespace
}  // namespace culprit
