#include "study/stage.h"

#include <gtest/gtest.h>

#include "study/workload.h"

namespace culprit {
namespace {

TEST(Stage, FilesAreChosenSoThatServersAreLoadedAlike) {
  // Six files on three servers, whole: one for each is found whatever their order.
  const std::vector<std::vector<double>> whole = {{9, 0, 0}, {9, 0, 0}, {0, 9, 0}, {9, 0, 0}, {0, 9, 0}, {0, 0, 9}};
  std::vector<double> total(3);
  for (size_t i : most_even(whole, 3))
    for (size_t s = 0; s < 3; ++s) total[s] += whole[i][s];
  EXPECT_EQ(total, (std::vector<double>{9, 9, 9}));
  // Two copies of each.
  const std::vector<std::vector<double>> copies = {{5, 5, 0}, {5, 5, 0}, {5, 0, 5}, {0, 5, 5}};
  total.assign(3, 0);
  for (size_t i : most_even(copies, 3))
    for (size_t s = 0; s < 3; ++s) total[s] += copies[i][s];
  EXPECT_EQ(total, (std::vector<double>{10, 10, 10}));
  EXPECT_EQ(most_even(whole, 99).size(), 6u);
  EXPECT_TRUE(most_even({}, 3).empty());
}

TEST(Stage, NeedsClientsAndThreeServers) {
  Cluster cluster;
  for (const char* name : {"s1", "s2", "c1"}) {
    Node node;
    node.name = name;
    node.kind = name[0] == 'c' ? NodeKind::client : NodeKind::server;
    cluster.nodes.push_back(node);
  }
  EXPECT_FALSE(Stage::open(cluster, "/mnt/lab", true, "/usr/bin", [] { return false; }));
  cluster.nodes.push_back(cluster.nodes[0]);
  cluster.nodes.back().name = "s3";
  auto stage = Stage::open(cluster, "/mnt/lab", true, "/usr/bin", [] { return false; });
  ASSERT_TRUE(stage) << stage.error().message();
  EXPECT_EQ(stage->servers().size(), 3u);
  EXPECT_EQ(stage->scratch_folder(0), "/mnt/lab/culprit-campaign/c1/scratch");
}

TEST(Workloads, EachHasASummaryAndAScript) {
  EXPECT_GE(study_workloads().size(), 9u);
  for (const Workload* workload : study_workloads()) {
    EXPECT_FALSE(workload->summary.empty()) << workload->name;
    EXPECT_NE(workload->script, nullptr) << workload->name;
    EXPECT_TRUE(find_workload(workload->name));
  }
  EXPECT_FALSE(find_workload("ddx"));
}

}  // namespace
}  // namespace culprit
