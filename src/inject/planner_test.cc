#include "inject/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "base/units.h"

namespace culprit {
namespace {

using testing::HasSubstr;

Cluster lab(int servers, int clients) {
  Cluster cluster;
  cluster.name = "lab";
  cluster.fs = "glusterfs";
  auto add = [&](std::string name, NodeKind kind) {
    Node node;
    node.name = name;
    node.kind = kind;
    node.reach = "ns:lab-" + name;
    node.address = cat("10.0.0.", cluster.nodes.size() + 1);
    if (kind == NodeKind::server) node.disks = {"loop" + std::to_string(cluster.nodes.size())};
    cluster.nodes.push_back(node);
  };
  for (int i = 1; i <= servers; ++i) add(cat("s", i), NodeKind::server);
  for (int i = 1; i <= clients; ++i) add(cat("c", i), NodeKind::client);
  add("x1", NodeKind::other);
  return cluster;
}

class PlannerTest : public testing::Test {
 protected:
  InjectRequest request(const std::string& fault, std::vector<std::string> on) {
    InjectRequest wish;
    wish.cluster = &cluster_;
    wish.fault = fault;
    wish.on = std::move(on);
    wish.id = "ab12";
    wish.seed = 7;
    wish.duration_ns = 60 * kNsPerSecond;
    return wish;
  }
  void expect_refused(const InjectRequest& wish, const std::string& what, const std::string& hint) {
    auto plan = plan_injection(wish);
    ASSERT_FALSE(plan) << what;
    EXPECT_THAT(plan.error().what, HasSubstr(what));
    EXPECT_THAT(plan.error().hint, HasSubstr(hint));
  }

