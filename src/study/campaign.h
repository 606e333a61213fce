// Carries out a campaign: one experiment after the other, each on clients that have just mounted the file system, each
// recorded, each with its truth in the journal before the next begins. It can be killed at any moment and started
// again: what is in the journal is not repeated, and what is not was never there.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "study/campaign_plan.h"

namespace culprit {

struct CampaignOptions {
  std::string culprit;  // our own program: recording and injecting are its commands
  std::string folder;   // of the campaign
  std::string plan_text;
  int most_runs = 0;  // stop after so many; 0: all
  std::function<bool()> stop;
  std::function<void(std::string_view)> say;  // progress, a line at a time
};

struct CampaignOutcome {
  size_t planned = 0;
  size_t kept = 0;
  size_t discarded = 0;  // attempts
  size_t timed = 0;      // of the planned
  size_t given_up = 0;   // experiments that failed or were spoiled each time
  bool stopped = false;  // asked to, before the end
};

Result<CampaignOutcome> run_campaign(const CampaignPlan& plan, const CampaignOptions& options);

// The servers that can be victims: the lab's, or those of the site's cluster file.
Result<std::vector<std::string>> campaign_servers(const CampaignPlan& plan);

// How long one run will take, roughly.
int64_t estimate_ns(const CampaignPlan& plan, RunSet set);

}  // namespace culprit
