#include "analyse/call_data.h"

#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>

#include "analyse/test_calls.h"

namespace culprit {
namespace {

const TimeSum& sum_of(const NodeCalls& node, CallTime time, int64_t second) {
  static const TimeSum kNone;
  const SecondSums& sums = node.times[static_cast<size_t>(time)];
  auto found = sums.find(kTestSecond + second);
  return found == sums.end() ? kNone : found->second;
}

TEST(FourTimes, DiskCallsCountInTheSecondInWhichTheyEnd) {
  TestLog log = test_log("s1", 3, 10);
  log.call("pwrite64", kStorageFd, 4096, 4096, 1.5, 0.002);
  log.call("pwrite64", kStorageFd, 4096, 4096, 1.9, 0.2);
  log.call("pread64", kStorageFd, 4096, 4096, 3, 0.004);
  log.call("fsync", kStorageFd, 0, 0, 3.1, 0.1);
  log.call("pread64", kStorageFd, 4096, -EIO, 4, 0.1);
  const NodeCalls node = log.reduce();
  EXPECT_EQ(sum_of(node, CallTime::dwrite, 1).count, 1u);
  EXPECT_DOUBLE_EQ(sum_of(node, CallTime::dwrite, 1).mean_ms(), 2);
  EXPECT_DOUBLE_EQ(sum_of(node, CallTime::dwrite, 2).mean_ms(), 200);
  EXPECT_DOUBLE_EQ(sum_of(node, CallTime::dread, 3).mean_ms(), 4);
  EXPECT_EQ(sum_of(node, CallTime::dwrite, 3).count, 0u);  // fsync is no write
  EXPECT_EQ(sum_of(node, CallTime::dread, 4).count, 0u);   // what failed took no service
}

// A disk that takes seconds must not look like one that has nothing to do.
TEST(FourTimes, ALongCallCountsWhileItIsUnderWay) {
  TestLog log = test_log("s1", 3, 10);
  log.call("pread64", kStorageFd, 4096, 4096, 1.5, 3);    // until 4.5
  log.call("pwrite64", kStorageFd, 4096, 4096, 7.5, -1);  // until the log's end
  const NodeCalls node = log.reduce();
  EXPECT_EQ(sum_of(node, CallTime::dread, 0).count, 0u);
  EXPECT_DOUBLE_EQ(sum_of(node, CallTime::dread, 1).mean_ms(), 500);
  EXPECT_DOUBLE_EQ(sum_of(node, CallTime::dread, 2).mean_ms(), 1500);
  EXPECT_DOUBLE_EQ(sum_of(node, CallTime::dread, 3).mean_ms(), 2500);
  EXPECT_DOUBLE_EQ(sum_of(node, CallTime::dread, 4).mean_ms(), 3000);
  EXPECT_EQ(sum_of(node, CallTime::dread, 5).count, 0u);
  EXPECT_DOUBLE_EQ(sum_of(node, CallTime::dwrite, 7).mean_ms(), 500);
  EXPECT_DOUBLE_EQ(sum_of(node, CallTime::dwrite, 9).mean_ms(), 2500);
  EXPECT_EQ(sum_of(node, CallTime::dwrite, 10).count, 0u);
}

TEST(FourTimes, ACallEndsWithItsProcess) {
  TestLog log = test_log("s1", 3, 10);
  log.call("pread64", kStorageFd, 4096, 0, 1.5, -1);
  log.event(CallKind::exit, 1, SIGKILL, 3.5);
  const NodeCalls node = log.reduce();
  EXPECT_DOUBLE_EQ(sum_of(node, CallTime::dread, 2).mean_ms(), 1500);
  EXPECT_EQ(sum_of(node, CallTime::dread, 3).count, 0u);
}

TEST(FourTimes, CompletionsOfAioAndUringAreDiskCalls) {
  TestLog log = test_log("s1", 3, 10);
  Call& aio = log.call("read", 0, 0, 4096, 1, 0.003);
  aio.kind = CallKind::aio;
  aio.number = 1;
  aio.args = {kStorageFd, 4096, 0, 0, 0, 0};
  Call& uring = log.call("read", 0, 0, 4096, 1.2, 0.005);
  uring.kind = CallKind::uring;
  uring.number = 22;
  uring.args = {kStorageFd, 4096, 0, 0, 0, 0};
  const NodeCalls node = log.reduce();
  EXPECT_DOUBLE_EQ(sum_of(node, CallTime::dwrite, 1).mean_ms(), 3);
  EXPECT_DOUBLE_EQ(sum_of(node, CallTime::dread, 1).mean_ms(), 5);
}

TEST(FourTimes, APieceIsWhatOneReadAskedFor) {
  TestLog log = test_log("s1", 3, 10);
  log.call("read", kClientSocket, 100, 40, 1, 0.01);
  log.call("read", kClientSocket, 60, -EAGAIN, 1.1, 0.01);
  log.call("read", kClientSocket, 60, 60, 1.2, 0.05);
  const NodeCalls node = log.reduce();
  EXPECT_EQ(sum_of(node, CallTime::nsread, 1).count, 1u);
  EXPECT_NEAR(sum_of(node, CallTime::nsread, 1).mean_ms(), 250, 0.001);
}

TEST(FourTimes, AReadThatBringsNothingOpensNoPiece) {
  TestLog log = test_log("s1", 3, 10);
  log.call("read", kClientSocket, 100, -EAGAIN, 1, 0.01);
  log.call("read", kClientSocket, 100, 100, 3, 0.01);
  const NodeCalls node = log.reduce();
  EXPECT_EQ(sum_of(node, CallTime::nsread, 1).count, 0u);
  EXPECT_NEAR(sum_of(node, CallTime::nsread, 3).mean_ms(), 10, 0.001);
}

TEST(FourTimes, ReadsForSomethingElseEndThePieceAsItCame) {
  TestLog log = test_log("s1", 3, 10);
  log.call("read", kClientSocket, 65536, 100, 1, 0.01);  // a large buffer and a small message
  log.call("read", kClientSocket, 65536, 200, 2, 0.03);
  log.call("read", kClientSocket, 65536, 0, 3, 0.03);  // the client went away
  const NodeCalls node = log.reduce();
  EXPECT_NEAR(sum_of(node, CallTime::nsread, 1).mean_ms(), 10, 0.001);
  EXPECT_EQ(sum_of(node, CallTime::nsread, 2).count, 0u);  // nobody knows whether it was whole
}

TEST(FourTimes, PeekingIsNotReading) {
  TestLog log = test_log("s1", 3, 10);
  log.call("recvfrom", kClientSocket, 24, 24, 1, 0.01).args[3] = MSG_PEEK;
  EXPECT_EQ(sum_of(log.reduce(), CallTime::nsread, 1).count, 0u);
}

TEST(FourTimes, ClientsReadingsBelongToTheServer) {
  TestCluster cluster(3, 10);
  cluster.client.process = kFuseDaemon;
  cluster.client.call("read", kFirstServerSocket + 2, 100, 100, 1, 0.02);
  const CallData data = cluster.join();
  ASSERT_NE(data.server("s2"), nullptr);
  EXPECT_NEAR(sum_of(*data.server("s2"), CallTime::ncread, 1).mean_ms(), 20, 0.001);
  EXPECT_EQ(sum_of(*data.server("s1"), CallTime::ncread, 1).count, 0u);
}

TEST(Sums, GiveDiskTimesAndErrors) {
  TestLog log = test_log("s1", 3, 10);
  log.header.sums = true;
  CallSum sum;
  sum.second = kTestSecond + 2;
  sum.fd_class = FdClass::storage;
  sum.number = find_syscall(std::string_view("pwrite64"))->number;
  sum.count = 4;
  sum.sum_ns = 8'000'000;
  sum.errors = {{ENOSPC, 3}};
  log.sums = {sum};
  const NodeCalls node = log.reduce();
  EXPECT_TRUE(node.sums);
  EXPECT_DOUBLE_EQ(sum_of(node, CallTime::dwrite, 2).mean_ms(), 2);
  const ErrorKey key{"pwrite64", ENOSPC, false};
  ASSERT_TRUE(node.errors.count(key));
  EXPECT_EQ(node.errors.at(key).count, 3u);
  EXPECT_EQ(node.errors.at(key).moments.at(0).first_ns, test_ns(2));
}

TEST(Sums, HaveSignalsAndEndsBesideThem) {
  TestLog log = test_log("s1", 3, 10);
  log.header.sums = true;
  log.event(CallKind::signal, SIGKILL, 0, 5);
  log.event(CallKind::exit, 1, SIGKILL, 5);
  const NodeCalls node = log.reduce();
  ASSERT_EQ(node.ends.size(), 1u);
  EXPECT_EQ(node.ends[0].status, SIGKILL);
  EXPECT_EQ(node.signals.size(), 1u);
}

// What the kernel could not class breaks as connections do: it is one.
TEST(Errors, OfConnectionsAreASocketsWhateverIsKnownOfIt) {
  TestLog log = test_log("s1", 3, 10);
  log.call("write", 99, 100, -EPIPE, 1, 0.001);  // a descriptor of which nothing is known
  log.call("fsync", 99, 0, -EIO, 2, 0.001);
  log.fails("openat", "/brick/x", ENOTCONN, 3);  // a folder on another file system
  const NodeCalls node = log.reduce();
  EXPECT_TRUE(node.errors.count({"write", EPIPE, true}));
  EXPECT_TRUE(node.errors.count({"fsync", EIO, false}));
  EXPECT_TRUE(node.errors.count({"openat", ENOTCONN, false}));
  TestLog sums = test_log("s1", 3, 10);
  sums.header.sums = true;
  CallSum sum;
  sum.second = kTestSecond + 2;
  sum.fd_class = FdClass::other;
  sum.number = find_syscall(std::string_view("writev"))->number;
  sum.count = 4;
  sum.errors = {{EPIPE, 1}, {EIO, 1}};
  sums.sums = {sum};
  const NodeCalls summed = sums.reduce();
  EXPECT_TRUE(summed.errors.count({"writev", EPIPE, true}));
  EXPECT_TRUE(summed.errors.count({"writev", EIO, false}));
}

TEST(Applications, AreWhoeverIsNotTheMountsDaemon) {
  TestLog log = test_log("c1", 3, 10);
  log.process = kFuseDaemon;
  log.call("read", 3, 100, 100, 1, 0.1);
  log.call("write", kFirstServerSocket + 1, 100, 100, 1, 0.1);
  EXPECT_FALSE(log.reduce().applications);
  log.process = kFuseDaemon + 1;  // another thread of it, for strace a process
  log.call("futex", 0, 0, 0, 1, 0.1);
  log.fd(12, FdKind::socket, FdClass::to_server, "", "10.0.0.1:49152");
  log.fails("openat", "/var/log/mount.log", EACCES, 1);
  EXPECT_FALSE(log.reduce().applications);
  log.process = kApp;
  log.call("write", kAppFd, 100, 100, 1, 0.1);
  EXPECT_TRUE(log.reduce().applications);
}

TEST(Applications, AnswersDoNotTakeTheRoomOfFailures) {
  TestLog log = test_log("c1", 3, 60);
  for (int i = 0; i < 20'001; ++i) log.fails("openat", "/mnt/module.py", ENOENT, 1 + i * 0.001, 0.0001);
  log.fails("openat", "/mnt/f", EIO, 30);
  const NodeCalls node = log.reduce();
  ASSERT_EQ(node.failed.size(), 1u);
  EXPECT_EQ(node.failed[0].error, EIO);
  EXPECT_EQ(node.errors.at({"openat", ENOENT, false}).count, 20'001u);
}

// The descriptor of unlinkat is a folder's.
TEST(Applications, ACallInAFolderThatNeverReturnedHasNoName) {
  TestLog log = test_log("c1", 3, 60);
  log.process = kApp;
  log.fd(8, FdKind::folder, FdClass::other, "/mnt/folder");
  log.call("unlinkat", 8, 0, 0, 20, -1);
  log.fd(9, FdKind::folder, FdClass::other, "/usr/share");
  log.call("unlinkat", 9, 0, 0, 21, -1);
  log.call("newfstatat", kAppFd, 0, 0, 22, 10);  // as fstat: the descriptor is the file's
  const NodeCalls node = log.reduce();
  ASSERT_EQ(node.slow.size(), 2u) << "the machine's own folders are nobody's mount";
  EXPECT_EQ(node.slow[0].name, "");
  EXPECT_EQ(node.slow[1].name, "/mnt/f");
}

TEST(Applications, ASlowOpenHasTheNameOfWhatItOpened) {
  TestLog log = test_log("c1", 3, 60);
  log.process = kApp;
  log.call("openat", -100, 0, 9, 1, 20);
  log.fd(9, FdKind::file, FdClass::other, "/mnt/slow").t_ns = test_ns(21);
  log.call("openat", -100, 0, 10, 25, 20);
  log.fd(10, FdKind::file, FdClass::other, "/usr/lib/x").t_ns = test_ns(45);
  const NodeCalls node = log.reduce();
  ASSERT_EQ(node.slow.size(), 1u) << "the machine's own files are nobody's mount";
  EXPECT_EQ(node.slow[0].name, "/mnt/slow");
}

TEST(Errors, AreCountedByCallAndErrnoWithTheirPaths) {
  TestLog log = test_log("s1", 3, 200);
  for (int i = 0; i < 100; ++i) log.fails("openat", "/brick/file" + std::to_string(i), EMFILE, 1 + i);
  log.call("pwrite64", kStorageFd, 4096, -ENOSPC, 150, 0.001);
  log.call("write", kClientSocket, 100, -EPIPE, 151, 0.001);
  const NodeCalls node = log.reduce();
  const ErrorCount& open = node.errors.at({"openat", EMFILE, false});
  EXPECT_EQ(open.count, 100u);
  EXPECT_EQ(open.examples.size(), 64u);
  EXPECT_EQ(open.examples[0].name, "/brick/file0");
  EXPECT_EQ(open.first_ns, test_ns(1.001));
  EXPECT_EQ(open.moments.size(), 100u);
  EXPECT_EQ(node.errors.at({"pwrite64", ENOSPC, false}).examples.at(0).name, "/brick/f");
  EXPECT_EQ(node.errors.at({"pwrite64", ENOSPC, false}).examples.at(0).fd_class, FdClass::storage);
  EXPECT_TRUE(node.errors.count({"write", EPIPE, true}));
}

TEST(Errors, OfProcessesThatHaveJustBegunAreLeftOut) {
  TestLog log = test_log("s1", 3, 200);
  log.process = 555;
  log.call("execve", 0, 0, 0, 20, 0.001);
  log.fails("access", "/etc/ld.so.preload", EACCES, 20.1);
  log.fails("access", "/etc/later", EACCES, 30);
  const NodeCalls node = log.reduce();
  EXPECT_EQ(node.startup_errors, 1u);
  EXPECT_EQ(node.errors.at({"access", EACCES, false}).count, 1u);
}

TEST(Applications, AreThoseThatDoNotHoldFuse) {
  TestLog log = test_log("c1", 3, 60);
  log.fails("openat", "/mnt/f", ENOSPC, 1);
  log.fails("openat", "/etc/nothing", ENOENT, 2);
  log.process = kFuseDaemon;
  log.fails("openat", "/var/cache/f", EACCES, 3);
  const NodeCalls node = log.reduce();
  ASSERT_EQ(node.failed.size(), 1u);
  EXPECT_EQ(node.failed[0].name, "/mnt/f");
  EXPECT_EQ(node.failed[0].error, ENOSPC);
  EXPECT_EQ(node.errors.size(), 1u);
}

TEST(Applications, OnlyTheMachinesOwnFoldersAreLeftOut) {
  TestLog log = test_log("c1", 3, 60);
  log.fails("openat", "/lib/x", ENOSPC, 1);
  log.fails("openat", "/lib64/x", ENOSPC, 2);
  log.fails("openat", "/library/f", ENOSPC, 3);
  const NodeCalls node = log.reduce();
  ASSERT_EQ(node.failed.size(), 1u);
  EXPECT_EQ(node.failed[0].name, "/library/f");
}

TEST(Applications, CallsThatTakeLongOrNeverReturnAreKept) {
  TestLog log = test_log("c1", 3, 60);
  log.call("write", kAppFd, 4096, 4096, 1, 7);
  log.call("write", kAppFd, 4096, 4096, 10, 0.1);
  log.call("openat", -100, 0, 0, 20, -1);
  const NodeCalls node = log.reduce();
  ASSERT_EQ(node.slow.size(), 2u);
  EXPECT_EQ(node.slow[0].name, "/mnt/f");
  EXPECT_FALSE(node.slow[1].finished);
  EXPECT_EQ(node.slow[1].end_ns, test_ns(60));  // the log's end
}

TEST(Links, ARequestWithoutAnAnswerIsAWait) {
  TestLog log = test_log("c1", 3, 60);
  for (int second = 0; second < 10; ++second) use(log, 3, second);
  for (int second = 10; second < 20; ++second) use(log, 3, second, 2);
  const NodeCalls node = log.reduce();
  ASSERT_EQ(node.links.size(), 3u);
  EXPECT_TRUE(node.links[0].waits.empty());
  EXPECT_TRUE(node.links[0].last_was_read);
  EXPECT_EQ(node.links[1].server, "s2");
  EXPECT_FALSE(node.links[1].last_was_read);
  ASSERT_EQ(node.links[1].waits.size(), 1u);
  EXPECT_FALSE(node.links[1].waits[0].answered);
  EXPECT_EQ(node.links[1].waits[0].from_ns, test_ns(10.0501));
  EXPECT_EQ(node.links[1].waits[0].until_ns, test_ns(60));
}

TEST(Links, WhoEndsWaitsForNothing) {
  TestLog log = test_log("c1", 3, 60);
  for (int second = 0; second < 10; ++second) use(log, 3, second, 2);
  log.process = kFuseDaemon;
  log.event(CallKind::exit, 1, SIGKILL, 20);
  const NodeCalls node = log.reduce();
  ASSERT_EQ(node.links[1].waits.size(), 1u);
  EXPECT_EQ(node.links[1].waits[0].until_ns, test_ns(20));
}

// Two mounts of one client: the end of one does not answer the other.
TEST(Links, AWaitOfTwoDoesNotEndWithOne) {
  TestLog log = test_log("c1", 3, 60);
  for (int32_t process : {kFuseDaemon, kFuseDaemon + 1}) {
    log.process = process;
    log.fd(kFirstServerSocket + 2, FdKind::socket, FdClass::to_server, "", "10.0.0.2:49152");
    log.call("write", kFirstServerSocket + 2, 100, 100, process - kFuseDaemon, 0.0001);
  }
  log.event(CallKind::exit, 1, SIGTERM, 20);
  const NodeCalls node = log.reduce();
  ASSERT_EQ(node.links.size(), 1u);
  ASSERT_EQ(node.links[0].waits.size(), 1u);
  EXPECT_EQ(node.links[0].waits[0].until_ns, test_ns(60));
}

TEST(Links, ManyShortWaitsLeaveRoomForALongOne) {
  TestLog log = test_log("c1", 3, 9000);
  log.process = kFuseDaemon;
  for (int i = 0; i < 3000; ++i) {  // a client that keeps idle connections alive
    log.call("write", kFirstServerSocket + 1, 100, 100, i * 2, 0.0001);
    log.call("read", kFirstServerSocket + 1, 100, 100, i * 2 + 1.5, 0.0001);
  }
  log.call("write", kFirstServerSocket + 1, 100, 100, 7000, 0.0001);
  const NodeCalls node = log.reduce();
  EXPECT_LE(node.links[0].waits.size(), 1024u);
  EXPECT_NEAR(static_cast<double>(node.forgotten_wait_ns), 1.5e9, 1e6);
  EXPECT_EQ(node.links[0].waits.back().from_ns, test_ns(7000.0001));
  EXPECT_TRUE(std::is_sorted(node.links[0].waits.begin(), node.links[0].waits.end(),
                             [](const LinkWait& a, const LinkWait& b) { return a.from_ns < b.from_ns; }));
}

TEST(Reduce, ClocksAreCorrectedAndTimesOutsideAreLeftOut) {
  TestLog log = test_log("s1", 3, 60);
  for (int second = 0; second < 10; ++second) serve(log, second);
  ReduceOptions options;
  options.offset_ns = 100 * kNsPerSecond;
  EXPECT_EQ(sum_of(log.reduce(options), CallTime::dread, 5 - 100).count, 1u);
  options.offset_ns = 0;
  options.since_ns = test_ns(3);
  options.until_ns = test_ns(6);
  const NodeCalls node = log.reduce(options);
  EXPECT_EQ(node.times[static_cast<size_t>(CallTime::dread)].size(), 3u);
  EXPECT_EQ(node.start_ns, test_ns(3));
}

TEST(Join, WhoIsNeitherServerNorClientIsNotJudged) {
  TestCluster cluster(3, 10);
  cluster.work(0, 10);
  std::vector<Node> nodes = test_nodes(3);
  nodes[3].kind = NodeKind::other;  // c1
  std::vector<NodeCalls> logs;
  for (const TestLog& log : cluster.servers) logs.push_back(log.reduce());
  logs.push_back(cluster.client.reduce());
  const CallData data = join_nodes(std::move(logs), nodes);
  EXPECT_TRUE(data.clients.empty());
  EXPECT_THAT(data.notes, testing::ElementsAre(testing::HasSubstr("c1 is neither server nor client")));
}

TEST(Join, AServerWithoutALogIsNamed) {
  TestCluster cluster(3, 10);
  cluster.work(0, 10);
  std::vector<NodeCalls> nodes;
  nodes.push_back(cluster.servers[1].reduce());
  nodes.push_back(cluster.servers[0].reduce());
  const CallData data = join_nodes(std::move(nodes), test_nodes(3));
  ASSERT_EQ(data.servers.size(), 2u);
  EXPECT_EQ(data.servers[0].name, "s1");
  EXPECT_THAT(data.unlogged, testing::ElementsAre("s3"));
  EXPECT_EQ(data.start_ns, test_ns(0));
  EXPECT_EQ(data.end_ns, test_ns(10));
}

}  // namespace
}  // namespace culprit
