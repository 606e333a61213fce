// The detectors of HotDep'09 on made-up clusters whose fault is known: every rule of docs/hotdep09.md once, and
// properties that hold for all of them. Crash and hang are in hotdep09_hang_test.cc.
#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "analyse/detector.h"
#include "analyse/test_calls.h"

namespace culprit {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const DetectorInfo& detector(const char* name) {
  return *find_detector(name).value();
}

Verdict judged(const char* name, const CallData& data, const Profile* profile,
               const std::map<std::string, double>& parameters = {}) {
  Parameters p(detector(name).parameters);
  EXPECT_TRUE(p.set_all(parameters));
  return detector(name).diagnose_calls(data, profile, p).value();
}

Profile trained(const char* name, const std::vector<CallData>& runs) {
  return detector(name).train_calls(runs, Parameters(detector(name).parameters)).value();
}

CallData healthy(int servers = 4) {
  return TestCluster(servers).work(0, 60).join();
}

// ---- statistical ----

CallData slow_disk(int victim, int from = 20, int until = 50) {
  TestCluster cluster(4);
  cluster.work(0, from).work(from, until, victim, 10).work(until, 60);
  return cluster.join();
}

TEST(Statistical, ASlowDiskIsNamed) {
  const Profile profile = trained("hotdep09_statistical", {healthy(), healthy()});
  EXPECT_EQ(judged("hotdep09_statistical", healthy(), &profile).answer, Answer::healthy);
  const Verdict verdict = judged("hotdep09_statistical", slow_disk(3), &profile);
  ASSERT_EQ(verdict.culprits.size(), 1u);
  const Accusation& s3 = verdict.culprits[0];
  EXPECT_EQ(s3.server, "s3");
  EXPECT_EQ(s3.resource, "disk");
  EXPECT_EQ(s3.cause, "disk-slow");
  EXPECT_EQ(s3.onset_from_ns, test_ns(20));
  EXPECT_EQ(s3.known_ns, test_ns(25));  // five seconds
  ASSERT_EQ(s3.evidence.size(), 2u);    // reads and writes
  EXPECT_EQ(s3.evidence[0].windows, 30);
  EXPECT_EQ(s3.evidence[0].peers, 3);
  EXPECT_GT(s3.evidence[0].value, 5 * s3.evidence[0].peers_high);
}

TEST(Statistical, AFewBadSecondsAreNothing) {
  const Profile profile = trained("hotdep09_statistical", {healthy()});
  EXPECT_EQ(judged("hotdep09_statistical", slow_disk(3, 20, 24), &profile).answer, Answer::healthy);
  EXPECT_EQ(judged("hotdep09_statistical", slow_disk(3, 20, 24), &profile, {{"seconds", 4}}).answer, Answer::culprit);
}

TEST(Statistical, ASlowNetworkIsNoSlowDisk) {
  const Profile profile = trained("hotdep09_statistical", {healthy()});
  TestCluster cluster(4);
  for (int second = 0; second < 60; ++second) {
    for (int i = 1; i <= 4; ++i) serve(cluster.server(i), second, 2, i == 2 && second >= 30 ? 50 : 1);
    use(cluster.client, 4, second);
  }
  const Verdict verdict = judged("hotdep09_statistical", cluster.join(), &profile);
  ASSERT_EQ(verdict.culprits.size(), 1u);
  EXPECT_EQ(verdict.culprits[0].server, "s2");
  EXPECT_EQ(verdict.culprits[0].cause, "network-slow");
  EXPECT_EQ(verdict.culprits[0].evidence[0].metric, "nsread");
}

TEST(Statistical, ASaturatedServerIsLearnedAndDoesNotStandForTheOthers) {
  const CallData saturated = TestCluster(4).work(0, 60, 4, 3).join();
  const Profile profile = trained("hotdep09_statistical", {saturated});
  EXPECT_EQ(profile.thresholds.at("dwrite").at("s4").at("saturated"), 1);
  EXPECT_EQ(profile.thresholds.at("dwrite").at("s1").at("saturated"), 0);
  EXPECT_EQ(judged("hotdep09_statistical", saturated, &profile).answer, Answer::healthy);
  const CallData faulty = TestCluster(4).work(0, 20, 4, 3).work(20, 60, 4, 20).join();
  EXPECT_EQ(judged("hotdep09_statistical", faulty, &profile).culprits.at(0).server, "s4");
}

TEST(Statistical, WithoutAProfileOrPeersItIsUndecided) {
  EXPECT_EQ(judged("hotdep09_statistical", healthy(), nullptr).reason, "no profile");
  const Profile profile = trained("hotdep09_statistical", {healthy()});
  EXPECT_EQ(judged("hotdep09_statistical", healthy(2), &profile).answer, Answer::undecided);
  EXPECT_FALSE(
      detector("hotdep09_statistical")
          .train_calls(std::vector<CallData>{healthy(2)}, Parameters(detector("hotdep09_statistical").parameters)));
}

TEST(Statistical, NothingToCompareIsUndecided) {
  const Profile profile = trained("hotdep09_statistical", {healthy()});
  EXPECT_EQ(judged("hotdep09_statistical", TestCluster(4).join(), &profile).answer, Answer::undecided);
}

TEST(Statistical, ADamagedProfileIsRefused) {
  Profile profile = trained("hotdep09_statistical", {healthy()});
  profile.thresholds["dread"]["s1"].clear();
  const Parameters p(detector("hotdep09_statistical").parameters);
  EXPECT_FALSE(detector("hotdep09_statistical").diagnose_calls(healthy(), &profile, p));
}

// ---- errors ----

// s2 runs out of something between seconds 20 and 40.
TestCluster failing(int error, const char* call = "openat") {
  TestCluster cluster(4);
  cluster.work(0, 60);
  for (int second = 20; second < 40; ++second) cluster.server(2).fails(call, "/brick/dir/file", error, second);
  return cluster;
}

Profile expected() {
  TestCluster cluster(4);
  cluster.work(0, 60);
  for (int i = 1; i <= 4; ++i) cluster.server(i).fails("openat", "/brick/x", EPERM, 5);
  return trained("hotdep09_errors", {cluster.join()});
}

TEST(Errors, TheSameErrnoAtAClientIsPropagated) {
  TestCluster cluster = failing(EMFILE);
  cluster.client.fails("openat", "/mnt/other", EMFILE, 21.5);
  const Profile profile = expected();
  const Verdict verdict = judged("hotdep09_errors", cluster.join(), &profile);
  ASSERT_EQ(verdict.culprits.size(), 1u);
  const Accusation& s2 = verdict.culprits[0];
  EXPECT_EQ(s2.server, "s2");
  EXPECT_EQ(s2.resource, "descriptors");
  EXPECT_EQ(s2.cause, "propagated-error");
  EXPECT_THAT(s2.facts.at(0), HasSubstr("openat failed 20 times with EMFILE there"));
  EXPECT_THAT(s2.facts.at(0), HasSubstr("/brick/dir/file"));
  EXPECT_THAT(s2.facts.at(0), HasSubstr("c1's openat on /mnt/other got EMFILE, too,"));
  EXPECT_EQ(s2.onset_from_ns, test_ns(20.001));
  EXPECT_EQ(s2.end_ns, test_ns(39.001));
}

TEST(Errors, OutsideTheWindowItIsSilent) {
  TestCluster cluster = failing(EMFILE);
  cluster.client.fails("openat", "/mnt/other", EMFILE, 43);
  const Profile profile = expected();
  const CallData data = cluster.join();
  const Verdict verdict = judged("hotdep09_errors", data, &profile);
  ASSERT_EQ(verdict.culprits.size(), 1u);
  EXPECT_EQ(verdict.culprits[0].cause, "silent-error");
  EXPECT_EQ(verdict.culprits[0].known_ns, test_ns(23.001));
  EXPECT_THAT(verdict.culprits[0].facts.at(0), HasSubstr("data may be lost"));
  EXPECT_EQ(judged("hotdep09_errors", data, &profile, {{"window", 5}}).culprits.at(0).cause, "propagated-error");
}

TEST(Errors, AnotherErrnoOnTheSameFileIsTheServersErrorInDisguise) {
  const Profile profile = expected();
  TestCluster cluster = failing(EROFS);
  cluster.client.fails("unlink", "/mnt/dir/file", EIO, 22);
  const Verdict verdict = judged("hotdep09_errors", cluster.join(), &profile);
  EXPECT_EQ(verdict.culprits.at(0).cause, "propagated-error");
  EXPECT_THAT(verdict.culprits[0].facts.at(0), HasSubstr("got EIO at"));
}

// Chunks and handles are not called as applications call their files.
TEST(Errors, AnotherErrnoOnAnotherFileIsWhenItIsNearAndUnexpected) {
  const Profile profile = expected();
  TestCluster elsewhere = failing(EROFS);
  elsewhere.client.fails("unlink", "/mnt/dir/other", EIO, 22);
  const Verdict verdict = judged("hotdep09_errors", elsewhere.join(), &profile);
  EXPECT_EQ(verdict.culprits.at(0).cause, "propagated-error");
  EXPECT_THAT(verdict.culprits[0].facts.at(0), HasSubstr("got EIO at"));
  EXPECT_THAT(verdict.culprits[0].facts.at(0), HasSubstr("whatever the file"));
  TestCluster late = failing(EROFS);
  late.client.fails("unlink", "/mnt/dir/other", EIO, 44);
  EXPECT_EQ(judged("hotdep09_errors", late.join(), &profile).culprits.at(0).cause, "silent-error");
  TestCluster answer = failing(EROFS);
  answer.client.fails("unlink", "/mnt/dir/other", ENOENT, 22);
  EXPECT_EQ(judged("hotdep09_errors", answer.join(), &profile).culprits.at(0).cause, "silent-error");
}

TEST(Errors, ProgramsGetCallErrnoCountAndPaths) {
  const Profile profile = expected();
  TestCluster cluster(4);
  cluster.work(0, 60);
  for (int i = 0; i < 9; ++i) cluster.server(2).fails("openat", "/brick/f" + std::to_string(i % 5), EMFILE, 20 + i);
  const Accusation s2 = judged("hotdep09_errors", cluster.join(), &profile).culprits.at(0);
  ASSERT_EQ(s2.failed_calls.size(), 1u);
  EXPECT_EQ(s2.failed_calls[0].call, "openat");
  EXPECT_EQ(s2.failed_calls[0].error, "EMFILE");
  EXPECT_EQ(s2.failed_calls[0].count, 9u);
  EXPECT_EQ(s2.failed_calls[0].paths.size(), 5u);
  EXPECT_THAT(s2.facts.at(0), HasSubstr("/brick/f0, /brick/f1, /brick/f2 and at least 2 more"));
}

TEST(Errors, WithoutApplicationsNobodyKnowsWhetherOneWasTold) {
  const Profile profile = expected();
  TestCluster cluster = failing(EROFS);
  std::erase_if(cluster.client.calls, [](const Call& call) { return call.process == kApp; });
  const Verdict verdict = judged("hotdep09_errors", cluster.join(), &profile);
  EXPECT_THAT(verdict.culprits.at(0).facts.at(0), HasSubstr("nobody knows whether one was told"));
  EXPECT_THAT(verdict.culprits[0].facts.at(0), Not(HasSubstr("data may be lost")));
  ASSERT_EQ(verdict.not_judged.size(), 1u);
}

TEST(Errors, ACrashInSumsIsNotHealthy) {
  const Profile profile = expected();
  TestCluster cluster(4);
  cluster.work(0, 60);
  for (TestLog& log : cluster.servers) log.header.sums = true;
  EXPECT_EQ(judged("hotdep09_errors", cluster.join(), &profile).answer, Answer::healthy);
  const size_t before = cluster.server(2).calls.size();
  for (int status : {SIGKILL, SIGTERM, 15 << 8}) {
    cluster.server(2).calls.resize(before);
    cluster.server(2).fds.clear();  // sums come without
    cluster.server(2).event(CallKind::exit, 1, status, 30);
    EXPECT_EQ(judged("hotdep09_errors", cluster.join(), &profile).answer, Answer::undecided) << status;
  }
}

// What only this server gets may be what only this server was watched for.
TEST(Errors, ServersWithoutALogAreNoPeers) {
  TestCluster cluster = failing(EPERM, "chmod");
  for (int logged : {1, 2}) {
    std::vector<NodeCalls> nodes;
    for (int i = 2; i < 2 + logged; ++i) nodes.push_back(cluster.server(i).reduce());
    const Verdict verdict = judged("hotdep09_errors", join_nodes(std::move(nodes), test_nodes(5, 0)), nullptr);
    EXPECT_EQ(verdict.answer, Answer::undecided) << logged;
  }
  CallData data = cluster.join();
  EXPECT_EQ(judged("hotdep09_errors", data, nullptr).culprits.at(0).server, "s2");
  data.servers[1].does_io = false;  // a metadata server does what no other does
  EXPECT_NE(judged("hotdep09_errors", data, nullptr).answer, Answer::culprit);
}

TEST(Errors, CompletionsThatNobodySawAreNotHealthy) {
  const Profile profile = expected();
  TestCluster cluster(4);
  cluster.work(0, 60);
  cluster.server(3).end->unseen = 1;
  EXPECT_EQ(judged("hotdep09_errors", cluster.join(), &profile).answer, Answer::healthy);
  cluster.server(3).end->unseen = 100;
  EXPECT_THAT(judged("hotdep09_errors", cluster.join(), &profile).reason, HasSubstr("100 completions of AIO"));
}

TEST(Errors, AStallOnTheSameFileIs) {
  const Profile profile = expected();
  TestCluster cluster(4);
  cluster.work(0, 60);
  cluster.server(2).call("pwrite64", kStorageFd, 4096, -ENOSPC, 20, 0.001);  // /brick/f
  cluster.client.call("write", kAppFd, 4096, 4096, 19, 15);                  // /mnt/f
  const Verdict verdict = judged("hotdep09_errors", cluster.join(), &profile);
  EXPECT_EQ(verdict.culprits.at(0).cause, "propagated-error");
  EXPECT_EQ(verdict.culprits.at(0).resource, "disk");
  EXPECT_THAT(verdict.culprits[0].facts.at(0), HasSubstr("took 15.0 s meanwhile"));
}

TEST(Errors, WhatTrainingHasSeenIsDailyWork) {
  TestCluster cluster(4);
  cluster.work(0, 60);
  cluster.server(2).fails("openat", "/brick/x", EPERM, 20);
  const Profile profile = expected();
  EXPECT_EQ(judged("hotdep09_errors", cluster.join(), &profile).answer, Answer::healthy);
  cluster.server(2).fails("unlink", "/brick/x", EPERM, 21);  // another call
  EXPECT_EQ(judged("hotdep09_errors", cluster.join(), &profile).answer, Answer::culprit);
  EXPECT_EQ(judged("hotdep09_errors", cluster.join(), &profile, {{"errno_only", 1}}).answer, Answer::healthy);
}

TEST(Errors, NotNowIsNoFailure) {
  const Profile profile = expected();
  TestCluster cluster(4);
  cluster.work(0, 60);
  cluster.server(2).call("pwrite64", kStorageFd, 1, -EINTR, 20, 0);
  cluster.server(2).call("futex", 0, 0, -ETIMEDOUT, 20.1, 0);
  cluster.server(2).call("restart_syscall", 0, 0, -ETIMEDOUT, 20.15, 0);
  cluster.server(2).call("read", kStorageFd, 1, -512, 20.2, 0);
  cluster.server(2).call("io_uring_enter", 20, 0, -ETIME, 20.3, 0);
  Call& timeout = cluster.server(2).call("read", -1, 0, -ETIME, 20.4, 0);
  timeout.kind = CallKind::uring;
  timeout.number = 11;  // IORING_OP_TIMEOUT
  EXPECT_EQ(judged("hotdep09_errors", cluster.join(), &profile).answer, Answer::healthy);
}

TEST(Errors, OfSomeCallsAnErrnoIsAnAnswer) {
  const Profile profile = expected();
  TestCluster cluster(4);
  cluster.work(0, 60);
  cluster.server(2).call("lseek", kStorageFd, 0, -ENXIO, 20, 0);
  cluster.server(2).call("lseek", kStorageFd, 0, -EINVAL, 20.1, 0);
  cluster.server(2).fails("readlink", "/brick/x", EINVAL, 20.2);
  cluster.server(2).fails("readlinkat", "/brick/x", EINVAL, 20.3);
  EXPECT_EQ(judged("hotdep09_errors", cluster.join(), &profile).answer, Answer::healthy);
  cluster.server(2).call("pread64", kStorageFd, 1, -ENXIO, 21, 0);
  EXPECT_EQ(judged("hotdep09_errors", cluster.join(), &profile).culprits.at(0).resource, "disk");
}

TEST(Errors, AnswersAreNotedUnlessAskedFor) {
  const Profile profile = expected();
  const CallData data = failing(ENOENT, "unlink").join();
  const Verdict verdict = judged("hotdep09_errors", data, &profile);
  EXPECT_EQ(verdict.answer, Answer::healthy);
  EXPECT_THAT(verdict.notes, Contains(HasSubstr("unlink:ENOENT was seen 20 times on s2")));
  EXPECT_EQ(judged("hotdep09_errors", data, &profile, {{"answers", 1}}).culprits.at(0).server, "s2");
}

TEST(Errors, SocketsAreTheClientsDoingUnlessTheServerRanOut) {
  const Profile profile = expected();
  TestCluster cluster(4);
  cluster.work(0, 60);
  cluster.server(2).call("write", kClientSocket, 100, -EPIPE, 20, 0);
  EXPECT_EQ(judged("hotdep09_errors", cluster.join(), &profile).answer, Answer::healthy);
  cluster.server(2).call("accept4", kClientSocket, 0, -EMFILE, 21, 0);
  EXPECT_EQ(judged("hotdep09_errors", cluster.join(), &profile).culprits.at(0).server, "s2");
}

TEST(Errors, WhatHalfOfTheServersGetIsNobodysFault) {
  const Profile profile = expected();
  TestCluster cluster = failing(ENOSPC);
  cluster.server(3).fails("openat", "/brick/y", ENOSPC, 25);
  const Verdict verdict = judged("hotdep09_errors", cluster.join(), &profile);
  EXPECT_EQ(verdict.answer, Answer::undecided);
  EXPECT_THAT(verdict.notes, Contains(HasSubstr("openat:ENOSPC was seen 21 times on 2 of 4 servers")));
}

TEST(Errors, TwoPairsOfOneServerAreOneAccusation) {
  const Profile profile = expected();
  TestCluster cluster = failing(ENOSPC);
  cluster.server(2).fails("mkdir", "/brick/d", EROFS, 10);
  const Verdict verdict = judged("hotdep09_errors", cluster.join(), &profile);
  ASSERT_EQ(verdict.culprits.size(), 1u);
  EXPECT_EQ(verdict.culprits[0].facts.size(), 2u);
  EXPECT_EQ(verdict.culprits[0].onset_from_ns, test_ns(10.001));
}

TEST(Errors, WithoutAProfileTheMajorityTells) {
  TestCluster cluster = failing(EROFS);
  for (int i = 1; i <= 4; ++i) cluster.server(i).fails("openat", "/brick/x", EPERM, 5);
  const Verdict verdict = judged("hotdep09_errors", cluster.join(), nullptr);
  ASSERT_EQ(verdict.culprits.size(), 1u);
  EXPECT_EQ(verdict.culprits[0].server, "s2");
  EXPECT_THAT(verdict.notes, Contains(HasSubstr("no profile")));
  EXPECT_EQ(judged("hotdep09_errors", healthy(2), nullptr).answer, Answer::undecided);
}

TEST(Errors, ADeadDaemonIsAFactOrMakesItUndecided) {
  const Profile profile = expected();
  TestCluster cluster = failing(EFBIG);
  cluster.server(2).event(CallKind::exit, 1, SIGXFSZ, 59);
  EXPECT_THAT(judged("hotdep09_errors", cluster.join(), &profile).culprits.at(0).facts,
              Contains(HasSubstr("was killed by SIGXFSZ")));
  TestCluster silent(4);
  silent.work(0, 60).server(2).event(CallKind::exit, 1, SIGKILL, 59);
  const Verdict verdict = judged("hotdep09_errors", silent.join(), &profile);
  EXPECT_EQ(verdict.answer, Answer::undecided);
  EXPECT_THAT(verdict.reason, HasSubstr("hotdep09_hang"));
}

// ---- properties of every detector by system calls ----

std::vector<const DetectorInfo*> call_detectors() {
  std::vector<const DetectorInfo*> out;
  for (const DetectorInfo* each : analyse_detectors())
    if (each->reads_calls()) out.push_back(each);
  return out;
}

Verdict answer_of(const DetectorInfo& d, const CallData& data) {
  const Parameters p(d.parameters);
  if (!d.can_train()) return d.diagnose_calls(data, nullptr, p).value();
  const std::vector<CallData> runs = {healthy(), healthy()};
  const Profile profile = d.train_calls(runs, p).value();
  EXPECT_EQ(profile.detector, d.name);
  return d.diagnose_calls(data, &profile, p).value();
}

TEST(EveryCallDetector, HealthyPeersAreHealthy) {
  for (const DetectorInfo* d : call_detectors()) EXPECT_EQ(answer_of(*d, healthy()).answer, Answer::healthy) << d->name;
}

TEST(EveryCallDetector, NothingIsUndecided) {
  for (const DetectorInfo* d : call_detectors())
    EXPECT_EQ(answer_of(*d, CallData()).answer, Answer::undecided) << d->name;
}

TEST(EveryCallDetector, MissingAndLostDataNeverReadAsHealthy) {
  for (const DetectorInfo* d : call_detectors()) {
    CallData data = healthy();
    data.unlogged = {"s5"};
    EXPECT_EQ(answer_of(*d, data).answer, Answer::undecided) << d->name;
    data = healthy();
    data.servers[0].calls = 0;
    EXPECT_EQ(answer_of(*d, data).answer, Answer::undecided) << d->name;
    data = healthy();
    data.servers[1].lost = {0, 1000};
    EXPECT_EQ(answer_of(*d, data).answer, Answer::undecided) << d->name;
    data.servers[1].lost = {0, 1};
    data.servers[2].cut = true;
    const Verdict verdict = answer_of(*d, data);
    EXPECT_EQ(verdict.answer, Answer::healthy) << d->name;
    EXPECT_THAT(verdict.notes, Contains(HasSubstr("the capture on s2 lost 1 events")));
    EXPECT_THAT(verdict.notes, Contains(HasSubstr("the log of s3 has no end")));
  }
}

// The fault of each kind on s2; then the servers trade places and keep their names.
TEST(EveryCallDetector, PermutingTheServersPermutesTheVerdict) {
  TestCluster dead = without_s2();
  dead.server(2).event(CallKind::exit, 1, SIGKILL, 20);
  const CallData faults[] = {slow_disk(2), failing(EROFS).join(), dead.join()};
  for (const DetectorInfo* d : call_detectors()) {
    int accused = 0;
    for (const CallData& data : faults) {
      CallData permuted = data;
      std::swap(permuted.servers[0], permuted.servers[3]);
      std::swap(permuted.servers[1], permuted.servers[2]);
      const Verdict a = answer_of(*d, data);
      const Verdict b = answer_of(*d, permuted);
      ASSERT_EQ(a.culprits.size(), b.culprits.size()) << d->name;
      for (size_t i = 0; i < a.culprits.size(); ++i) {
        ++accused;
        EXPECT_EQ(a.culprits[i].server, "s2") << d->name;
        EXPECT_EQ(b.culprits[i].server, "s2") << d->name;
        EXPECT_EQ(a.culprits[i].cause, b.culprits[i].cause);
        EXPECT_EQ(a.culprits[i].onset_from_ns, b.culprits[i].onset_from_ns);
      }
    }
    EXPECT_GT(accused, 0) << d->name;
  }
}

}  // namespace
}  // namespace culprit
