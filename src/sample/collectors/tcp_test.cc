// Sockets of this process on loopback, and netlink bytes that no kernel would send.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstring>
#include <random>

#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "sample/sock_diag.h"
#include "sample/test_tree.h"

namespace culprit {
namespace {

using testing::HasSubstr;

// A connection over loopback between two sockets of ours.
struct Connection {
  Connection() {
    Fd listener(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    ok = ::bind(listener.get(), generic, length) == 0 && ::listen(listener.get(), 1) == 0 &&
         ::getsockname(listener.get(), generic, &length) == 0;
    client.reset(::socket(AF_INET, SOCK_STREAM, 0));
    ok = ok && ::connect(client.get(), generic, length) == 0;
    server.reset(::accept(listener.get(), nullptr, nullptr));
    ok = ok && server.valid();
    port = ntohs(address.sin_port);
    listening = std::move(listener);
  }
  bool ok = false;
  int port = 0;
  Fd listening, client, server;
};

uint64_t inode_of(const Fd& fd) {
  struct stat info {};
  EXPECT_EQ(::fstat(fd.get(), &info), 0);
  return info.st_ino;
}

struct Tcp {
  explicit Tcp(int port) {
    env.data_ports = {{port, port}};
    env.daemons = {"no-such-daemon"};
    collector = make_collector("tcp", env, keys);
  }
  Status tick() {
    sample.clear();
    sample.mono_ns += kNsPerSecond;
    return collector->collect(sample);
  }
  const NewKey* key_with(const std::string& text) const {
    for (const NewKey& key : sample.keys)
      if (cat(key.name, " ", key.detail).find(text) != std::string::npos) return &key;
    return nullptr;
  }
  std::vector<int64_t> row_of(uint32_t key) const {
    for (const SampleRow& row : sample.rows)
      if (row.key == key) return {sample.row(row).begin(), sample.row(row).end()};
    return {};
  }

