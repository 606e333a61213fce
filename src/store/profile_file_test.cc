#include "store/profile_file.h"

#include <gtest/gtest.h>

namespace culprit {
namespace {

Profile some_profile() {
  Profile profile;
  profile.detector = "fast10";
  profile.parameters = {{"k", 3}, {"epsilon", 1e-4}};
  profile.interval_ns = 1'000'000'000;
  profile.runs = {"a.run", "b.run"};
  profile.simulated = true;
  profile.thresholds["await"]["s1"] = {{"trained", 0.3}, {"used", 0.6}};
  profile.thresholds["await"]["*"] = {{"trained", 0.3}, {"used", 0.6}};
  return profile;
}

TEST(ProfileFile, RoundTrip) {
  const Profile before = some_profile();
  const Profile after = parse_profile(format_profile(before), "p").value();
  EXPECT_EQ(after.detector, before.detector);
  EXPECT_EQ(after.parameters, before.parameters);
  EXPECT_EQ(after.interval_ns, before.interval_ns);
  EXPECT_EQ(after.runs, before.runs);
  EXPECT_EQ(after.simulated, before.simulated);
  EXPECT_EQ(after.thresholds, before.thresholds);
}

TEST(ProfileFile, DamageIsOneSentence) {
  for (const char* text :
       {"", "[]", "null", "{", "{\"version\":1}", "{\"version\":\"1\"}", "{\"version\":1,\"detector\":5}",
        "{\"version\":1,\"detector\":\"fast10\"}", "{\"version\":1,\"detector\":\"fast10\",\"thresholds\":[]}",
        "{\"version\":1,\"detector\":\"fast10\",\"thresholds\":{\"await\":3}}",
        "{\"version\":1,\"detector\":\"fast10\",\"thresholds\":{\"await\":{\"s1\":{\"used\":null}}}}",
        "{\"version\":1,\"detector\":\"fast10\",\"thresholds\":{\"await\":{\"s1\":{\"used\":1e999}}}}",
        "{\"version\":1,\"detector\":\"fast10\",\"parameters\":{\"k\":\"x\"},\"thresholds\":{}}"}) {
    auto profile = parse_profile(text, "p");
    ASSERT_FALSE(profile) << text;
    EXPECT_FALSE(profile.error().hint.empty()) << text;
  }
}

TEST(ProfileFile, ANewerVersionIsRefusedByName) {
  auto profile = parse_profile("{\"version\":2,\"detector\":\"fast10\",\"thresholds\":{}}", "p");
  ASSERT_FALSE(profile);
  EXPECT_NE(profile.error().what.find("version 2"), std::string::npos);
}

}  // namespace
}  // namespace culprit
