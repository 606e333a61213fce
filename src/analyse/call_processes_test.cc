// What becomes of a server's processes in NodeCalls: who serves, who was silent, and how they ended.
#include <errno.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "analyse/test_calls.h"

namespace culprit {
namespace {

TEST(Processes, EndsSignalsAndSilencesAreKept) {
  TestLog log = test_log("s1", 3, 60);
  serve(log, 1);
  serve(log, 20);
  log.event(CallKind::signal, SIGABRT, 0, 21);
  log.event(CallKind::exit, 1, SIGABRT, 21.1);
  const NodeCalls node = log.reduce();
  ASSERT_EQ(node.gaps.size(), 1u);  // not from its death on
  EXPECT_EQ(node.gaps[0].process, kBrick);
  EXPECT_EQ(node.gaps[0].from_ns, test_ns(1.502));
  ASSERT_EQ(node.ends.size(), 1u);
  EXPECT_EQ(node.ends[0].status, SIGABRT);
  EXPECT_TRUE(node.ends[0].serving);
  ASSERT_EQ(node.signals.size(), 1u);
}

TEST(Processes, WhatCompletesNothingIsSilentFromItsFirstCallOn) {
  TestLog log = test_log("s1", 3, 60);
  log.call("fsync", kStorageFd, 0, 0, 2, -1);
  log.call("read", kClientSocket, 100, 0, 0.5, -1);
  const NodeCalls node = log.reduce();
  ASSERT_EQ(node.gaps.size(), 1u);
  EXPECT_EQ(node.gaps[0].from_ns, test_ns(0.5));
  EXPECT_EQ(node.gaps[0].until_ns, test_ns(60));
}

TEST(Processes, WhatCompletesItsFirstCallLateWasSilentFromTheBeginning) {
  TestLog log = test_log("s1", 3, 60);
  for (int second = 50; second < 60; ++second) serve(log, second);
  const NodeCalls node = log.reduce();
  ASSERT_EQ(node.gaps.size(), 1u);
  EXPECT_EQ(node.gaps[0].from_ns, test_ns(0));
  ReduceOptions options;
  options.since_ns = test_ns(30);
  EXPECT_EQ(log.reduce(options).gaps.at(0).from_ns, test_ns(30));
}

// A service that was started again and joined the capture.
TEST(Processes, WhoComesAfterAnotherHasPerhapsJustBegun) {
  TestLog log = test_log("s1", 3, 60);
  for (int second = 0; second < 30; ++second) serve(log, second);
  log.event(CallKind::exit, 1, SIGTERM, 30);
  log.process = 555;
  log.fd(kStorageFd, FdKind::file, FdClass::storage, "/brick/f");
  for (int second = 32; second < 60; ++second) log.call("pread64", kStorageFd, 4096, 4096, second, 0.001);
  const NodeCalls node = log.reduce();
  EXPECT_TRUE(node.gaps.empty());
  EXPECT_EQ(node.serving, 1u);
}

TEST(Processes, HelpersThatEndLeaveRoomForTheDaemon) {
  TestLog log = test_log("s1", 3, 60);
  for (int i = 0; i < 5000; ++i) {
    log.process = 1000 + i;
    log.event(CallKind::exit, 1, 0, 1 + i * 0.001);
  }
  log.process = kBrick;
  log.event(CallKind::exit, 1, SIGSEGV, 30);
  const NodeCalls node = log.reduce();
  EXPECT_EQ(node.ends.back().status, SIGSEGV);
  EXPECT_LE(node.ends.size(), 4096u);
}

TEST(Processes, AKillEndsASilence) {
  TestLog log = test_log("s1", 3, 60);
  serve(log, 1);
  log.event(CallKind::exit, 1, SIGKILL, 20);
  log.call("read", kClientSocket, 100, 0, 10, -1);  // of a thread whose last word comes after the end
  const NodeCalls node = log.reduce();
  ASSERT_EQ(node.gaps.size(), 1u);
  EXPECT_EQ(node.gaps[0].from_ns, test_ns(1.502));
  EXPECT_EQ(node.gaps[0].until_ns, test_ns(20));
}

TEST(Processes, WhoWasThereServesByWhatItHas) {
  TestLog log = test_log("s1", 3, 60);
  log.event(CallKind::exit, 1, SIGKILL, 20);  // it was idle all the time
  const NodeCalls node = log.reduce();
  ASSERT_EQ(node.ends.size(), 1u);
  EXPECT_TRUE(node.ends[0].there);
  EXPECT_TRUE(node.ends[0].serving);
}

TEST(Processes, WhoBeganDuringTheCaptureServesByWhatItDoes) {
  struct Row {
    const char* call;
    int64_t result;
    bool execs;
    bool serving;
  };
  for (const Row& row : {Row{"close", 0, false, false}, Row{"pwrite64", 4096, false, true},
                         Row{"pwrite64", -EIO, false, false}, Row{"pwrite64", 4096, true, false}}) {
    TestLog log = test_log("s1", 3, 60);
    log.process = 555;
    log.fd(kStorageFd, FdKind::file, FdClass::storage, "/brick/f");
    log.call("set_robust_list", 0, 0, 0, 20, 0.001);
    log.call(row.call, kStorageFd, 4096, row.result, 20.1, 0.001);
    if (row.execs) log.call("execve", 0, 0, 0, 20.2, 0.001);
    log.event(CallKind::exit, 1, 0, 20.3);
    const NodeCalls node = log.reduce();
    ASSERT_EQ(node.ends.size(), 1u);
    EXPECT_FALSE(node.ends[0].there) << row.call;
    EXPECT_EQ(node.ends[0].serving, row.serving) << row.call;
  }
}

TEST(Processes, ANewThreadIsNoNewProcess) {
  TestLog log = test_log("s1", 3, 60);
  log.call("set_robust_list", 0, 0, 0, 20, 0.001).thread = kBrick + 1;
  log.event(CallKind::exit, 1, SIGKILL, 21);
  EXPECT_TRUE(log.reduce().ends.at(0).serving);
}

}  // namespace
}  // namespace culprit
