#include "study/sweep.h"

#include <gtest/gtest.h>

#include <set>

namespace culprit {
namespace {

TEST(Sweep, Fast10HasAllOfSection112) {
  const DetectorInfo& fast10 = **find_detector("fast10");
  std::set<std::string> parameters;
  for (const Setting& setting : sweep_settings(fast10)) {
    parameters.insert(setting.parameter);
    Parameters trial(fast10.parameters);
    EXPECT_TRUE(trial.set_all(setting.values)) << setting_text(setting);
    EXPECT_EQ(setting.reload, setting.parameter == "cwnd_span");
  }
  EXPECT_EQ(parameters, (std::set<std::string>{"average_span", "k", "window_size", "window_shift", "factor",
                                               "cwnd_span", "cwnd_margin"}));
}

// Each range must hold the default, whose row shows the others what they differ from.
TEST(Sweep, EveryRangeHoldsTheDefault) {
  const DetectorInfo& fast10 = **find_detector("fast10");
  const Parameters defaults(fast10.parameters);
  std::set<std::string> with_default, all;
  for (const Setting& setting : sweep_settings(fast10)) {
    all.insert(setting.parameter);
    bool same = true;
    for (const auto& [name, value] : setting.values) same &= defaults[name] == value;
    if (same) with_default.insert(setting.parameter);
  }
  EXPECT_EQ(with_default, all);
}

TEST(Sweep, ParametersThatADetectorDoesNotHaveAreLeftOut) {
  for (const Setting& setting : sweep_settings(**find_detector("median_ratio")))
    EXPECT_TRUE(setting.parameter == "window_size" || setting.parameter == "window_shift") << setting.parameter;
}

TEST(Sweep, ASettingNamesWhatGoesAlong) {
  EXPECT_EQ(setting_text({"window_size", 32, {{"window_size", 32}, {"least_values", 12}}, false}),
            "window_size=32 least_values=12");
  EXPECT_EQ(setting_text({}), "as given");
}

TEST(ChangedParameters, OnlyThoseThatDiffer) {
  const DetectorInfo& fast10 = **find_detector("fast10");
  Parameters parameters(fast10.parameters);
  ASSERT_TRUE(parameters.set("k", 3));
  EXPECT_TRUE(changed_parameters(fast10, parameters).empty());
  ASSERT_TRUE(parameters.set("factor", 1.5));
  EXPECT_EQ(changed_parameters(fast10, parameters), (std::map<std::string, double>{{"factor", 1.5}}));
}

TEST(OpenCampaign, SomethingElseIsRefusedWithAHint) {
  const Result<CampaignRuns> campaign = open_campaign(CULPRIT_SOURCE_DIR);
  ASSERT_FALSE(campaign);
  EXPECT_NE(campaign.error().what.find("is no campaign"), std::string::npos);
  EXPECT_FALSE(campaign.error().hint.empty());
}

}  // namespace
}  // namespace culprit
