#include "study/campaign_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/text.h"

namespace culprit {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kServers = {"s1", "s2", "s3", "s4", "s5"};
constexpr const char* kSmall = R"(
seed = 5
[lab]
fs = "glusterfs"
[samples]
interval = "200ms"
before = 10
during = 20
after = 5
[train]
workloads = ["ddw", "ddr"]
runs = 3
[score]
workloads = ["ddw", "postmark"]
faults = ["none", "disk_hog", { fault = "disk_hog", share = 0.25 }]
iterations = 5
[control]
workloads = ["gaps"]
runs = 2
[overhead]
workloads = ["ddw"]
pairs = 2
)";

CampaignPlan plan_of(const std::string& text) {
  auto plan = parse_campaign_plan(text, "plan.toml");
  EXPECT_TRUE(plan) << plan.error().message();
  return plan ? *plan : CampaignPlan();
}

std::string error_of(const std::string& text) {
  auto plan = parse_campaign_plan(text, "plan.toml");
  return plan ? "" : plan.error().message() + " / " + plan.error().hint;
}

TEST(CampaignPlan, AllOfItsParts) {
  const CampaignPlan plan = plan_of(kSmall);
  EXPECT_EQ(plan.seed, 5u);
  EXPECT_EQ(plan.interval_ns, 200'000'000);
  EXPECT_EQ(plan.run_ns(), 7'000'000'000);
  EXPECT_EQ(plan.lab.name, "campaign");
  ASSERT_EQ(plan.faults.size(), 3u);
  EXPECT_EQ(plan.faults[2].params.at("share"), "0.25");
  EXPECT_EQ(plan.faults[2].label, "disk_hog-0.25");
}

TEST(CampaignPlan, EveryCellIsPlannedOnceAndIdsAreUnique) {
  const std::vector<Experiment> all = plan_experiments(plan_of(kSmall), kServers);
  EXPECT_EQ(all.size(), 2 * 3 + 2 * 3 * 5 + 2 + 2 * 2u);
  std::set<std::string> ids;
  for (const Experiment& it : all) EXPECT_TRUE(ids.insert(it.id).second) << it.id;
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(all[i].set, RunSet::train);  // thresholds before anything is scored
}

TEST(CampaignPlan, EveryServerIsAVictimOfEachCell) {
  std::map<std::string, std::set<std::string>> victims;
  for (const Experiment& it : plan_experiments(plan_of(kSmall), kServers)) {
    if (it.set == RunSet::score && it.fault == "none") {
      EXPECT_EQ(it.victim, "");
    }
    if (it.fault != "none") victims[it.id.substr(0, it.id.rfind('-'))].insert(it.victim);
  }
  EXPECT_EQ(victims.size(), 4u);
  for (const auto& [cell, servers] : victims) EXPECT_EQ(servers.size(), 5u) << cell;
}

TEST(CampaignPlan, FewIterationsOfSeveralWorkloadsHitAllServersAlike) {
  CampaignPlan plan = plan_of(kSmall);
  plan.score_workloads = {"ddr", "ddw", "iozoner", "iozonew", "postmark"};
  plan.iterations = 2;
  std::map<std::string, std::map<std::string, int>> victims;
  for (const Experiment& it : plan_experiments(plan, kServers))
    if (it.set == RunSet::score && it.fault != "none")
      ++victims[it.id.substr(it.id.find('-', 6), it.id.rfind('-') - it.id.find('-', 6))][it.victim];
  EXPECT_EQ(victims.size(), 2u);
  for (const auto& [fault, counts] : victims) {
    EXPECT_EQ(counts.size(), 5u) << fault;
    for (const auto& [server, count] : counts) EXPECT_EQ(count, 2) << fault << " " << server;
  }
}

TEST(CampaignPlan, TheSeedDecidesAndNothingElse) {
  CampaignPlan plan = plan_of(kSmall);
  auto words = [&] {
    std::string out;
    for (const Experiment& it : plan_experiments(plan, kServers))
      out += it.id + it.victim + std::to_string(it.seed) + " ";
    return out;
  };
  const std::string first = words();
  EXPECT_EQ(first, words());
  plan.seed = 6;
  EXPECT_NE(first, words());
}

TEST(CampaignPlan, TheHalvesOfAPairAlternate) {
  std::vector<bool> order;
  for (const Experiment& it : plan_experiments(plan_of(kSmall), kServers))
    if (it.set == RunSet::overhead) order.push_back(it.recorded);
  EXPECT_EQ(order, (std::vector<bool>{true, false, false, true}));
}

TEST(CampaignPlan, AWorkloadOfItsOwn) {
  const CampaignPlan plan = plan_of(
      "[lab]\nfs = \"moosefs\"\n[train]\nworkloads = [\"mine\"]\nruns = 1\n[workload.mine]\nrun = \"\"\"\ndd a\ndd "
      "b\n\"\"\"\n");
  EXPECT_EQ(plan.own.at("mine").run, "dd a\ndd b\n");
}

TEST(CampaignPlan, SystemCallsAndLogs) {
  const CampaignPlan plain = plan_of(kSmall);
  EXPECT_FALSE(plain.syscalls);
  EXPECT_FALSE(plain.loads_may_end);
  EXPECT_EQ(plain.backend, "ebpf");
  const CampaignPlan plan = plan_of(
      "[lab]\nfs = \"glusterfs\"\n[samples]\nsyscalls = true\ncalls = \"io\"\nlogs = \"/run/culprit-lab/log\"\n"
      "[score]\nworkloads = [\"churn\"]\nfaults = [{ fault = \"err_fsize\", size = \"16MB\" }]\niterations = 1\n"
      "loads_may_end = true\n");
  EXPECT_TRUE(plan.syscalls);
  EXPECT_EQ(plan.calls, "io");
  EXPECT_EQ(plan.logs, "/run/culprit-lab/log");
  EXPECT_TRUE(plan.loads_may_end);
  EXPECT_EQ(plan.faults.at(0).label, "err_fsize-16MB");
}

TEST(CampaignPlan, HalfATableIsAnError) {
  const std::string lab = "[lab]\nfs = \"glusterfs\"\n";
  const std::string train = "[train]\nworkloads = [\"ddw\"]\nruns = 1\n";
  EXPECT_THAT(error_of(lab + train + "[control]\nworkloads = [\"ramp\"]\n"), HasSubstr("[control] has no 'runs'"));
  EXPECT_THAT(error_of(lab + train + "[control]\nruns = 2\n"), HasSubstr("[control] has no 'workloads'"));
  EXPECT_THAT(error_of(lab + train + "[score]\nworkloads = [\"ddw\"]\nfaults = [\"none\"]\n"),
              HasSubstr("[score] has no 'iterations'"));
  EXPECT_THAT(error_of(lab + "[train]\nworkloads = [\"ddw\"]\n"), HasSubstr("[train] has no 'runs'"));
}

TEST(CampaignPlan, HealNeedsAVictimAndALayoutThatStandsIt) {
  const std::string table = "[train]\nworkloads = [\"heal\"]\nruns = 2\n";
  for (const Experiment& it : plan_experiments(plan_of("[lab]\nfs = \"glusterfs\"\n" + table), kServers))
    EXPECT_NE(it.victim, "") << it.id;
  EXPECT_THAT(error_of("[lab]\nfs = \"glusterfs\"\nlayout = \"distribute\"\n" + table),
              HasSubstr("heal takes a server away, and distribute cannot do without"));
  EXPECT_THAT(error_of("[lab]\nfs = \"moosefs\"\nlayout = \"goal1\"\n" + table), HasSubstr("cannot do without"));
}

TEST(CampaignPlan, AMountIsNamedAsTheKernelDoes) {
  const std::string train = "[train]\nworkloads = [\"ddw\"]\nruns = 1\n";
  for (const char* mount : {"/mnt/pfs", "/mnt/pfs/", "/mnt/pfs//"})
    EXPECT_EQ(plan_of(cat("[site]\ncluster = \"c.toml\"\nmount = \"", mount, "\"\n", train)).mount, "/mnt/pfs");
}

TEST(CampaignPlan, ErrorsNameTheLineAndWhatIsKnown) {
  const std::string lab = "[lab]\nfs = \"moosefs\"\n";
  const std::string train = "[train]\nworkloads = [\"ddw\"]\nruns = 1\n";
  EXPECT_THAT(error_of("[lab]\nfs = \"glusterfs\"\nserver = 5\n" + train),
              HasSubstr("line 3: there is no key 'server' in [lab]"));
  EXPECT_THAT(error_of("[lab]\nfs = \"glusterfs\"\nserver = 5\n" + train), HasSubstr("did you mean 'servers'?"));
  EXPECT_THAT(error_of(train), HasSubstr("either [lab] or [site]"));
  EXPECT_THAT(error_of(lab), HasSubstr("plans no run"));
  EXPECT_THAT(error_of(lab + "[train]\nworkloads = [\"postmrk\"]\nruns = 1\n"), HasSubstr("did you mean postmark?"));
  EXPECT_THAT(error_of(lab + train + "[score]\nworkloads = [\"ddw\"]\nfaults = [\"disk_hug\"]\niterations = 1\n"),
              HasSubstr("did you mean disk_hog?"));
  EXPECT_THAT(
      error_of(lab + train +
               "[score]\nworkloads = [\"ddw\"]\nfaults = [{ fault = \"disk_hog\", speed = 1 }]\niterations = 1\n"),
      HasSubstr("no parameter speed"));
  EXPECT_THAT(error_of(lab + train + "[samples]\ninterval = \"1ms\"\n"), HasSubstr("from 50ms to 1h"));
  EXPECT_THAT(error_of(lab + train + "[samples]\nbefore = 0\n"), HasSubstr("from 1 to"));
  EXPECT_THAT(error_of(lab + train + "[samples]\ncalls = \"io\"\n"), HasSubstr("add syscalls = true"));
  EXPECT_THAT(error_of(lab + train + "[samples]\nsyscalls = 1\n"), HasSubstr("true or false"));
  EXPECT_THAT(error_of(lab + train + "[samples]\nsyscalls = true\nbefore = 1\nduring = 1\nafter = 1\n"),
              HasSubstr("too short for system calls"));
  EXPECT_THAT(error_of(lab + train + "[samples]\nlogs = \"log\"\n"), HasSubstr("a folder of the nodes"));
  EXPECT_THAT(error_of(lab + train + "[spoiled]\nidle_percent = 300\n"), HasSubstr("0 to 100"));
  EXPECT_THAT(error_of("[lab]\nfs = \"moosefs\"\nslower = { s9 = 1.2 }\n" + train), HasSubstr("no server of the lab"));
  EXPECT_THAT(error_of("[lab]\nfs = \"directory\"\n" + train), HasSubstr("no file system that clients share"));
  EXPECT_THAT(error_of("[lab\n"), HasSubstr("line 1"));
  EXPECT_THAT(error_of("name = \"\xc3\xa9\"\n"), HasSubstr("ASCII"));
}

}  // namespace
}  // namespace culprit
