#include "study/campaign_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/fd.h"

namespace culprit {
namespace {

class CampaignFolder : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "campaign_folder_test";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static Attempt attempt(const std::string& id, Outcome outcome) {
    Attempt out;
    out.experiment = {id, RunSet::score, "ddw", "disk_hog", {{"share", "0.5"}}, "s3", 2, true, 7};
    out.outcome = outcome;
    out.reason = outcome == Outcome::kept ? "" : "too \"busy\"\n";
    out.run = "runs/" + id + ".run";
    out.begun_ns = 1'700'000'000'000'000'000;
    out.on_ns = 1'700'000'000'000'000'001;
    out.measured = {{"idle_mean", 55.5}};
    out.said = {{"c1", "write: No space left on device\nsteps 7"}};
    return out;
  }
  std::string folder_;
};

TEST_F(CampaignFolder, WhatIsWrittenComesBack) {
  ASSERT_TRUE(append_attempt(folder_, attempt("a", Outcome::spoiled)));
  ASSERT_TRUE(append_attempt(folder_, attempt("a", Outcome::kept)));
  auto all = read_journal(folder_);
  ASSERT_TRUE(all) << all.error().message();
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ((*all)[0].reason, "too \"busy\"\n");
  EXPECT_EQ(format_attempt((*all)[1]), format_attempt(attempt("a", Outcome::kept)));
  EXPECT_EQ(kept(*all).size(), 1u);
}

TEST_F(CampaignFolder, AJournalOfBeforeSaysNothing) {
  std::string line = format_attempt(attempt("a", Outcome::kept));
  const size_t from = line.find(",\"said\"");
  ASSERT_NE(from, std::string::npos);
  EXPECT_EQ(parse_attempt(line)->said.at("c1"), "write: No space left on device\nsteps 7");
  line = line.substr(0, from) + "}";
  auto old = parse_attempt(line);
  ASSERT_TRUE(old) << old.error().message();
  EXPECT_TRUE(old->said.empty());
  EXPECT_FALSE(parse_attempt(line.substr(0, from) + ",\"said\":[1]}"));
}

TEST_F(CampaignFolder, ALineThatACrashCutOffIsLeftOutAndOverwritten) {
  ASSERT_TRUE(append_attempt(folder_, attempt("a", Outcome::kept)));
  const std::string line = format_attempt(attempt("b", Outcome::kept));
  for (size_t cut : {size_t{1}, line.size() / 2, line.size() - 1}) {
    std::ofstream(folder_ + "/journal.jsonl", std::ios::app) << line.substr(0, cut);
    EXPECT_EQ(read_journal(folder_)->size(), 1u);
  }
  ASSERT_TRUE(append_attempt(folder_, attempt("b", Outcome::kept)));
  ASSERT_EQ(read_journal(folder_)->size(), 2u);
  EXPECT_EQ((*read_journal(folder_))[1].experiment.id, "b");
}

TEST_F(CampaignFolder, HostileLinesAreOneSentence) {
  for (const char* line : {"", "{", "[]", "{\"id\":1}", "null", "{\"id\":\"a\",\"set\":\"x\"}"}) {
    EXPECT_FALSE(parse_attempt(line)) << line;
    std::ofstream(folder_ + "/journal.jsonl") << line << "\n";
    auto all = read_journal(folder_);
    ASSERT_FALSE(all);
    EXPECT_THAT(all.error().message(), testing::HasSubstr("line 1"));
  }
  Attempt outside = attempt("a", Outcome::kept);
  outside.run = "../../etc/passwd";
  EXPECT_FALSE(parse_attempt(format_attempt(outside)));
  outside.run = "/etc/passwd";
  EXPECT_FALSE(parse_attempt(format_attempt(outside)));
  const std::string good = format_attempt(Attempt{});
  ASSERT_TRUE(parse_attempt(good));
  for (const char* seed : {"85944471666141423049", "-1", "1.5"}) {  // none of them fits
    std::string line = good;
    line.replace(line.find("\"seed\":0"), 8, std::string("\"seed\":") + seed);
    EXPECT_FALSE(parse_attempt(line)) << seed;
  }
  EXPECT_FALSE(parse_attempt(std::string(1 << 20, '{')));
}

}  // namespace
}  // namespace culprit
