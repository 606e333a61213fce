#include "capture/proc_fd.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>

namespace culprit {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

FdRecord seen(int fd) {
  auto record = ProcFds(getpid()).look_up(fd, getpid());
  EXPECT_TRUE(record.has_value());
  return record.value_or(FdRecord{});
}

TEST(ProcFdTest, FilesFoldersDevicesAndPipes) {
  std::string path = testing::TempDir() + "culprit-proc-fd";
  Fd file(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  struct stat info {};
  ASSERT_EQ(fstat(file.get(), &info), 0);
  FdRecord record = seen(file.get());
  EXPECT_EQ(record.kind, FdKind::file);
  EXPECT_EQ(record.inode, info.st_ino);
  EXPECT_NE(record.device, 0u);
  EXPECT_THAT(record.name, HasSubstr("culprit-proc-fd"));
  EXPECT_EQ(record.flags & static_cast<uint32_t>(O_APPEND | O_ACCMODE), static_cast<uint32_t>(O_APPEND | O_RDWR));
  EXPECT_EQ(record.flags, kept_flags(O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC));
  EXPECT_EQ(seen(Fd(open("/", O_RDONLY | O_CLOEXEC)).get()).kind, FdKind::folder);
  EXPECT_EQ(seen(Fd(open("/dev/null", O_RDONLY | O_CLOEXEC)).get()).name, "/dev/null");
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  Fd reading(ends[0]);
  Fd writing(ends[1]);
  EXPECT_EQ(seen(reading.get()).kind, FdKind::pipe);
  EXPECT_THAT(seen(reading.get()).name, StartsWith("pipe:["));
  Fd poll(epoll_create1(EPOLL_CLOEXEC));
  EXPECT_EQ(seen(poll.get()).kind, FdKind::anonymous);
  unlink(path.c_str());
}

TEST(ProcFdTest, AClosedOneIsNothing) {
  EXPECT_FALSE(ProcFds(getpid()).look_up(-1, getpid()));
  EXPECT_FALSE(ProcFds(getpid()).look_up(1000000, getpid()));
  EXPECT_FALSE(ProcFds(-1).look_up(0, -1));
}

TEST(ProcFdTest, WithoutDescriptorsOfOurOwnItSaysSo) {
  Fd file(open("/dev/null", O_RDONLY | O_CLOEXEC));
  ProcFds fds(getpid());
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
  rlimit none{0, old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  bool found = fds.look_up(file.get(), getpid()).has_value();
  bool starved = fds.starved();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
  EXPECT_FALSE(found);
  EXPECT_TRUE(starved);
  EXPECT_TRUE(fds.look_up(file.get(), getpid()));
  EXPECT_FALSE(fds.starved());
}

// A connected pair over loopback: both ends know each other.
void expect_pair(int family, sockaddr* address, socklen_t length, const char* prefix) {
  Fd listener(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(seen(listener.get()).local, "");
  ASSERT_EQ(bind(listener.get(), address, length), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  ASSERT_EQ(getsockname(listener.get(), address, &length), 0);
  Fd client(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(connect(client.get(), address, length), 0);
  Fd server(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  FdRecord ours = seen(client.get());
  FdRecord theirs = seen(server.get());
  EXPECT_EQ(ours.kind, FdKind::socket);
  EXPECT_EQ(ours.protocol, "TCP");
  EXPECT_THAT(ours.peer, StartsWith(prefix));
  EXPECT_EQ(ours.peer, theirs.local);
  EXPECT_EQ(ours.local, theirs.peer);
}

TEST(ProcFdTest, TcpOverIPv4) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  expect_pair(AF_INET, reinterpret_cast<sockaddr*>(&address), sizeof address, "127.0.0.1:");
}

TEST(ProcFdTest, TcpOverIPv6) {
  Fd probe(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  if (!probe.valid() || bind(probe.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    GTEST_SKIP() << "this machine has no IPv6";
  expect_pair(AF_INET6, reinterpret_cast<sockaddr*>(&address), sizeof address, "[::1]:");
}

TEST(ProcFdTest, AnAbstractUnixSocketHasItsName) {
  Fd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_THAT(seen(listener.get()).name, StartsWith("socket:["));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string name = "culprit-" + std::to_string(getpid());
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(seen(listener.get()).name, "@" + name);
  EXPECT_EQ(seen(listener.get()).protocol, "UNIX");
}

TEST(ProcFdTest, FlagsOfFdinfo) {
  EXPECT_EQ(parse_fdinfo_flags("pos:\t0\nflags:\t0140002\nmnt_id:\t29\n"), 0140002u);
  EXPECT_FALSE(parse_fdinfo_flags("pos:\t0\n").has_value());
  EXPECT_FALSE(parse_fdinfo_flags("flags:\t9\n").has_value());
  EXPECT_FALSE(parse_fdinfo_flags("").has_value());
}

TEST(ProcFdTest, TablesOfTheNetwork) {
  constexpr std::string_view kTcp =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
      "   0: 0100007F:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1 0\n"
      "   1: 0100000A:C000 0700000A:03FF 01 00000000:00000000 00:00000000 00000000     0        0 12 1 0\n";
  std::string local;
  std::string peer;
  ASSERT_TRUE(find_inet_socket(kTcp, 12, local, peer));
  EXPECT_EQ(local, "10.0.0.1:49152");
  EXPECT_EQ(peer, "10.0.0.7:1023");
  ASSERT_TRUE(find_inet_socket(kTcp, 11, local, peer));
  EXPECT_EQ(local, "127.0.0.1:22");
  EXPECT_EQ(peer, "");
  EXPECT_FALSE(find_inet_socket(kTcp, 13, local, peer));
  ASSERT_TRUE(
      find_inet_socket("0: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A "
                       "0:0 0:0 0 0 0 14\n",
                       14, local, peer));
  EXPECT_EQ(local, "[::1]:8080");
  EXPECT_FALSE(find_inet_socket("0: zz:16 0:0 0A 0:0 0:0 0 0 0 15\n", 15, local, peer));
  std::string path;
  ASSERT_TRUE(find_unix_socket("0000: 00000002 00000000 00010000 0001 01 21 /run/a b\n", 21, path));
  EXPECT_EQ(path, "/run/a b");
  EXPECT_FALSE(find_unix_socket("0000: 00000002\n", 21, path));
}

}  // namespace
}  // namespace culprit
