// What a campaign is to do, as PLAN.toml says it, and the list of experiments that follows from it and its seed alone.
// docs/formats/campaign.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lab/plan.h"
#include "study/experiment.h"

namespace culprit {

// A run must not count when the machine under the lab was out of breath. Fixed in the plan, before any verdict.
struct SpoiledRule {
  double idle_percent = 10;    // at least this much idle CPU ...
  double idle_seconds = 90;    // ... in this per cent of the seconds
  double steal_percent = 5;    // at most, on average
  double lost_percent = 5;     // of the samples
  double most_discarded = 10;  // per cent of the runs: more fail the campaign
};

struct PlannedFault {
  std::string name;
  std::map<std::string, std::string> params;
  std::string label;  // what tells two intensities of a fault apart; the name otherwise
};

// A workload that the plan itself brings: shell scripts for each client.
struct OwnWorkload {
  std::string prepare;  // once per lab
  std::string
      run;  // $FOLDER: a folder of its own on the file system, emptied before each run; ends by itself or is stopped
};

struct CampaignPlan {
  std::string name;
  uint64_t seed = 1;

  LabPlan lab;                           // lab.fs is empty when it runs on a site
  std::map<std::string, double> slower;  // server -> how many times its disk is slower, by design
  std::string site_cluster;              // cluster.toml of a site
  std::string mount = "/mnt/lab";        // where clients have the file system
  bool direct = true;                    // direct I/O; the preset wild has it buffered
  bool owns_cluster = false;             // needed for faults on machines: behind ssh, and this one
  std::string from;                      // the node at the other end of a network hog; "": the only third party

  int64_t interval_ns = 100'000'000;
  int before = 100;  // samples
  int during = 220;
  int after = 80;
  bool syscalls = false;         // captured, too, on all servers and clients
  std::string backend = "ebpf";  // who captures; never another one without saying so
  std::string calls;             // which of them, as `culprit syscap --calls` takes it; "": all
  std::string logs;              // the folder of the file system's logs on the nodes; "": they are not kept

  std::vector<std::string> train_workloads;
  int train_runs = 0;  // of each workload
  std::vector<std::string> score_workloads;
  std::vector<PlannedFault> faults;
  int iterations = 0;
  bool loads_may_end = false;  // a fault may end a client's workload, and the run counts all the same
  std::vector<std::string> control_workloads;
  int control_runs = 0;
  std::vector<std::string> overhead_workloads;
  int overhead_pairs = 0;

  SpoiledRule spoiled;
  std::map<std::string, OwnWorkload> own;

  bool on_site() const { return !site_cluster.empty(); }
  int64_t run_ns() const { return interval_ns * (before + during + after); }
};

Result<CampaignPlan> parse_campaign_plan(const std::string& text, const std::string& name_for_errors);
Result<CampaignPlan> read_campaign_plan(const std::string& path);

// In the order in which they are done: training, then one iteration of everything after the other, each shuffled by the
// seed, so that a slow drift of the machine meets all cells alike. Victims are drawn by the seed, each server in turn.
std::vector<Experiment> plan_experiments(const CampaignPlan& plan, const std::vector<std::string>& servers);

}  // namespace culprit
