// One experiment from the clients' first request to the recording's end.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analyse/series.h"
#include "study/campaign_plan.h"
#include "study/stage.h"
#include "study/workload.h"

namespace culprit {

struct RunSetup {
  const CampaignPlan* plan = nullptr;
  const Stage* stage = nullptr;
  std::string culprit;
  std::string cluster_file;
  std::string campaign;  // its folder
  std::function<bool()> stop;
};

// The command that injects an experiment's fault.
std::vector<std::string> inject_words(const RunSetup& setup, const Experiment& experiment, int64_t for_ns);

struct RunResult {
  Attempt attempt;
  Error fatal;  // a fault that could not be taken back: the attempt belongs into the journal, and nothing may follow it
};

// An attempt that failed says so in its outcome and reason. An Error is the wish to stop.
Result<RunResult> carry_out(const RunSetup& setup, const Experiment& experiment);

// Whether the plan's rule says that a run must not count; the reason, or "". Fills in what was measured.
std::string spoiled_reason(const SpoiledRule& rule, const SeriesSet& series, Attempt& attempt);
Result<std::string> spoiled_reason(const SpoiledRule& rule, const std::string& run_path, Attempt& attempt);

}  // namespace culprit