  Cluster cluster_ = lab(5, 2);
};

TEST_F(PlannerTest, APartHasAllThatTheNodeNeeds) {
  InjectRequest wish = request("disk_hog", {"s2"});
  wish.params = {{"share", "0.5"}};
  auto plan = plan_injection(wish);
  ASSERT_TRUE(plan) << plan.error().message();
  ASSERT_EQ(plan->parts.size(), 1u);
  const FaultPart& part = plan->parts[0].part;
  EXPECT_EQ(part.node, "s2");
  EXPECT_EQ(part.role, "target");
  EXPECT_EQ(part.params.at("share"), "0.5");
  EXPECT_EQ(part.params.at("depth"), "2") << "the fallback";
  EXPECT_EQ(part.disks, std::vector<std::string>{"loop1"});
  EXPECT_EQ(part.lease_ns, 10 * kNsPerSecond);
  EXPECT_THAT(part.daemons, testing::Contains("glusterfsd"));
}

TEST_F(PlannerTest, TheLeaseIsNotLongerThanTheFault) {
  InjectRequest wish = request("cpu_hog", {"s1"});
  wish.duration_ns = 3 * kNsPerSecond;
  EXPECT_EQ(plan_injection(wish).value().parts[0].part.lease_ns, 3 * kNsPerSecond);
}

TEST_F(PlannerTest, UnknownWords) {
  expect_refused(request("disk_hgo", {"s1"}), "there is no fault \"disk_hgo\"", "did you mean disk_hog?");
  expect_refused(request("disk_hog", {"s9"}), "there is no node \"s9\"", "did you mean");
  InjectRequest wish = request("disk_hog", {"s1"});
  wish.params = {{"shares", "1"}};
  expect_refused(wish, "disk_hog has no parameter shares", "did you mean share?");
}

TEST_F(PlannerTest, TargetsAreCounted) {
  expect_refused(request("cpu_hog", {}), "no target", "--on");
  expect_refused(request("cpu_hog", {"s1", "s2", "s3", "s4", "c1"}), "would touch 5 nodes", "--max-targets 5");
  EXPECT_TRUE(plan_injection(request("cpu_hog", {"s1", "s2", "s3", "s4"})));
  EXPECT_EQ(plan_injection(request("cpu_hog", {"s1", "s1"})).value().parts.size(), 1u) << "twice is once";
  InjectRequest more = request("cpu_hog", {"s1", "s2", "s3", "s4", "c1"});
  more.max_targets = 5;
  EXPECT_TRUE(plan_injection(more));
}

TEST_F(PlannerTest, AllServersOnlyWhenSaid) {
  cluster_ = lab(3, 1);
  InjectRequest wish = request("cpu_hog", {"s1", "s2", "s3"});
  expect_refused(wish, "all 3 servers", "--max-targets 3");
  wish.max_targets = 3;
  EXPECT_TRUE(plan_injection(wish));
}

TEST_F(PlannerTest, TimesAreBounded) {
  InjectRequest wish = request("cpu_hog", {"s1"});
  wish.duration_ns = 3601 * kNsPerSecond;
  expect_refused(wish, "is refused", "1h");
  wish.duration_ns = 0;
  expect_refused(wish, "is refused", "100ms");
  wish = request("cpu_hog", {"s1"});
  wish.lease_ns = 61 * kNsPerSecond;
  expect_refused(wish, "lease", "60s");
}

TEST_F(PlannerTest, MachinesBehindSshNeedTheOwnersWord) {
  cluster_.nodes[0].reach = "ssh:root@s1";
  InjectRequest wish = request("cpu_hog", {"s1"});
  expect_refused(wish, "real machine", "--i-own-this-cluster");
  wish.owns_cluster = true;
  EXPECT_TRUE(plan_injection(wish));
}

TEST_F(PlannerTest, ThisMachineNeedsTheOwnersWordToo) {
  cluster_.nodes[0].reach = "local";
  InjectRequest wish = request("cpu_hog", {"s1"});
  expect_refused(wish, "s1 is this machine itself", "--i-own-this-cluster");
  wish.owns_cluster = true;
  EXPECT_TRUE(plan_injection(wish));
  EXPECT_TRUE(plan_injection(request("none", {"s1"}))) << "which does nothing";
}

TEST_F(PlannerTest, AHelperIsAMachineToo) {
  cluster_.nodes.back().reach = "local";
  expect_refused(request("write_network_hog", {"s1"}), "x1 is this machine itself", "--i-own-this-cluster");
}

TEST_F(PlannerTest, OnlyDisksOfTheClusterFile) {
  InjectRequest wish = request("disk_hog", {"s1"});
  wish.params = {{"disk", "sda"}};
  expect_refused(wish, "not a disk that cluster.toml names for s1", "loop0");
}

TEST_F(PlannerTest, SendLossIsTheClientsPart) {
  auto plan = plan_injection(request("send_pktloss", {"s3"}));
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->parts.size(), 2u);
  EXPECT_EQ(plan->parts[0].part.node, "c1");
  EXPECT_EQ(plan->parts[0].part.role, "client");
  EXPECT_EQ(plan->parts[0].part.peers, std::vector<std::string>{"10.0.0.3"});
  cluster_ = lab(3, 5);
  expect_refused(request("send_pktloss", {"s1"}), "would touch 5 nodes", "--max-targets 5");
  cluster_ = lab(3, 0);
  expect_refused(request("send_pktloss", {"s1"}), "names none", "[[client]]");
}

TEST_F(PlannerTest, HogsHaveTwoEnds) {
  auto write = plan_injection(request("write_network_hog", {"s1", "s2"}));
  ASSERT_TRUE(write);
  ASSERT_EQ(write->parts.size(), 3u);
  EXPECT_EQ(write->parts[0].part.role, "target") << "sinks first";
  EXPECT_EQ(write->parts[2].part.role, "sender");
  EXPECT_EQ(write->parts[2].part.peers, (std::vector<std::string>{"10.0.0.1", "10.0.0.2"}));
  auto read = plan_injection(request("read_network_hog", {"s1"}));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->parts[0].part.node, "x1");
  EXPECT_EQ(read->parts[0].part.role, "receiver");
  EXPECT_EQ(read->parts[1].part.peers, std::vector<std::string>{"10.0.0.8"});
  InjectRequest self = request("write_network_hog", {"s1"});
  self.from = "s1";
  expect_refused(self, "cannot be both ends", "--from");
  cluster_.nodes.pop_back();
  expect_refused(request("write_network_hog", {"s1"}), "no third party", "--from");
}

TEST_F(PlannerTest, PartitionsFromSomeByName) {
  InjectRequest wish = request("network_partition", {"s1"});
  wish.params = {{"peers", "s2,10.9.9.9"}};
  EXPECT_EQ(plan_injection(wish).value().parts[0].part.peers, (std::vector<std::string>{"10.0.0.2", "10.9.9.9"}));
  wish.params = {{"peers", "nobody"}};
  expect_refused(wish, "neither a node", "peers=");
}

TEST(FaultTable, EveryFaultIsComplete) {
  for (const FaultInfo* fault : inject_faults()) {
    EXPECT_FALSE(fault->summary.empty()) << fault->name;
    EXPECT_EQ(find_fault(fault->name), fault);
    bool acts = fault->apply != nullptr;
    EXPECT_EQ(acts, fault->undo != nullptr) << fault->name;
    EXPECT_EQ(acts, fault->active != nullptr) << fault->name;
    for (const FaultParam& param : fault->params) EXPECT_FALSE(param.help.empty()) << fault->name << " " << param.name;
    bool for_labs = fault->kind != FaultClass::persistent || fault->needs_virtual_disk;
    EXPECT_TRUE(for_labs) << fault->name;
  }
}

}  // namespace
}  // namespace culprit
