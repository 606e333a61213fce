#include "simulate/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace culprit {
namespace {

using testing::HasSubstr;

SimulationRequest request(const std::string& fault, const std::string& on) {
  SimulationRequest r;
  r.fault = fault;
  r.on = on;
  return r;
}

Error error_of(const SimulationRequest& r) {
  auto plan = make_plan(r);
  EXPECT_FALSE(plan.ok());
  return plan.ok() ? Error{} : plan.error();
}

TEST(Plan, FindsWorkloadFaultAndVictim) {
  auto plan = make_plan(request("disk_hog", "s3"));
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  EXPECT_EQ(plan->workload->name, "ddw");
  EXPECT_EQ(plan->fault->name, "disk_hog");
  EXPECT_EQ(plan->victim, 2);
  EXPECT_FALSE(plan->faulty_at(119));
  EXPECT_TRUE(plan->faulty_at(120));
  EXPECT_TRUE(plan->faulty_at(419));
  EXPECT_FALSE(plan->faulty_at(420));
}

TEST(Plan, StartFollowsFromTheSeedAndLiesOnATick) {
  SimulationRequest r;
  r.interval_ns = 100 * kNsPerMs;
  const int64_t start = make_plan(r)->start_ns;
  EXPECT_EQ(start, make_plan(r)->start_ns);
  EXPECT_EQ(start % r.interval_ns, 0);
  r.seed = 2;
  EXPECT_NE(start, make_plan(r)->start_ns);
  EXPECT_EQ(format_time(start).substr(0, 8), "2026-01-");
}

TEST(Plan, UnknownNamesGetOneSentenceAndAHint) {
  SimulationRequest r;
  r.workload = "dwd";
  Error error = error_of(r);
  EXPECT_EQ(error.kind, ErrorKind::usage);
  EXPECT_EQ(error.what, "there is no workload 'dwd' to simulate");
  EXPECT_THAT(error.hint, HasSubstr("ddw"));

  error = error_of(request("disk_hug", "s1"));
  EXPECT_EQ(error.what, "there is no fault 'disk_hug' to simulate");
  EXPECT_EQ(error.hint, "did you mean disk_hog?");
  EXPECT_THAT(error_of(request("meteorite", "s1")).hint, HasSubstr("receive_pktloss"));

  error = error_of(request("disk_hog", "s9"));
  EXPECT_EQ(error.what, "there is no server 's9' in this run");
  EXPECT_EQ(error.hint, "the servers are s1 to s5");
  for (const char* word : {"3", "s0", "s03", "s", "c1", "S3", "s99999999999999999999"})
    EXPECT_EQ(error_of(request("disk_hog", word)).kind, ErrorKind::usage) << word;
}

TEST(Plan, VictimAndFaultNeedEachOther) {
  EXPECT_THAT(error_of(request("disk_hog", "")).what, HasSubstr("needs a victim"));
  EXPECT_THAT(error_of(request("none", "s1")).what, HasSubstr("no victim"));
}

TEST(Plan, RefusesNumbersThatMakeNoRun) {
  const auto bad = [](auto change) {
    SimulationRequest r = request("disk_hog", "s1");
    change(r);
    EXPECT_EQ(error_of(r).kind, ErrorKind::usage);
  };
  bad([](auto& r) { r.servers = 0; });
  bad([](auto& r) { r.servers = kMaxServers + 1; });
  bad([](auto& r) { r.clients = 0; });
  bad([](auto& r) { r.ticks = 1; });
  bad([](auto& r) { r.interval_ns = 0; });
  bad([](auto& r) { r.spread = -0.1; });
  bad([](auto& r) { r.spread = std::numeric_limits<double>::quiet_NaN(); });
  bad([](auto& r) { r.fault_from = 600; });
  bad([](auto& r) { r.fault_for = 0; });
}

}  // namespace
}  // namespace culprit