  SampleEnv env;
  KeyCounter keys;
  std::unique_ptr<Collector> collector;
  Sample sample;
};

TEST(Tcp, BothEndsWithWhatTheSocketItselfSays) {
  Connection connection;
  ASSERT_TRUE(connection.ok);
  Tcp tcp(connection.port);
  Status status = tcp.tick();
  if (!status) GTEST_SKIP() << "no socket diagnosis here: " << status.error().message();
  const NewKey* server = tcp.key_with("side=server");
  const NewKey* client = tcp.key_with("side=client");
  ASSERT_TRUE(server && client);
  EXPECT_THAT(server->name, HasSubstr(cat("127.0.0.1:", connection.port, ">127.0.0.1:")));
  EXPECT_THAT(client->detail, HasSubstr(cat("inode=", inode_of(connection.client))));
  tcp_info info{};
  socklen_t length = sizeof info;
  ASSERT_EQ(::getsockopt(connection.client.get(), IPPROTO_TCP, TCP_INFO, &info, &length), 0);
  std::vector<int64_t> row = tcp.row_of(client->id);
  ASSERT_EQ(row.size(), size_t{tcp_column::count});
  EXPECT_EQ(row[tcp_column::cwnd_segments], info.tcpi_snd_cwnd);
  EXPECT_EQ(row[tcp_column::ssthresh_segments], kAbsent);
  EXPECT_EQ(tcp.sample.rows.size(), 2u);
}

int local_port(const Fd& fd) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  EXPECT_EQ(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  return ntohs(address.sin_port);
}

// Somebody connects to another service of this node, by chance from a port that the file system's data may have.
TEST(Tcp, WhereSomebodyListensWeAreNotTheClient) {
  Connection connection;
  ASSERT_TRUE(connection.ok);
  Tcp tcp(local_port(connection.client));
  if (!tcp.tick()) GTEST_SKIP() << "no socket diagnosis here";
  const NewKey* accepted = tcp.key_with(cat("inode=", inode_of(connection.server), " "));
  ASSERT_NE(accepted, nullptr);
  EXPECT_THAT(accepted->detail, HasSubstr("side=other"));
}

TEST(Tcp, AFlowKeepsItsKeyAndIsForgottenWhenItEnds) {
  Connection connection;
  ASSERT_TRUE(connection.ok);
  Tcp tcp(connection.port);
  if (!tcp.tick()) GTEST_SKIP() << "no socket diagnosis here";
  uint32_t client = tcp.key_with("side=client")->id;
  ASSERT_EQ(::send(connection.client.get(), "hello", 5, 0), 5);
  ASSERT_TRUE(tcp.tick());
  EXPECT_TRUE(tcp.sample.keys.empty());
  EXPECT_EQ(tcp.row_of(client)[tcp_column::bytes_sent], 5);
  linger at_once{1, 0};  // a reset leaves no closing states behind
  ::setsockopt(connection.client.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  connection.client.reset();
  connection.server.reset();
  ASSERT_TRUE(tcp.tick());
  EXPECT_TRUE(tcp.sample.rows.empty());
}

TEST(Tcp, WithoutPortsAllSocketsAreTaken) {
  Connection connection;
  ASSERT_TRUE(connection.ok);
  Tcp tcp(connection.port);
  tcp.env.data_ports.clear();
  tcp.collector = make_collector("tcp", tcp.env, tcp.keys);
  if (!tcp.tick()) GTEST_SKIP() << "no socket diagnosis here";
  const NewKey* key = tcp.key_with(cat("inode=", inode_of(connection.server), " "));
  ASSERT_NE(key, nullptr);
  EXPECT_THAT(key->detail, HasSubstr("side=other"));
}

TEST(SockDiag, EndpointsAreReadable) {
  uint32_t v4[4] = {htonl(0x0a000001), 0, 0, 0};
  uint32_t mapped[4] = {0, 0, htonl(0xffff), htonl(0x0a000001)};
  uint32_t v6[4] = {htonl(0xfe800000), 0, 0, htonl(1)};
  EXPECT_EQ(format_endpoint(AF_INET, v4, 80), "10.0.0.1:80");
  EXPECT_EQ(format_endpoint(AF_INET6, mapped, 80), "10.0.0.1:80");
  EXPECT_EQ(format_endpoint(AF_INET6, v6, 80), "[fe80::1]:80");
}

std::string message(uint16_t type, uint32_t sequence, std::string_view payload, uint16_t flags = 0) {
  nlmsghdr head{static_cast<uint32_t>(sizeof(nlmsghdr) + payload.size()), type, flags, sequence, 0};
  std::string out(reinterpret_cast<const char*>(&head), sizeof head);
  out += payload;
  out.resize((out.size() + 3) & ~size_t{3});
  return out;
}

std::string socket_message(uint32_t sequence, std::string_view info) {
  inet_diag_msg head{};
  head.idiag_family = AF_INET;
  head.idiag_inode = 42;
  std::string payload(reinterpret_cast<const char*>(&head), sizeof head);
  uint16_t attribute[2] = {static_cast<uint16_t>(4 + info.size()), INET_DIAG_INFO};
  payload.append(reinterpret_cast<const char*>(attribute), sizeof attribute);
  payload += info;
  return message(SOCK_DIAG_BY_FAMILY, sequence, payload);
}

TEST(SockDiag, ReadsItsOwnDumpOnly) {
  std::string bytes = socket_message(6, "stale") + socket_message(7, "fresh") + message(NLMSG_DONE, 7, "\0\0\0\0");
  std::vector<std::string> infos;
  DumpPiece piece = parse_dump(bytes, 7, [&](const SocketInfo& socket) { infos.emplace_back(socket.info); });
  EXPECT_TRUE(piece.done);
  EXPECT_EQ(piece.error, 0);
  EXPECT_THAT(infos, testing::ElementsAre("fresh"));
}

TEST(SockDiag, SaysWhyTheKernelRefused) {
  int32_t code = -ENOENT;
  std::string payload(reinterpret_cast<const char*>(&code), sizeof code);
  EXPECT_EQ(parse_dump(message(NLMSG_ERROR, 1, payload), 1, [](const SocketInfo&) {}).error, ENOENT);
  EXPECT_EQ(parse_dump(message(NLMSG_ERROR, 1, ""), 1, [](const SocketInfo&) {}).error, EPROTO);
  EXPECT_TRUE(parse_dump(message(0x99, 1, "", NLM_F_DUMP_INTR), 1, [](const SocketInfo&) {}).interrupted);
}

TEST(SockDiag, GarbageIsNeverReadBeyondItsEnd) {
  std::string good = socket_message(1, std::string(280, 'i')) + socket_message(1, "short") + message(NLMSG_DONE, 1, "");
  std::mt19937 random(7);
  size_t visited = 0, bytes_seen = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string bytes = good.substr(0, random() % (good.size() + 1));
    for (int i = 0; i < 4 && !bytes.empty(); ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    parse_dump(bytes, 1, [&](const SocketInfo& socket) {
      ++visited;
      for (char c : socket.info) bytes_seen += static_cast<unsigned char>(c) != 0;
    });
  }
  EXPECT_GT(visited, 100u);
  EXPECT_GT(bytes_seen, 100u);
}

}  // namespace
}  // namespace culprit
