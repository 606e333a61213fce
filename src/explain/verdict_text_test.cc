#include "explain/verdict_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace culprit {
namespace {

using testing::HasSubstr;
using testing::Not;

Verdict culprit_verdict() {
  Evidence await{"await", "ms", true, 41, 3.1, 3.3, 3.6, 34, 36, 8.9, 2.4, 7};
  Evidence util{"util", "%", false, 99, 35, 36, 38, 0, 0, 0, 0, 7};
  Evidence tps{"tps", "requests/s", false, 36, 35, 36, 38};
  Accusation s3{"s3",
                "disk",
                "disk-busy",
                2,
                "await alone",
                1'767'225'600'000'000'000,
                1'767'225'664'000'000'000,
                0,
                1'767'225'728'000'000'000,
                0.94,
                {await, util, tps}};
  Verdict verdict;
  verdict.answer = Answer::culprit;
  verdict.detector = "fast10";
  verdict.culprits = {s3};
  for (int i = 1; i <= 8; ++i) verdict.servers.push_back("s" + std::to_string(i));
  verdict.interval_ns = 1'000'000'000;
  return verdict;
}

TEST(VerdictText, OneSentenceWithNumbers) {
  const std::string text = verdict_text(culprit_verdict());
  EXPECT_THAT(text, HasSubstr("s3 is at fault (disk, disk-busy): requests take 41.0 ms there, 3.1-3.6 ms on its 7 "
                              "peers, in 34 of 36 windows (await).\n"));
  EXPECT_THAT(text, HasSubstr("busy 99.0 % there, 35.0-38.0 %"));
  EXPECT_THAT(text, Not(HasSubstr("requests/s")));  // among its peers
  EXPECT_THAT(text, HasSubstr("still so at the end"));
  EXPECT_THAT(text, HasSubstr("step 2 of the checklist"));
}

TEST(VerdictText, UnitsArePeoplesUnits) {
  EXPECT_EQ(value_text(16000, "sectors/s"), "8.2 MB/s");
  EXPECT_EQ(value_text(500, "bytes/s"), "500 B/s");
  EXPECT_EQ(value_text(0, "ms"), "0 ms");
  EXPECT_EQ(value_text(0.05, "ms"), "0.05 ms");
  EXPECT_EQ(value_text(123456, "bytes/s"), "123 kB/s");
}

TEST(VerdictText, PartialAndSimulatedAreSaid) {
  Verdict verdict;
  verdict.partial = true;
  verdict.origin = "simulated";
  verdict.reason = "no profile";
  const std::string text = verdict_text(verdict);
  EXPECT_THAT(text, HasSubstr("undecided: no profile"));
  EXPECT_THAT(text, HasSubstr("partial"));
  EXPECT_THAT(text, HasSubstr("simulated"));
}

TEST(VerdictText, NotJudgedRowsWithOneReasonAreOneLine) {
  Verdict verdict;
  verdict.answer = Answer::healthy;
  verdict.not_judged = {{"s1", "await", "idle"}, {"s2", "await", "idle"}, {"*", "rd_sec", "it was not recorded"}};
  const std::string text = verdict_text(verdict);
  EXPECT_THAT(text, HasSubstr("not judged: await of s1 s2: idle\n"));
  EXPECT_THAT(text, HasSubstr("not judged: rd_sec of all servers: it was not recorded\n"));
}

Verdict error_verdict() {
  Accusation s2;
  s2.server = "s2";
  s2.resource = "disk";
  s2.cause = "silent-error";
  s2.onset_from_ns = s2.onset_until_ns = 1'767'225'600'000'000'000;
  s2.facts = {"pwrite64 failed 3 times with ENOSPC there", "process 7 was killed by SIGABRT"};
  s2.failed_calls = {{"pwrite64", "ENOSPC", 3, 0, 0, {"/a", "/b"}, ""}};
  Verdict verdict;
  verdict.answer = Answer::culprit;
  verdict.culprits = {s2};
  return verdict;
}

TEST(VerdictText, WithoutAMetricTheFirstFactIsTheSentence) {
  const std::string text = verdict_text(error_verdict());
  EXPECT_THAT(text, HasSubstr("s2 is at fault (disk, silent-error): pwrite64 failed 3 times with ENOSPC there.\n"));
  EXPECT_THAT(text, HasSubstr("  also: process 7 was killed by SIGABRT\n"));
  EXPECT_THAT(text, HasSubstr("  began at 2026-01-01T00:00:00.000Z, still so at the end\n"));
  EXPECT_THAT(text, HasSubstr("to look at on s2: "));
}

TEST(VerdictText, FactsStandBesideMetrics) {
  Verdict verdict = culprit_verdict();
  verdict.culprits[0].facts = {"it coughed"};
  const std::string text = verdict_text(verdict);
  EXPECT_THAT(text, HasSubstr("s3 is at fault (disk, disk-busy): requests take 41.0 ms there"));
  EXPECT_THAT(text, HasSubstr("  also: it coughed\n"));
}

TEST(VerdictText, AnAccusationWithoutAnyEvidenceDoesNotCrash) {
  Verdict verdict = error_verdict();
  verdict.culprits[0].facts.clear();
  EXPECT_THAT(verdict_text(verdict), HasSubstr("s2 is at fault"));
}

TEST(VerdictJson, HasTheFacts) {
  const auto json = nlohmann::json::parse(verdict_json(error_verdict()));
  ASSERT_EQ(json["culprits"][0]["facts"].size(), 2u);
  EXPECT_EQ(json["culprits"][0]["facts"][0], "pwrite64 failed 3 times with ENOSPC there");
  ASSERT_EQ(json["culprits"][0]["failed_calls"].size(), 1u);
  EXPECT_EQ(json["culprits"][0]["failed_calls"][0]["errno"], "ENOSPC");
  EXPECT_EQ(json["culprits"][0]["failed_calls"][0]["paths"][1], "/b");
  EXPECT_TRUE(json["culprits"][0]["evidence"].empty());
}

TEST(VerdictJson, SaysTheSame) {
  const auto json = nlohmann::json::parse(verdict_json(culprit_verdict()));
  EXPECT_EQ(json["verdict"], "culprit");
  EXPECT_EQ(json["culprits"][0]["server"], "s3");
  EXPECT_EQ(json["culprits"][0]["resource"], "disk");
  EXPECT_EQ(json["culprits"][0]["cause"], "disk-busy");
  EXPECT_EQ(json["culprits"][0]["step"], 2);
  EXPECT_TRUE(json["culprits"][0]["end"].is_null());
  EXPECT_EQ(json["culprits"][0]["onset"]["from"], "2026-01-01T00:00:00.000Z");
  EXPECT_EQ(json["culprits"][0]["known"], "2026-01-01T00:02:08.000Z");
  EXPECT_EQ(json["culprits"][0]["evidence"][0]["windows"], 34);
  EXPECT_EQ(json["culprits"][0]["evidence"].size(), 3u);
}

TEST(VerdictJson, SurvivesNamesThatAreNotUtf8) {
  Verdict verdict = culprit_verdict();
  verdict.culprits[0].server = "s\xff\xfe";
  EXPECT_NO_THROW(nlohmann::json::parse(verdict_json(verdict)));
}

}  // namespace
}  // namespace culprit
