// From a campaign's directory to its rows: train on its training set, diagnose every other kept run. Loading the runs
// is the slow part, so it is a step of its own: another detector or other parameters then take seconds.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analyse/detector.h"
#include "study/row.h"

namespace culprit {

// What the journal says. Only kept attempts are runs; nothing of the training set is ever scored.
struct CampaignRuns {
  std::string name;  // of the directory: rows carry it
  std::string path;
  std::vector<Attempt> train;
  std::vector<Attempt> scored;  // sets score and control, in the journal's order
  std::vector<Discard> discards;
};

// Series or system calls, whichever the detector reads; the other two are empty.
struct LoadedRuns {
  std::vector<SeriesSet> train;
  std::vector<SeriesSet> scored;
  std::vector<CallData> train_calls;
  std::vector<CallData> scored_calls;
};

using RunProgress = std::function<void(size_t done, size_t total)>;  // one call at a time, from any thread

Result<CampaignRuns> open_campaign(const std::string& path);

// Loads what this detector with these parameters needs: without training no training runs.
Result<LoadedRuns> load_runs(const CampaignRuns& campaign, const DetectorInfo& detector, const Parameters& parameters,
                             const RunProgress& progress);

Result<std::vector<Row>> score_runs(const CampaignRuns& campaign, const LoadedRuns& loaded,
                                    const DetectorInfo& detector, const Parameters& parameters);

// Those that are not at their defaults.
std::map<std::string, double> changed_parameters(const DetectorInfo& detector, const Parameters& parameters);

}  // namespace culprit
