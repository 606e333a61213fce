#include "study/judge.h"

#include <gtest/gtest.h>

#include <cmath>

#include "study/row_test_rows.h"

namespace culprit {
namespace {

std::string flags(const Row& row) {
  std::string out;
  if (row.itp) out += "ITP ";
  if (row.ifp) out += "IFP ";
  if (row.dtp) out += "DTP ";
  if (row.dfp) out += "DFP ";
  return out;
}

RowAccusation ended(RowAccusation accused, double end_s) {
  accused.end_s = end_s;
  return accused;
}

TEST(Rule16, TheVictimWithTheRightCause) {
  EXPECT_EQ(flags(scored("disk_hog", {accusation("s3", "disk-hog")})), "ITP DTP ");
  EXPECT_EQ(flags(scored("disk_busy", {accusation("s3", "disk-busy")})), "ITP DTP ");
  EXPECT_EQ(flags(scored("write_network_hog", {accusation("s3", "network-hog")})), "ITP DTP ");
  EXPECT_EQ(flags(scored("read_network_hog", {accusation("s3", "network-hog")})), "ITP DTP ");
  EXPECT_EQ(flags(scored("receive_pktloss", {accusation("s3", "packet-loss")})), "ITP DTP ");
  EXPECT_EQ(flags(scored("send_pktloss", {accusation("s3", "packet-loss")})), "ITP DTP ");
}

TEST(Rule16, AFaultMayHaveSeveralRightCauses) {
  for (const char* cause : {"propagated-error", "silent-error", "crash", "hang"}) {
    EXPECT_EQ(flags(scored("err_space", {accusation("s3", cause)})), "ITP DTP ") << cause;
    EXPECT_EQ(flags(scored("err_vmsize", {accusation("s3", cause)})), "ITP DTP ") << cause;
  }
  EXPECT_EQ(flags(scored("disk_hog", {accusation("s3", "disk-slow")})), "ITP DTP ");
  EXPECT_EQ(flags(scored("send_pktloss", {accusation("s3", "network-slow")})), "ITP DTP ");
  EXPECT_EQ(flags(scored("err_space", {accusation("s3", "disk-slow")})), "ITP DFP ");
}

TEST(Rule16, ACrashIsNoHang) {
  EXPECT_EQ(flags(scored("crash", {accusation("s3", "crash")})), "ITP DTP ");
  EXPECT_EQ(flags(scored("crash", {accusation("s3", "hang")})), "ITP DFP ");
  EXPECT_EQ(flags(scored("hang", {accusation("s3", "hang")})), "ITP DTP ");
  EXPECT_EQ(flags(scored("hang", {accusation("s3", "crash")})), "ITP DFP ");
}

TEST(Rule16, TheVictimWithAWrongCause) {
  EXPECT_EQ(flags(scored("disk_hog", {accusation("s3", "disk-busy")})), "ITP DFP ");
  EXPECT_EQ(flags(scored("disk_hog", {accusation("s3", "disk-busy"), accusation("s3", "disk-hog")})), "ITP DTP DFP ");
}

TEST(Rule16, AnotherServerAtAnyTime) {
  EXPECT_EQ(flags(scored("disk_hog", {accusation("s1", "disk-hog")})), "IFP DFP ");
  EXPECT_EQ(flags(scored("disk_hog", {ended(accusation("s1", "disk-hog", 40), 50)})), "IFP DFP ");
  EXPECT_EQ(flags(scored("disk_hog", {accusation("s3", "disk-hog"), accusation("s1", "disk-hog")})),
            "ITP IFP DTP DFP ");
}

TEST(Rule16, TheVictimBeforeTheInjectionIsAFalseAlarm) {
  EXPECT_EQ(flags(scored("disk_hog", {ended(accusation("s3", "disk-hog", 40), 59.9)})), "IFP DFP ");
  EXPECT_EQ(flags(scored("disk_hog", {ended(accusation("s3", "disk-hog", 40), 60)})), "IFP DFP ");
  EXPECT_EQ(flags(scored("disk_hog", {ended(accusation("s3", "disk-hog", 70), 60.001)})), "ITP DTP ");
  EXPECT_EQ(flags(scored("disk_hog", {accusation("s3", "disk-hog", 40)})), "ITP DTP ");  // it goes on
}

TEST(Rule16, WithoutAFaultEveryAccusationIsFalse) {
  EXPECT_EQ(flags(scored("none")), "");
  EXPECT_EQ(flags(scored("none", {accusation("s3", "disk-hog")})), "IFP DFP ");
  Row control = scored("none", {accusation("s1", "disk-busy")});
  control.truth.set = RunSet::control;
  score_row(control);
  EXPECT_EQ(flags(control), "IFP DFP ");
}

TEST(Rule16, AFaultWithoutAWordScoresTheServerOnly) {
  EXPECT_EQ(flags(scored("cpu_hog", {accusation("s3", "disk-busy")})), "ITP ");
  EXPECT_EQ(flags(scored("cpu_hog", {accusation("s2", "disk-busy")})), "IFP DFP ");
}

TEST(Rule16, MissedAndUndecidedScoreNothing) {
  Row row = scored("disk_hog");
  EXPECT_EQ(flags(row), "");
  row.answer = "undecided";
  score_row(row);
  EXPECT_EQ(flags(row), "");
  EXPECT_TRUE(is_undecided(row));
}

TEST(Latency, IsOfTheEarliestAccusationThatFindsTheVictim) {
  EXPECT_FALSE(scored("disk_hog").latency_s);
  EXPECT_FALSE(scored("disk_hog", {accusation("s1", "disk-hog", 70)}).latency_s);
  const Row row = scored("disk_hog", {accusation("s1", "disk-hog", 61), accusation("s3", "disk-busy", 102.5),
                                      accusation("s3", "disk-hog", 92.25)});
  EXPECT_DOUBLE_EQ(row.latency_s.value(), 32.25);
  EXPECT_DOUBLE_EQ(scored("disk_hog", {accusation("s3", "disk-hog", 50)}).latency_s.value(), -10);
}

Attempt attempt() {
  Attempt out;
  out.experiment.id = "score-ddw-disk_hog-1";
  out.experiment.workload = "ddw";
  out.experiment.fault = "disk_hog";
  out.experiment.victim = "s3";
  out.experiment.seed = 18446744073709551615u;
  out.outcome = Outcome::kept;
  out.begin_ns = 1'000'000'000'000;
  out.on_ns = out.begin_ns + 60'000'400'000;
  out.off_ns = out.begin_ns + 90'000'000'000;
  out.measured = {{"idle_low", 41.23456}, {"nonsense", std::nan("")}};
  return out;
}

Verdict verdict(int64_t begin_ns) {
  Verdict out;
  out.answer = Answer::culprit;
  out.detector = "fast10";
  out.servers = {"s1", "s2", "s3"};
  out.from_ns = begin_ns + 100'000'000;
  out.until_ns = begin_ns + 120'100'000'000;
  out.interval_ns = 100'000'000;
  out.origin = "recorded";
  Accusation culprit;
  culprit.server = "s3";
  culprit.resource = "disk";
  culprit.cause = "disk-hog";
  culprit.onset_from_ns = begin_ns + 55'000'000'000;
  culprit.onset_until_ns = begin_ns + 61'400'000'000;
  culprit.known_ns = begin_ns + 67'800'000'000;
  Evidence reads{"rd_sec", "sectors/s", true, 12345.678, 3.14159, 5, 8.25};
  Evidence util{"util", "%", false, 99, 35, 36, 38};
  Evidence gone{"await", "ms", true, std::nan(""), 0, 0, 0};
  culprit.evidence = {reads, util, gone};
  out.culprits = {culprit};
  return out;
}

TEST(Judge, TimesAreSecondsFromTheRunsBeginning) {
  const Row row = judge("monday", attempt(), verdict(attempt().begin_ns), {{"k", 4}});
  EXPECT_EQ(row.campaign, "monday");
  EXPECT_EQ(row.servers, 3);
  EXPECT_DOUBLE_EQ(row.seconds, 120);
  EXPECT_DOUBLE_EQ(row.on_s.value(), 60);  // to milliseconds
  EXPECT_DOUBLE_EQ(row.off_s.value(), 90);
  EXPECT_EQ(row.answer, "culprit");
  ASSERT_EQ(row.accused.size(), 1u);
  EXPECT_DOUBLE_EQ(row.accused[0].onset_until_s, 61.4);
  EXPECT_DOUBLE_EQ(row.accused[0].known_s, 67.8);
  EXPECT_FALSE(row.accused[0].end_s);
  EXPECT_EQ(flags(row), "ITP DTP ");
  EXPECT_DOUBLE_EQ(row.latency_s.value(), 7.8);
  EXPECT_EQ(method_of(row), "fast10 k=4");
}

// A killed daemon's end is in its log before the injector has looked whether it is gone.
TEST(Judge, AFaultMayBeFeltFromItsBeginningOn) {
  Attempt crash = attempt();
  crash.experiment.fault = "crash";
  crash.begun_ns = crash.on_ns - 20'000'000;
  Verdict said = verdict(crash.begin_ns);
  said.culprits[0].cause = "crash";
  said.culprits[0].known_ns = crash.on_ns - 5'000'000;
  said.culprits[0].end_ns = crash.on_ns - 1'000'000;
  const Row row = judge("monday", crash, said, {});
  EXPECT_EQ(flags(row), "ITP DTP ");
  EXPECT_DOUBLE_EQ(row.latency_s.value(), 0.015);
  crash.begun_ns = 0;  // a journal of before
  EXPECT_EQ(flags(judge("monday", crash, said, {})), "IFP DFP ");
}

TEST(Judge, EvidenceIsWhatConvictedInFourDigits) {
  const Row row = judge("monday", attempt(), verdict(attempt().begin_ns), {});
  ASSERT_EQ(row.accused[0].evidence.size(), 1u);
  EXPECT_EQ(row.accused[0].evidence[0].metric, "rd_sec");
  EXPECT_DOUBLE_EQ(row.accused[0].evidence[0].value, 12350);
  EXPECT_DOUBLE_EQ(row.accused[0].evidence[0].peers_low, 3.142);
  EXPECT_EQ(row.measured, (std::map<std::string, double>{{"idle_low", 41.23}}));
}

TEST(Judge, WhatItMakesCanBeReadAgain) {
  const Row row = judge("monday", attempt(), verdict(attempt().begin_ns), {{"factor", 1.5}});
  const Result<Row> again = parse_row(format_row(row));
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(format_row(*again), format_row(row));
}

}  // namespace
}  // namespace culprit
