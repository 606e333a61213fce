// hotdep09_hang: its rules, and where it could be misled: a hang that somebody ended, one that was there from the
// beginning, servers of which nothing is known, harmless errors of one server beside the telling ones of another,
// helpers of daemons.
#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "analyse/detector.h"
#include "analyse/test_calls.h"

namespace culprit {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

Verdict judged(const CallData& data, const std::map<std::string, double>& parameters = {}) {
  const DetectorInfo& detector = *find_detector("hotdep09_hang").value();
  Parameters p(detector.parameters);
  EXPECT_TRUE(p.set_all(parameters));
  return detector.diagnose_calls(data, nullptr, p).value();
}

TEST(Hang, AStoppedServerIsNamed) {
  TestCluster cluster = without_s2();
  cluster.server(2).event(CallKind::signal, SIGSTOP, 0, 20);
  cluster.client.call("write", kAppFd, 4096, 0, 20.04, -1);
  const Verdict verdict = judged(cluster.join());
  ASSERT_EQ(verdict.culprits.size(), 1u);
  const Accusation& s2 = verdict.culprits[0];
  EXPECT_EQ(s2.server, "s2");
  EXPECT_EQ(s2.resource, "process");
  EXPECT_EQ(s2.cause, "hang");
  EXPECT_EQ(s2.end_ns, 0);
  EXPECT_EQ(s2.onset_from_ns, cluster.servers[1].calls[79].end_ns());
  EXPECT_THAT(s2.facts, Contains(HasSubstr("completed no call for 40")));
  EXPECT_THAT(s2.facts, Contains(HasSubstr("SIGSTOP was delivered")));
  EXPECT_THAT(s2.facts, Contains(HasSubstr("got no answer")));
  EXPECT_THAT(s2.facts, Contains(HasSubstr("has not returned for 40.0 s")));
}

TEST(Hang, TheClientAloneTells) {
  TestCluster cluster = without_s2();
  cluster.client.call("write", kAppFd, 4096, -ENOTCONN, 20.04, 35);
  const CallData data = join_nodes({cluster.client.reduce()}, {});
  const Verdict verdict = judged(data);
  ASSERT_EQ(verdict.culprits.size(), 1u);
  EXPECT_EQ(verdict.culprits[0].server, "s2");
  EXPECT_EQ(verdict.culprits[0].cause, "hang");
}

TEST(Hang, TheTimeoutIsAParameter) {
  TestCluster cluster = without_s2();
  cluster.client.call("write", kAppFd, 4096, 0, 20.04, -1);
  const CallData data = cluster.join();
  EXPECT_EQ(judged(data).answer, Answer::culprit);
  EXPECT_EQ(judged(data, {{"timeout", 50}}).answer, Answer::healthy);
}

TEST(Hang, AnIdleServerIsNotHung) {
  TestCluster cluster(4);
  for (int second = 0; second < 60; ++second) {
    for (int i = 1; i <= 3; ++i) serve(cluster.server(i), second);
    if (second < 10) serve(cluster.server(4), second);
    use(cluster.client, 3, second);  // nobody asks s4
  }
  const Verdict verdict = judged(cluster.join());
  EXPECT_EQ(verdict.answer, Answer::healthy);
  EXPECT_THAT(verdict.notes, Contains(HasSubstr("no client waited for it")));
}

TEST(Hang, IfEverybodyIsSilentNobodyIsNamed) {
  TestCluster cluster(4);
  cluster.work(0, 10);
  cluster.client.call("write", kAppFd, 4096, 0, 10.5, -1);
  const Verdict verdict = judged(cluster.join());
  EXPECT_EQ(verdict.answer, Answer::undecided);
  EXPECT_THAT(verdict.reason, HasSubstr("no server can be told"));
}

TEST(Crash, ADaemonThatEndsAloneHasCrashed) {
  for (int status : {SIGKILL, SIGSEGV, 1 << 8, 0}) {
    TestCluster cluster = without_s2();
    cluster.server(2).event(CallKind::exit, 1, status, 20);
    const Verdict verdict = judged(cluster.join());
    ASSERT_EQ(verdict.culprits.size(), 1u) << status;
    EXPECT_EQ(verdict.culprits[0].server, "s2");
    EXPECT_EQ(verdict.culprits[0].cause, "crash") << status;
    EXPECT_EQ(verdict.culprits[0].known_ns, test_ns(20));
  }
}

TEST(Crash, WhatTheApplicationSawIsAFact) {
  TestCluster cluster = without_s2();
  cluster.server(2).event(CallKind::exit, 1, SIGKILL, 20);
  cluster.client.process = kApp;
  cluster.client.fails("openat", "/mnt/f", ENOTCONN, 20.2);
  EXPECT_THAT(judged(cluster.join()).culprits.at(0).facts, Contains(HasSubstr("c1's openat on /mnt/f got ENOTCONN")));
}

TEST(Crash, AllDaemonsTogetherAreAStop) {
  TestCluster cluster(4);
  cluster.work(0, 55);
  for (int i = 1; i <= 4; ++i) cluster.server(i).event(CallKind::exit, 1, SIGTERM, 55 + i);
  const Verdict verdict = judged(cluster.join());
  EXPECT_EQ(verdict.answer, Answer::healthy);
  EXPECT_THAT(verdict.notes, Contains(HasSubstr("that is a stop, not a crash")));
}

TEST(Crash, ARefusedConnectionConvictsAServerWithoutALog) {
  TestCluster cluster(4);
  cluster.work(0, 60);
  cluster.client.process = kFuseDaemon;
  cluster.client.call("connect", kFirstServerSocket + 3, 0, -ECONNREFUSED, 30, 0.001);
  std::vector<NodeCalls> nodes;
  for (int i : {1, 2, 4}) nodes.push_back(cluster.server(i).reduce());
  nodes.push_back(cluster.client.reduce());
  const Verdict verdict = judged(join_nodes(std::move(nodes), test_nodes(4)));
  ASSERT_EQ(verdict.culprits.size(), 1u);
  EXPECT_EQ(verdict.culprits[0].server, "s3");
  EXPECT_EQ(verdict.culprits[0].cause, "crash");
  EXPECT_THAT(verdict.culprits[0].facts.at(0), HasSubstr("ECONNREFUSED"));
}

TEST(Hang, SumsDoNotTellWhatWasLast) {
  TestCluster cluster(4);
  for (TestLog& log : cluster.servers) log.header.sums = true;
  EXPECT_THAT(judged(cluster.join()).reason, HasSubstr("holds sums"));
}

// ---- where it could be misled ----

TEST(Hang, AKillThatEndsItDoesNotMakeItACrash) {
  TestCluster cluster = without_s2();
  cluster.server(2).event(CallKind::signal, SIGSTOP, 0, 20);
  cluster.server(2).event(CallKind::exit, 1, SIGKILL, 55);
  const int64_t last_ns = cluster.servers[1].calls[79].end_ns();
  const Verdict verdict = judged(cluster.join());
  ASSERT_EQ(verdict.culprits.size(), 1u);
  const Accusation& s2 = verdict.culprits[0];
  EXPECT_EQ(s2.server, "s2");
  EXPECT_EQ(s2.cause, "hang");
  EXPECT_EQ(s2.onset_from_ns, last_ns);
  EXPECT_EQ(s2.known_ns, last_ns + 30 * kNsPerSecond);
  EXPECT_EQ(s2.end_ns, 0);
  EXPECT_THAT(s2.facts, Contains(HasSubstr("was killed by SIGKILL")));
}

TEST(Crash, ACallThatBeganLongBeforeDoesNotMakeItAHang) {
  TestCluster cluster = without_s2();
  cluster.server(2).event(CallKind::exit, 1, SIGKILL, 20);
  cluster.client.call("write", kAppFd, 4096, 0, 10, -1);
  const Verdict verdict = judged(cluster.join());
  ASSERT_EQ(verdict.culprits.size(), 1u);
  EXPECT_EQ(verdict.culprits[0].cause, "crash");
  EXPECT_EQ(verdict.culprits[0].onset_from_ns, test_ns(20));
  EXPECT_EQ(verdict.culprits[0].known_ns, test_ns(20));
}

TEST(Hang, WhatHangsFromTheBeginningIsNamed) {
  TestCluster cluster = without_s2(0);
  cluster.server(2).call("fsync", kStorageFd, 0, 0, 0.5, -1);
  const Verdict verdict = judged(cluster.join());
  ASSERT_EQ(verdict.culprits.size(), 1u);
  EXPECT_EQ(verdict.culprits[0].server, "s2");
  EXPECT_EQ(verdict.culprits[0].cause, "hang");
  EXPECT_EQ(verdict.culprits[0].onset_from_ns, test_ns(0.5));
}

TEST(Hang, AServerWithoutACallIsNotHealthy) {
  TestCluster cluster(4);
  cluster.work(0, 60).server(2).calls.clear();
  const Verdict verdict = judged(cluster.join());
  EXPECT_EQ(verdict.answer, Answer::undecided);
  EXPECT_THAT(verdict.reason, HasSubstr("no system call of s2 was seen: its daemons did not run, or hang"));
}

TEST(Hang, AServerOfWhichNobodyKnowsWhoServesIsNotHealthy) {
  TestCluster cluster(4);
  cluster.work(0, 60).server(3).fds.clear();
  const Verdict verdict = judged(cluster.join());
  EXPECT_EQ(verdict.answer, Answer::undecided);
  EXPECT_THAT(verdict.reason, AllOf(HasSubstr("no process of s3"), HasSubstr("storage"), HasSubstr("data_ports")));
}

TEST(Hang, WithTooFewPeersAtWorkNobodyIsHealthy) {
  TestCluster cluster(4);
  cluster.work(0, 20);
  for (int second = 20; second < 60; ++second) serve(cluster.server(1), second);  // the others are silent
  std::vector<NodeCalls> nodes;
  for (const TestLog& log : cluster.servers) nodes.push_back(log.reduce());
  const Verdict verdict = judged(join_nodes(std::move(nodes), test_nodes(4, 0)));
  EXPECT_EQ(verdict.answer, Answer::undecided);
  EXPECT_THAT(verdict.reason, HasSubstr("on s2 s3 s4 a daemon completed no call"));
}

// Clients of which only the applications were traced cannot say for whom they wait.
TEST(Hang, AClientWithoutConnectionsDoesNotAcquit) {
  TestCluster cluster = without_s2();
  std::erase_if(cluster.client.fds, [](const FdRecord& fd) { return fd.process == kFuseDaemon; });
  std::erase_if(cluster.client.calls, [](const Call& call) { return call.process == kFuseDaemon; });
  const Verdict verdict = judged(cluster.join());
  ASSERT_EQ(verdict.culprits.size(), 1u);
  EXPECT_EQ(verdict.culprits[0].server, "s2");
}

// Every server has a second daemon without work; s2's first one hangs.
TEST(Hang, IdleDaemonsBesideThoseAtWorkHideNothingAndAccuseNobody) {
  TestCluster cluster = without_s2();
  TestCluster healthy(4);
  healthy.work(0, 60);
  for (TestCluster* each : {&cluster, &healthy})
    for (TestLog& log : each->servers) {
      log.process = 555;
      log.fd(kStorageFd, FdKind::file, FdClass::storage, "/brick2/f");
      log.call("pread64", kStorageFd, 4096, 4096, 0.1, 0.001);
    }
  const Verdict verdict = judged(cluster.join());
  ASSERT_EQ(verdict.culprits.size(), 1u);
  EXPECT_EQ(verdict.culprits[0].server, "s2");
  EXPECT_EQ(judged(healthy.join()).answer, Answer::healthy);
  std::vector<NodeCalls> nodes;
  for (const TestLog& log : healthy.servers) nodes.push_back(log.reduce());
  EXPECT_EQ(judged(join_nodes(std::move(nodes), test_nodes(4, 0))).answer, Answer::undecided)
      << "without clients nobody knows whether somebody waits for it";
}

TEST(Crash, HalfOfTheServersTogetherAreNoStopAndNotHealthy) {
  for (int status : {SIGSEGV, SIGTERM}) {
    TestCluster all(4);
    all.work(0, 55);
    for (int i = 1; i <= 4; ++i) all.server(i).event(CallKind::exit, 1, status == SIGSEGV ? SIGSEGV : 1 << 8, 55 + i);
    EXPECT_EQ(judged(all.join()).answer, Answer::undecided) << status;
    TestCluster cluster(4);
    cluster.work(0, 60);
    for (int i : {2, 3}) cluster.server(i).event(CallKind::exit, 1, status, 59 + i * 0.1);
    const Verdict verdict = judged(cluster.join());
    EXPECT_EQ(verdict.answer, Answer::undecided) << status;
    EXPECT_THAT(verdict.reason, HasSubstr("daemons of 2 of 4 servers ended")) << status;
  }
}

TEST(Crash, ServersThatAllRefuseAreNotHealthy) {
  TestCluster cluster(4);
  cluster.work(0, 60);
  cluster.client.process = kFuseDaemon;
  for (int i : {1, 3}) cluster.client.call("connect", kFirstServerSocket + i, 0, -ECONNREFUSED, 30, 0.001);
  const Verdict verdict = judged(cluster.join());
  EXPECT_EQ(verdict.answer, Answer::undecided);
  EXPECT_THAT(verdict.reason, HasSubstr("refused by s1 s3"));
}

// A data server that sleeps beside metadata servers has no peers.
TEST(Hang, MetadataServersAreNoPeersAndNotAccused) {
  TestCluster cluster(4);
  cluster.work(0, 10);
  std::vector<NodeCalls> nodes;
  for (int second = 10; second < 60; ++second)
    for (int i : {3, 4}) serve(cluster.server(i), second);
  for (const TestLog& log : cluster.servers) nodes.push_back(log.reduce());
  CallData data = join_nodes(std::move(nodes), test_nodes(4, 0));
  data.servers[2].does_io = data.servers[3].does_io = false;
  EXPECT_EQ(judged(data).answer, Answer::undecided);
  for (NodeCalls& server : data.servers) server.does_io = !server.does_io;
  EXPECT_EQ(judged(data).answer, Answer::healthy) << "two metadata servers are idle";
}

// The second daemon of a peer was stopped later; the first one worked all the time.
TEST(Hang, ADaemonThatEndedLaterDoesNotHideThatItsServerWorked) {
  TestCluster cluster = without_s2();
  for (int i : {3, 4}) {
    TestLog& log = cluster.server(i);
    log.process = 555;
    log.fd(kStorageFd, FdKind::file, FdClass::storage, "/brick2/f");
    log.call("pread64", kStorageFd, 4096, 4096, 0.1, 0.001);
    log.event(CallKind::exit, 1, 0, 59.5);
  }
  const Verdict verdict = judged(cluster.join());
  ASSERT_FALSE(verdict.culprits.empty());
  EXPECT_EQ(verdict.culprits[0].server, "s2");
  EXPECT_EQ(verdict.culprits[0].cause, "hang");
}

// A metadata server that was not captured, because its daemon is no data daemon.
TEST(Hang, AServerWithoutDataNeedsNoCalls) {
  TestCluster cluster(4);
  cluster.work(0, 60).server(4).calls.clear();
  CallData data = cluster.join();
  data.servers[3].does_io = false;
  const Verdict verdict = judged(data);
  EXPECT_EQ(verdict.answer, Answer::healthy) << verdict.reason;
  ASSERT_EQ(verdict.not_judged.size(), 1u);
  EXPECT_EQ(verdict.not_judged[0].server, "s4");
}

// Half of the servers said something, but only one of them refused.
TEST(Crash, AClosedConnectionOfAnotherServerDoesNotAcquit) {
  TestCluster cluster(4);
  cluster.work(0, 60);
  cluster.client.process = kFuseDaemon;
  cluster.client.call("connect", kFirstServerSocket + 3, 0, -ECONNREFUSED, 30, 0.001);
  cluster.client.call("read", kFirstServerSocket + 1, 100, 0, 31, 0.001);
  cluster.client.call("write", kFirstServerSocket + 2, 100, -ENOTCONN, 32, 0.001);
  std::vector<NodeCalls> nodes;
  for (int i : {1, 2, 4}) nodes.push_back(cluster.server(i).reduce());
  nodes.push_back(cluster.client.reduce());
  const Verdict verdict = judged(join_nodes(std::move(nodes), test_nodes(4)));
  ASSERT_EQ(verdict.culprits.size(), 1u);
  EXPECT_EQ(verdict.culprits[0].server, "s3");
  EXPECT_EQ(verdict.culprits[0].cause, "crash");
}

// A helper of a daemon has its descriptors for a moment; its end is nobody's.
TEST(Crash, AHelperThatEndsIsNoDaemon) {
  TestCluster cluster(4);
  cluster.work(0, 60);
  TestLog& s2 = cluster.server(2);
  s2.process = 555;
  s2.fd(kStorageFd, FdKind::file, FdClass::storage, "/brick/f");
  s2.call("set_robust_list", 0, 0, 0, 30, 0.001);
  s2.call("close", kStorageFd, 0, 0, 30.1, 0.001);
  s2.event(CallKind::exit, 1, 0, 30.2);
  EXPECT_EQ(judged(cluster.join()).answer, Answer::healthy);
}

}  // namespace
}  // namespace culprit
