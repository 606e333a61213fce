#include "lab/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/lab.h"
#include "lab/lab_fs.h"
#include "store/cluster_file.h"

namespace culprit {
namespace {

using testing::HasSubstr;

LabPlan plan_for(std::string fs, int servers = 5, int clients = 2) {
  LabPlan plan;
  plan.fs = std::move(fs);
  plan.servers = servers;
  plan.clients = clients;
  return plan;
}

TEST(LabPlanTest, CalmClientsAskForLessThanTheDisksCanDo) {
  for (int servers : {3, 5, 8, 10}) {
    for (int clients : {1, 2, 7}) {
      LabPlan plan = plan_for("glusterfs", servers, clients);
      ASSERT_TRUE(complete_plan(plan));
      int64_t disks = std::min<int64_t>(15'000'000, 75'000'000 / servers) * servers * 8;
      EXPECT_LT(plan.client_link * clients, disks / 2) << servers << " servers, " << clients << " clients";
      EXPECT_GT(plan.server_link, disks / servers);
    }
  }
}

TEST(LabPlanTest, WildClientsAreUnshaped) {
  LabPlan plan = plan_for("glusterfs");
  plan.preset = "wild";
  ASSERT_TRUE(complete_plan(plan));
  EXPECT_EQ(plan.client_link, kUnshaped);
}

TEST(LabPlanTest, WhatWasAskedForStays) {
  LabPlan plan = plan_for("moosefs");
  plan.disk = "rate=30MB,seek=2ms";
  plan.client_link = 50'000'000;
  plan.layout = "goal1";
  ASSERT_TRUE(complete_plan(plan));
  EXPECT_EQ(plan.disk, "rate=30MB,seek=2ms");
  EXPECT_EQ(plan.client_link, 50'000'000);
  EXPECT_EQ(plan.layout, "goal1");
}

TEST(LabPlanTest, WrongWordsAreExplained) {
  LabPlan fs = plan_for("glustrfs");
  EXPECT_THAT(complete_plan(fs).error().hint, HasSubstr("glusterfs"));
  LabPlan layout = plan_for("glusterfs");
  layout.layout = "stripe";
  EXPECT_THAT(complete_plan(layout).error().hint, HasSubstr("disperse"));
  LabPlan servers = plan_for("glusterfs", 2);
  EXPECT_THAT(complete_plan(servers).error().what, HasSubstr("at least 3 servers"));
  LabPlan disk = plan_for("directory");
  disk.disk = "floppy";
  EXPECT_FALSE(complete_plan(disk));
  for (const char* name : {"", "Lab", "1lab", "a-b", "a/b", "averyverylongname", "a\nb"})
    EXPECT_FALSE(check_lab_name(name)) << name;
}

TEST(LabPlanTest, TextGoesBothWays) {
  LabPlan plan = plan_for("glusterfs", 7, 3);
  plan.seed = 99;
  plan.cluster_file = "/a folder/cluster.toml";
  ASSERT_TRUE(complete_plan(plan));
  auto again = parse_plan(format_plan(plan));
  ASSERT_TRUE(again);
  EXPECT_EQ(format_plan(*again), format_plan(plan));
  EXPECT_EQ(again->seed, 99u);
  EXPECT_EQ(again->cluster_file, "/a folder/cluster.toml");
}

TEST(LabPlanTest, HostileTextIsNoCrash) {
  for (const char* text : {"", "servers x\n", "servers 99999999999999999999\n", "\n\n\n", "name\n", "unknown 3\n"}) {
    auto plan = parse_plan(text);
    EXPECT_EQ(plan ? plan->servers : LabPlan().servers, LabPlan().servers) << text;
  }
}

TEST(LabPlanTest, NodesOfEveryFileSystemMakeAClusterFile) {
  for (const LabFs* fs : lab_filesystems()) {
    LabPlan plan = plan_for(std::string(fs->name), 4, 2);
    ASSERT_TRUE(complete_plan(plan)) << fs->name;
    Lab lab(plan);
    EXPECT_EQ(lab.servers().size(), 4u);
    EXPECT_EQ(lab.clients().size(), 2u);
    EXPECT_NE(lab.find("x1"), nullptr);
    std::string text = format_cluster(lab_cluster(lab, {{"lab-s2", "loop7"}}));
    auto cluster = parse_cluster(text, "test");
    ASSERT_TRUE(cluster) << cluster.error().message();
    EXPECT_EQ(cluster->find("s2")->disks, std::vector<std::string>{"loop7"});
    EXPECT_EQ(cluster->find("s2")->reach, "ns:lab-s2");
  }
}

}  // namespace
}  // namespace culprit
