#include "inject/nft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace culprit {
namespace {

using testing::HasSubstr;
using testing::Not;

FaultWork work_with(const std::string& control) {
  FaultWork work;
  work.part.id = "ab12";
  work.part.node = "s1";
  work.part.lease_ns = 10'000'000'000;
  work.notes = {{"nics", "eth0,eth1"}};
  if (!control.empty()) work.notes["control"] = control;
  return work;
}

TEST(Nft, TheLeaseIsATimeoutOfTheNics) {
  std::string text = nft_table(work_with(""), {.input = {"drop"}, .output = {}}).value();
  EXPECT_THAT(text, HasSubstr("table inet culprit_ab12 {"));
  EXPECT_THAT(text, HasSubstr("iifname @lease drop"));
  EXPECT_THAT(text, HasSubstr("{ \"eth0\" timeout 10000ms, \"eth1\" timeout 10000ms }"));
  EXPECT_THAT(text, Not(HasSubstr("output")));
}

TEST(Nft, TheControlConnectionComesFirst) {
  std::string text =
      nft_table(work_with("10.1.1.1 50000 10.1.1.2 2222"), {.input = {"drop"}, .output = {"drop"}}).value();
  size_t spared = text.find("ip saddr 10.1.1.1 tcp dport 2222 accept");
  ASSERT_NE(spared, std::string::npos);
  EXPECT_LT(spared, text.find("iifname @lease drop"));
  EXPECT_THAT(text, HasSubstr("ip daddr 10.1.1.1 tcp sport 2222 accept"));
  EXPECT_THAT(nft_table(work_with("fd00::1 5 fd00::2 22"), {.input = {"drop"}, .output = {}}).value(),
              HasSubstr("ip6 saddr fd00::1 tcp dport 22 accept"));
}

TEST(Nft, NothingStrangeGetsIntoTheRules) {
  for (const char* control : {"; flush ruleset", "10.1.1.1", "10.1.1.1 1 2 99999", "x y z 22"}) {
    std::string text = nft_table(work_with(control), {.input = {"drop"}, .output = {}}).value();
    EXPECT_THAT(text, Not(HasSubstr("accept\n"))) << control;
    EXPECT_THAT(text, Not(HasSubstr("flush"))) << control;
  }
  FaultWork work = work_with("");
  work.notes["nics"] = "eth0\" } ; flush ruleset";
  EXPECT_FALSE(nft_table(work, {.input = {"drop"}, .output = {}}));
  EXPECT_FALSE(nft_address("saddr", "10.0.0.1; drop"));
  EXPECT_FALSE(nft_address("saddr", ""));
}

TEST(Nft, PercentOfThePackets) {
  EXPECT_EQ(nft_drop(5), "numgen random mod 10000 < 500 drop");
  EXPECT_EQ(nft_drop(0.5), "numgen random mod 10000 < 50 drop");
  EXPECT_EQ(nft_drop(0.01), "numgen random mod 10000 < 1 drop");
  EXPECT_EQ(nft_drop(100), "drop");
}

}  // namespace
}  // namespace culprit
