#include "study/stage.h"

#include <gtest/gtest.h>

#include "study/test_stage.h"
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
  Cluster cluster = cluster_of({"s1", "s2", "c1"});
  EXPECT_FALSE(stage_of(cluster));
  cluster.nodes.push_back(cluster.nodes[0]);
  cluster.nodes.back().name = "s3";
  auto stage = stage_of(cluster);
  ASSERT_TRUE(stage) << stage.error().message();
  EXPECT_EQ(stage->servers().size(), 3u);
  EXPECT_EQ(stage->scratch_folder(0), "/mnt/lab/culprit-campaign/c1/scratch");
  cluster.nodes[0].roles = {"meta"};  // it holds no data, so two are left to be compared
  EXPECT_FALSE(stage_of(cluster));
}

TEST(Stage, AServerWithoutItsDaemonIsNotWell) {
  Cluster cluster = cluster_of({"s1", "s2", "s3", "c1"});
  for (size_t i = 0; i < 3; ++i) cluster.nodes[i].daemons = {"no-such-program", "sh"};  // the script's own shell
  auto stage = [&] { return stage_of(cluster); };
  EXPECT_TRUE(stage()->check_daemons());
  cluster.nodes[1].daemons = {"no-such-program"};
  const Status down = stage()->check_daemons();
  ASSERT_FALSE(down);
  EXPECT_EQ(down.error().message(), "on s2: no no-such-program runs");
  EXPECT_TRUE(stage()->check_daemons("s2"));
}

TEST(Workloads, EachHasASummaryAndAScript) {
  EXPECT_GE(study_workloads().size(), 10u);
  for (const Workload* workload : study_workloads()) {
    EXPECT_FALSE(workload->summary.empty()) << workload->name;
    EXPECT_NE(workload->script, nullptr) << workload->name;
    EXPECT_TRUE(find_workload(workload->name));
  }
  EXPECT_FALSE(find_workload("ddx"));
}

TEST(Workloads, ChurnHasASecondStreamWhenThereIsTimeForIt) {
  auto stage = stage_of(cluster_of({"s1", "s2", "s3", "c1"}));
  ASSERT_TRUE(stage);
  auto churn = find_workload("churn");
  ASSERT_TRUE(churn);
  auto has = [&](int64_t seconds, const char* word) {
    return (*churn)->script(*stage, 0, seconds).find(word) != std::string::npos;
  };
  EXPECT_TRUE(has(70, "/usr/bin/culprit-node churn --folder /mnt/lab/culprit-campaign/c1/scratch/large"));
  EXPECT_TRUE(has(70, "--seconds 55"));
  EXPECT_FALSE(has(20, "scratch/large --seed"));
  EXPECT_TRUE(has(0, "--steps"));
}

}  // namespace
}  // namespace culprit
