// How much do the constants matter? Section 11.2 of FAST'10: one parameter at a time over a range, the others as they
// are. Nothing is recorded again, and the runs are loaded once (again only where loading depends on the parameter).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "study/judge_campaign.h"
#include "study/tally.h"

namespace culprit {

struct Setting {
  std::string parameter;  // "" is the setting that all others differ from
  double value = 0;
  // Also what must go along: half of a moving average's ticks must have a value whatever its span, and 3 of 8 of a
  // window's.
  std::map<std::string, double> values;
  bool reload = false;  // the runs must be loaded anew
};

struct SweepRow {
  Setting setting;
  Scores scores;
  bool as_given = false;   // its values are those of the first row, which it repeats
  std::string impossible;  // why these runs cannot be judged with it, for example because they are too short
};

// The settings of section 11.2 that this detector has, and the margin of cwnd, which is ours. Those out of range are
// left out.
std::vector<Setting> sweep_settings(const DetectorInfo& detector);
std::string setting_text(const Setting& setting);  // "window_size=32 least_values=12"

struct SweepCampaign {
  CampaignRuns runs;
  LoadedRuns loaded;
};

// `progress` counts settings.
Result<std::vector<SweepRow>> run_sweep(const std::vector<SweepCampaign>& campaigns, const DetectorInfo& detector,
                                        const Parameters& given, const RunProgress& progress);

}  // namespace culprit
