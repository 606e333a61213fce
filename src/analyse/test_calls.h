// Logs for the tests of detectors by system calls: a small cluster whose calls are written to a log in memory and read
// from it again, so that the whole way is tested.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyse/call_reduce.h"
#include "base/units.h"
#include "calls/call_log.h"
#include "calls/syscalls.h"

namespace culprit {

constexpr int64_t kTestSecond = 1'767'225'600;  // 2026-01-01
constexpr int32_t kBrick = 100;                 // a server's daemon
constexpr int32_t kFuseDaemon = 200;            // a client's
constexpr int32_t kApp = 300;
constexpr int32_t kStorageFd = 5;
constexpr int32_t kClientSocket = 7;        // on a server
constexpr int32_t kFirstServerSocket = 10;  // on a client: 11 goes to s1, 12 to s2
constexpr int32_t kAppFd = 4;

inline int64_t test_ns(double seconds) {
  return kTestSecond * kNsPerSecond + std::llround(seconds * 1e9);
}

struct TestLog {
  LogHeader header;
  std::vector<FdRecord> fds;
  std::vector<Call> calls;
  std::vector<CallSum> sums;
  std::optional<LogEnd> end = LogEnd{};
  int32_t process = 0;  // whose calls come next

  FdRecord& fd(int32_t number, FdKind kind, FdClass fd_class, const std::string& name, const std::string& peer = "") {
    FdRecord record;
    record.t_ns = header.start_ns;
    record.process = process;
    record.fd = number;
    record.kind = kind;
    record.fd_class = fd_class;
    record.name = name;
    record.peer = peer;
    fds.push_back(record);
    return fds.back();
  }

  // A call with a descriptor and a count, as read and write have them.
  Call& call(const char* name, int32_t number, uint64_t asked, int64_t result, double start_s, double took_s) {
    const Syscall* known = find_syscall(std::string_view(name));
    EXPECT_NE(known, nullptr) << name;
    Call out;
    out.sequence = calls.size() + 1;
    out.start_ns = test_ns(start_s);
    out.duration_ns = took_s < 0 ? kUnfinished : std::llround(took_s * 1e9);
    out.process = out.thread = process;
    out.number = known ? known->number : 0;
    out.args = {static_cast<uint64_t>(static_cast<int64_t>(number)), 0, asked, 0, 0, 0};
    out.result = result;
    calls.push_back(out);
    return calls.back();
  }

  // A call on a path that failed.
  void fails(const char* name, const std::string& path, int error, double start_s, double took_s = 0.001) {
    const uint64_t sequence = call(name, -100, 0, -error, start_s, took_s).sequence;
    FdRecord& record = fd(-1, FdKind::path, FdClass::other, path);
    record.t_ns = test_ns(start_s);
    record.sequence = sequence;
  }

  void event(CallKind kind, int number, int64_t result, double at_s) {
    Call& out = call("read", -1, 0, result, at_s, 0);
    out.kind = kind;
    out.number = number;
    out.args = {};
  }

