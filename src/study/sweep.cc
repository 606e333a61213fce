#include "study/sweep.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/text.h"

namespace culprit {

namespace {

struct Range {
  const char* parameter;
  std::vector<double> values;
  const char* follower = "";  // a parameter that goes along
  double share = 0;           // follower = share of the value, rounded up
  bool reload = false;
};

const std::vector<Range>& ranges() {
  static const std::vector<Range> table = {
      {"average_span", {1, 3, 5, 7, 9}, "average_least", 0.5},
      {"k", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
      {"window_size", {32, 48, 64, 80, 96, 112, 128}, "least_values", 0.375},
      {"window_shift", {16, 24, 32, 40, 48, 56, 64}},
      {"factor", {1, 1.5, 2, 2.5, 3, 3.5, 4}},
      {"cwnd_span", {1, 5, 11, 21, 31}, "cwnd_least", 0.5, true},
      {"cwnd_margin", {1, 1.25, 1.5, 2}},  // the paper has 1
  };
  return table;
}

bool allows(const DetectorInfo& detector, const std::map<std::string, double>& values) {
  Parameters trial(detector.parameters);
  return trial.set_all(values).ok();
}

bool as_given(const Setting& setting, const Parameters& given) {
  return std::all_of(setting.values.begin(), setting.values.end(),
                     [&](const auto& each) { return given[each.first] == each.second; });
}

Result<std::vector<Row>> score_all(const std::vector<SweepCampaign>& campaigns, const DetectorInfo& detector,
                                   const Parameters& parameters, bool reload) {
  std::vector<Row> all;
  for (const SweepCampaign& campaign : campaigns) {
    LoadedRuns again;
    if (reload) {
      ASSIGN_OR_RETURN(again, load_runs(campaign.runs, detector, parameters, nullptr));
    }
    ASSIGN_OR_RETURN(std::vector<Row> rows,
                     score_runs(campaign.runs, reload ? again : campaign.loaded, detector, parameters));
    std::move(rows.begin(), rows.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace

std::vector<Setting> sweep_settings(const DetectorInfo& detector) {
  std::vector<Setting> out;
  for (const Range& range : ranges())
    for (double value : range.values) {
      Setting setting{range.parameter, value, {{range.parameter, value}}, range.reload};
      if (range.share > 0) setting.values[range.follower] = std::ceil(range.share * value);
      if (allows(detector, setting.values)) out.push_back(std::move(setting));
    }
  return out;
}

std::string setting_text(const Setting& setting) {
  if (setting.parameter.empty()) return "as given";
  auto word = [](const std::string& name, double value) {
    char number[32];
    std::snprintf(number, sizeof number, "%g", value);
    return cat(name, "=", number);
  };
  std::string out = word(setting.parameter, setting.value);
  for (const auto& [name, value] : setting.values)
    if (name != setting.parameter) out += " " + word(name, value);
  return out;
}

Result<std::vector<SweepRow>> run_sweep(const std::vector<SweepCampaign>& campaigns, const DetectorInfo& detector,
                                        const Parameters& given, const RunProgress& progress) {
  const std::vector<Setting> settings = sweep_settings(detector);
  if (settings.empty()) return usage_error(cat(detector.name, " has none of the parameters that --sweep varies"));
  ASSIGN_OR_RETURN(const std::vector<Row> base, score_all(campaigns, detector, given, false));
  std::vector<SweepRow> out{{Setting{}, count_scores(base, "as given"), true, ""}};
  for (const Setting& setting : settings) {
    SweepRow row{setting, out.front().scores, as_given(setting, given), ""};
    if (!row.as_given) {
      Parameters parameters = given;
      RETURN_IF_ERROR(parameters.set_all(setting.values));
      auto rows = score_all(campaigns, detector, parameters, setting.reload);
      row.scores = count_scores(rows ? *rows : std::vector<Row>(), "");
      if (!rows) row.impossible = rows.error().message();
    }
    row.scores.name = setting_text(setting);
    out.push_back(std::move(row));
    if (progress) progress(out.size() - 1, settings.size());
  }
  return out;
}

}  // namespace culprit
