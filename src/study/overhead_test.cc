#include "study/overhead.h"

#include <gtest/gtest.h>

namespace culprit {
namespace {

Attempt half(const std::string& workload, int iteration, bool recorded, double seconds) {
  Attempt out;
  out.experiment = {
      workload + std::to_string(iteration), RunSet::overhead, workload, "none", {}, "", iteration, recorded, 0};
  out.outcome = Outcome::kept;
  out.measured = {{"seconds", seconds}};
  if (recorded) out.measured["node_cpu_percent"] = 0.1;
  return out;
}

TEST(Overhead, StudentsTIsNearTheTables) {
  EXPECT_NEAR(student_t(3), 3.182, 0.03);
  EXPECT_NEAR(student_t(9), 2.262, 0.003);
  EXPECT_NEAR(student_t(30), 2.042, 0.001);
}

TEST(Overhead, MeanAndIntervalOfPairs) {
  std::vector<Attempt> all;
  const double changes[] = {1, 2, 3, 2, 2};
  for (int i = 0; i < 5; ++i) {
    all.push_back(half("ddw", i, true, 10 + changes[i] / 10));
    all.push_back(half("ddw", i, false, 10));
  }
  all.push_back(half("ddw", 7, true, 99));  // its other half is missing
  auto rows = tally_overhead({all});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].pairs, 5);
  EXPECT_NEAR(rows[0].percent, 2, 1e-9);
  // standard error = sqrt(0.5 / 5), t(4) = 2.776
  EXPECT_NEAR(rows[0].interval.high, 2 + 2.776 * 0.31623, 0.02);
  EXPECT_NEAR(rows[0].node_cpu, 0.1, 1e-9);
}

TEST(Overhead, HalvesOfTwoCampaignsAreNoPair) {
  const std::vector<Attempt> monday = {half("ddw", 1, true, 11), half("ddw", 1, false, 10)};
  const std::vector<Attempt> tuesday = {half("ddw", 1, true, 99), half("ddw", 2, true, 13), half("ddw", 2, false, 10)};
  auto rows = tally_overhead({monday, tuesday});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].pairs, 2);
  EXPECT_NEAR(rows[0].percent, 20, 1e-9);
}

TEST(Overhead, JsonOfOnePairHasNoInterval) {
  const auto rows = tally_overhead({{half("ddw", 1, true, 11), half("ddw", 1, false, 10)}});
  const std::string json = overhead_json(rows, 1'000'000'000);
  EXPECT_NE(json.find("\"low\": null"), std::string::npos) << json;
  EXPECT_NE(json.find("\"change_percent\": 10"), std::string::npos) << json;
}

TEST(Overhead, NoPairNoRow) {
  EXPECT_TRUE(tally_overhead({{half("ddw", 1, true, 5)}}).empty());
  EXPECT_TRUE(tally_overhead({}).empty());
}

}  // namespace
}  // namespace culprit