  NodeCalls reduce(const ReduceOptions& options = {}) const {
    auto bytes = std::make_shared<std::pair<std::string, std::string>>();
    CallLogWriter writer(
        [bytes](LogFile file, std::string_view more) -> Status {
          (file == LogFile::calls ? bytes->first : bytes->second) += more;
          return Ok{};
        },
        header);
    for (const FdRecord& each : fds) EXPECT_TRUE(writer.add(each));
    for (const Call& each : calls) EXPECT_TRUE(writer.add(each));
    for (const CallSum& each : sums) EXPECT_TRUE(writer.add(each));
    EXPECT_TRUE(end ? writer.close(*end) : writer.flush());
    auto reader = CallLogReader::from_bytes(bytes->first, bytes->second, header.node);
    EXPECT_TRUE(reader);
    return reduce_log(*reader, options).value();
  }
};

inline std::string address_of(const std::string& node) {
  return (node[0] == 's' ? "10.0.0." : "10.0.1.") + node.substr(1);
}

// A log of node "s1" or "c1" in a cluster of so many servers, from second 0 to `seconds`.
inline TestLog test_log(const std::string& node, int servers, double seconds) {
  TestLog log;
  log.header.node = node;
  log.header.backend = "null";
  log.header.start_ns = test_ns(0);
  log.header.around.server = node[0] == 's';
  log.header.around.data_ports = {{49152, 49152}};
  for (int i = 1; i <= servers; ++i) {
    const std::string name = "s" + std::to_string(i);
    log.header.around.peers.push_back({name, address_of(name), NodeKind::server});
  }
  log.header.around.peers.push_back({"c1", address_of("c1"), NodeKind::client});
  log.end->end_ns = test_ns(seconds);
  if (node[0] == 's') {
    log.process = kBrick;
    log.fd(kStorageFd, FdKind::file, FdClass::storage, "/brick/f");
    log.fd(kClientSocket, FdKind::socket, FdClass::to_client, "", "10.0.1.1:1023");
    return log;
  }
  log.process = kFuseDaemon;
  log.fd(3, FdKind::device, FdClass::fuse, "/dev/fuse");
  for (int i = 1; i <= servers; ++i)
    log.fd(kFirstServerSocket + i, FdKind::socket, FdClass::to_server, "",
           address_of("s" + std::to_string(i)) + ":49152");
  log.process = kApp;
  log.fd(kAppFd, FdKind::file, FdClass::other, "/mnt/f");
  return log;
}

// What a healthy server does in one second: it reads a request, writes and reads its disk.
inline void serve(TestLog& log, double second, double disk_ms = 2, double net_ms = 1) {
  log.process = kBrick;
  log.call("read", kClientSocket, 100, -11, second, 0.00001);  // EAGAIN
  log.call("read", kClientSocket, 100, 100, second + 0.1, net_ms / 1000);
  log.call("pwrite64", kStorageFd, 4096, 4096, second + 0.2, disk_ms / 1000);
  log.call("pread64", kStorageFd, 4096, 4096, second + 0.5, disk_ms / 1000);
}

// What a healthy client does in one second: it asks every server but `silent` and reads the answer, which the
// application awaits.
inline void use(TestLog& log, int servers, double second, int silent = 0) {
  log.process = kFuseDaemon;
  for (int i = 1; i <= servers; ++i) {
    log.call("write", kFirstServerSocket + i, 100, 100, second + 0.05, 0.0001);
    if (i != silent) log.call("read", kFirstServerSocket + i, 100, 100, second + 0.3, 0.001);
  }
  log.process = kApp;
  log.call("write", kAppFd, 4096, 4096, second + 0.04, 0.5);
}

inline std::vector<Node> test_nodes(int servers, int clients = 1) {
  std::vector<Node> out;
  for (int i = 1; i <= servers; ++i) {
    Node node;
    node.name = "s" + std::to_string(i);
    out.push_back(node);
  }
  for (int i = 1; i <= clients; ++i) {
    Node node;
    node.name = "c" + std::to_string(i);
    node.kind = NodeKind::client;
    out.push_back(node);
  }
  return out;
}

// A cluster of servers and one client that is well: change its logs, then join().
struct TestCluster {
  std::vector<TestLog> servers;
  TestLog client;
  int count;

  explicit TestCluster(int number, double seconds = 60) : client(test_log("c1", number, seconds)), count(number) {
    for (int i = 1; i <= number; ++i) servers.push_back(test_log("s" + std::to_string(i), number, seconds));
  }
  // All seconds from `from` to `until`; `slow` (0: nobody) takes `factor` times as long for its disk.
  TestCluster& work(int from, int until, int slow = 0, double factor = 1) {
    for (int second = from; second < until; ++second) {
      for (int i = 1; i <= count; ++i) {
        // Healthy servers differ a little, and not always the same ones.
        const double noise = 1 + 0.05 * ((second * 7 + i * 3) % 5);
        serve(servers[static_cast<size_t>(i - 1)], second, 2 * noise * (i == slow ? factor : 1));
      }
      use(client, count, second);
    }
    return *this;
  }
  TestLog& server(int number) {
    TestLog& log = servers[static_cast<size_t>(number - 1)];
    log.process = kBrick;
    return log;
  }
  CallData join() const {
    std::vector<NodeCalls> nodes;
    for (const TestLog& log : servers) nodes.push_back(log.reduce());
    nodes.push_back(client.reduce());
    return join_nodes(std::move(nodes), test_nodes(count));
  }
};

// Four servers for a minute. From second `from` on s2 does nothing any more, and the application waits for it.
inline TestCluster without_s2(int from = 20) {
  TestCluster cluster(4);
  cluster.work(0, from);
  for (int second = from; second < 60; ++second) {
    for (int i : {1, 3, 4}) serve(cluster.server(i), second);
    use(cluster.client, 4, second, 2);
    cluster.client.calls.pop_back();  // the application waits
  }
  return cluster;
}

}  // namespace culprit
