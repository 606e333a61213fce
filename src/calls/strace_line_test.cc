// Lines of strace 6.1 taken apart, whole ones and broken ones.
#include "calls/strace_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "calls/strace_args.h"

namespace culprit {
namespace {

using testing::ElementsAre;

constexpr int64_t kTime = 1'700'000'000'123'456'000;

TEST(StraceLine, WithProcessAndTime) {
  for (const char* text : {"4711  1700000000.123456 close(3) = 0 <0.000010>",
                           "[pid  4711] 1700000000.123456 close(3)          = 0 <0.000010>"}) {
    StraceLine line = parse_strace_line(text);
    EXPECT_EQ(line.kind, StraceKind::call);
    EXPECT_EQ(line.thread, 4711);
    EXPECT_EQ(line.time, StraceTime::absolute);
    EXPECT_EQ(line.t_ns, kTime);
    EXPECT_EQ(line.name, "close");
    EXPECT_EQ(line.arguments, "3");
    EXPECT_EQ(line.result, "0");
    EXPECT_EQ(line.duration_ns, 10'000);
  }
}

TEST(StraceLine, WithoutProcessOrWithOtherTimes) {
  EXPECT_EQ(parse_strace_line("1700000000.123456 close(3) = 0").thread, 0);
  EXPECT_EQ(parse_strace_line("1700000000.123456789 close(3) = 0").t_ns, kTime + 789);
  EXPECT_EQ(parse_strace_line("close(3) = 0").time, StraceTime::none);
  EXPECT_EQ(parse_strace_line("12:34:56.123456 close(3) = 0").time, StraceTime::clock);
  EXPECT_EQ(parse_strace_line("     0.000123 close(3) = 0").time, StraceTime::clock);
  EXPECT_EQ(parse_strace_line("1700000000.123456 close(3) = 0").duration_ns, -1);
}

TEST(StraceLine, InTwoHalves) {
  StraceLine first = parse_strace_line("4711 1700000000.123456 read(3</a>,  <unfinished ...>");
  EXPECT_EQ(first.kind, StraceKind::unfinished);
  EXPECT_EQ(first.name, "read");
  EXPECT_EQ(first.arguments, "3</a>,");
  StraceLine second = parse_strace_line("4711 1700000000.2 <... read resumed>\"x\", 10) = 1 <0.1>");
  EXPECT_EQ(second.kind, StraceKind::resumed);
  EXPECT_EQ(second.name, "read");
  EXPECT_EQ(second.arguments, "\"x\", 10");
  EXPECT_EQ(second.duration_ns, 100'000'000);
  StraceLine killed = parse_strace_line("4711 1700000000.2 <... read resumed> <unfinished ...>) = ?");
  EXPECT_EQ(killed.kind, StraceKind::resumed);
  EXPECT_EQ(killed.result, "?");
}

TEST(StraceLine, WithoutASecondHalf) {
  for (const char* text : {"4711 1700000000.123456 read(3</a>,  <detached ...>",
                           "4711 1700000000.123456 read(3</a>, <pid changed to 7 ...>"}) {
    StraceLine line = parse_strace_line(text);
    EXPECT_EQ(line.kind, StraceKind::unfinished) << text;
    EXPECT_EQ(line.arguments, "3</a>,") << text;
  }
  EXPECT_EQ(parse_strace_line("4711 1700000000.2 read(3</a>, <gone ...>").kind, StraceKind::unknown);
}

TEST(StraceLine, OurOwnTextOfWhatNeverReturned) {
  StraceLine line = parse_strace_line("4711 1700000000.2 fsync(7) = ? <unfinished ...>");
  EXPECT_EQ(line.kind, StraceKind::call);
  EXPECT_EQ(line.result, "?");
  EXPECT_FALSE(parse_strace_result(line.result).returned);
}

TEST(StraceLine, SignalsAndEnds) {
  StraceLine signal = parse_strace_line("4711 1700000000.2 --- SIGTERM {si_signo=SIGTERM, si_code=SI_USER} ---");
  EXPECT_EQ(signal.kind, StraceKind::signal);
  EXPECT_EQ(signal.name, "SIGTERM");
  EXPECT_EQ(parse_strace_line("4711 1700000000.2 +++ exited with 3 +++").status, 3 << 8);
  EXPECT_EQ(parse_strace_line("4711 1700000000.2 +++ killed by SIGKILL +++").status, 9);
  EXPECT_EQ(parse_strace_line("4711 1700000000.2 +++ killed by SIGSEGV (core dumped) +++").status, 11 | 0x80);
  StraceLine superseded = parse_strace_line("7 1700000000.2 +++ superseded by execve in pid 8 +++");
  EXPECT_EQ(superseded.kind, StraceKind::superseded);
  EXPECT_EQ(superseded.other, 8);
  EXPECT_EQ(parse_strace_line("7 1700000000.2 +++ superseded by execve in pid x +++").kind, StraceKind::unknown);
  EXPECT_EQ(parse_strace_line("4711 1700000000.2 --- stopped by SIGSTOP ---").kind, StraceKind::idle);
  EXPECT_EQ(parse_strace_line("strace: Process 12 attached").kind, StraceKind::idle);
  EXPECT_EQ(parse_strace_line("").kind, StraceKind::idle);
}

TEST(StraceLine, BrokenOnes) {
  for (const char* text : {"4711 1700000000.2 read(3", "4711 1700000000.2 read(3, \"abc", "4711 1700000000.2", "hello",
                           "4711 1700000000.2 read(3) =", "4711 1700000000.2 +++ exited with", "(", "= 0",
                           "4711 1700000000.2 <... read resumed", "4711 1700000000.2 --- WHAT ---"})
    EXPECT_TRUE(parse_strace_line(text).kind == StraceKind::unknown || parse_strace_line(text).kind == StraceKind::idle)
        << text;
  EXPECT_EQ(parse_strace_line("99999999999 1.0 close(3) = 0").thread, 0);
}

TEST(StraceLine, TextsThatLookLikeAResult) {
  StraceLine line = parse_strace_line("1 1700000000.2 write(1</a>, \") = 5 <0.1>\", 11) = 11 <0.000002>");
  EXPECT_EQ(line.result, "11");
  EXPECT_EQ(line.arguments, "1</a>, \") = 5 <0.1>\", 11");
}

TEST(StraceResult, OfAllKinds) {
  EXPECT_EQ(parse_strace_result("4096").value, 4096);
  EXPECT_EQ(parse_strace_result("0x7f0000000000").value, 0x7f0000000000);
  EXPECT_EQ(parse_strace_result("-1 ENOENT (No such file or directory)").value, -2);
  EXPECT_EQ(parse_strace_result("-1 (errno 530)").value, -530);
  EXPECT_EQ(parse_strace_result("1 ([{fd=3, revents=POLLIN}])").value, 1);
  StraceResult restarted = parse_strace_result("? ERESTARTSYS (To be restarted if SA_RESTART is set)");
  EXPECT_TRUE(restarted.returned);
  EXPECT_EQ(restarted.value, -512);
  StraceResult made = parse_strace_result("3</tmp/a \\76 b>(deleted)");
  EXPECT_EQ(made.value, 3);
  EXPECT_EQ(made.annotation, "/tmp/a \\76 b");
  EXPECT_TRUE(made.deleted);
}

TEST(StraceArgs, AreSplitAtTheirOwnCommas) {
  StraceArgs args = split_strace_args("3</a,b>, [{iov_base=\"x, y)\", iov_len=10}, {iov_len=5}], 2 /* a, b */");
  EXPECT_THAT(args.list, ElementsAre("3</a,b>", "[{iov_base=\"x, y)\", iov_len=10}, {iov_len=5}]", "2 /* a, b */"));
  EXPECT_EQ(args.iov_bytes, 15U);
  ASSERT_EQ(args.fds.size(), 1U);
  EXPECT_EQ(args.fds[0].annotation, "/a,b");
  EXPECT_TRUE(split_strace_args("").list.empty());
}

TEST(StraceArgs, FindDescriptorsWithinBrackets) {
  StraceArgs args = split_strace_args("[3<pipe:[7]>, 4<TCP:[1.2.3.4:5->6.7.8.9:10]>], O_CLOEXEC");
  ASSERT_EQ(args.fds.size(), 2U);
  EXPECT_TRUE(args.fds[0].nested);
  EXPECT_EQ(args.fds[1].fd, 4);
  EXPECT_EQ(args.fds[1].annotation, "TCP:[1.2.3.4:5->6.7.8.9:10]");
  EXPECT_TRUE(split_strace_args("1<<10, 3<").fds.empty());
  EXPECT_EQ(split_strace_args("3</etc/passwd->, 4</b>").fds.at(0).annotation, "/etc/passwd-");
}

TEST(StraceArgs, GiveTheRegisters) {
  Call call;
  call.number = 17;
  fill_registers(*find_syscall("pread64"), split_strace_args("7</brick/f>, \"abc\"..., 4096, 1099511627776"), call);
  EXPECT_THAT(call.args, ElementsAre(7, 0, 4096, uint64_t{1} << 40, 0, 0));
  Call open;
  fill_registers(*find_syscall("openat"), split_strace_args("AT_FDCWD</srv>, \"f\", O_RDWR|O_CREAT, 0644"), open);
  EXPECT_THAT(open.args, ElementsAre(static_cast<uint64_t>(int64_t{-100}), 0, 0102, 0644, 0, 0));
  Call vector;
  fill_registers(*find_syscall("pwritev2"), split_strace_args("7, [{iov_len=100}, {iov_len=28}], 2, 4096, 0x2"),
                 vector);
  EXPECT_THAT(vector.args, ElementsAre(7, 0, 2, 4096, 128, 2));
}

TEST(StraceArgs, GiveCommandsAndFlagsByTheirNames) {
  auto fcntl_of = [](std::string_view text) {
    Call call;
    fill_registers(*find_syscall("fcntl"), split_strace_args(text), call);
    return call.args[1];
  };
  EXPECT_EQ(fcntl_of("3</a>, F_DUPFD, 10"), 0U);
  EXPECT_EQ(fcntl_of("3</a>, F_GETFL"), 3U);
  EXPECT_EQ(fcntl_of("3</a>, F_DUPFD_CLOEXEC, 10"), 1030U);
  EXPECT_EQ(fcntl_of("3</a>, 7, 0"), 7U);
  EXPECT_EQ(fcntl_of("3</a>, F_OF_THE_FUTURE, 0"), kNoFcntlCommand);
  EXPECT_EQ(fcntl_of(""), kNoFcntlCommand);  // its first half was not seen
  Call peek;
  fill_registers(*find_syscall("recvfrom"), split_strace_args("5, \"\", 24, MSG_PEEK|MSG_DONTWAIT, NULL, NULL"), peek);
  EXPECT_EQ(peek.args[3], 0x42U);
  Call message;
  fill_registers(*find_syscall("recvmsg"), split_strace_args("5, {msg_namelen=0}, MSG_PEEK|0x400"), message);
  EXPECT_EQ(message.args[2], 0x402U);
}

TEST(StraceArgs, GiveThePeerOfConnect) {
  auto peer_of = [](std::string_view address) { return strace_peer(split_strace_args(cat("3, ", address, ", 16"))); };
  EXPECT_EQ(peer_of("{sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr(\"10.0.0.2\")}"), "10.0.0.2:80");
  EXPECT_EQ(peer_of("{sa_family=AF_INET6, sin6_port=htons(80), inet_pton(AF_INET6, \"::1\", &sin6_addr)}"), "[::1]:80");
  EXPECT_EQ(peer_of("{sa_family=AF_UNIX, sun_path=\"/run/s\"}"), "");
  EXPECT_EQ(peer_of("{sa_family=AF_INET, sin_port=htons(80)}"), "");
  EXPECT_EQ(peer_of("{sa_family=AF_INET, sin_port=htons(99999), sin_addr=inet_addr(\"10.0.0.2\")}"), "");
  EXPECT_EQ(peer_of("{sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr(\"10.0.0"), "");
  EXPECT_EQ(strace_peer(split_strace_args("3")), "");
}

TEST(StraceArgs, GiveThePath) {
  const Syscall& openat = *find_syscall("openat");
  EXPECT_EQ(strace_path(openat, split_strace_args("AT_FDCWD</srv>, \"a\\nb\", O_RDONLY")), "/srv/a\nb");
  EXPECT_EQ(strace_path(openat, split_strace_args("AT_FDCWD</srv>, \"/x\", O_RDONLY")), "/x");
  EXPECT_EQ(strace_path(openat, split_strace_args("AT_FDCWD, \"x\", O_RDONLY")), "x");
  EXPECT_EQ(strace_path(openat, split_strace_args("AT_FDCWD, 0x7f00")), "");
  EXPECT_EQ(strace_path(openat, split_strace_args("")), "");
}

TEST(StraceFd, OfAllKinds) {
  FdRecord tcp = parse_fd_annotation("TCPv6:[[::1]:80->[::1]:5000]", false);
  EXPECT_EQ(tcp.kind, FdKind::socket);
  EXPECT_EQ(tcp.protocol, "TCP");
  EXPECT_EQ(tcp.local, "[::1]:80");
  EXPECT_EQ(tcp.peer, "[::1]:5000");
  FdRecord local = parse_fd_annotation("UNIX-STREAM:[12->13,\"/run/s,t\"]", false);
  EXPECT_EQ(local.protocol, "UNIX");
  EXPECT_EQ(local.inode, 12U);
  EXPECT_EQ(local.peer, "13");
  EXPECT_EQ(local.name, "/run/s,t");
  EXPECT_EQ(parse_fd_annotation("UNIX:[12,@\"x\"]", false).name, "@x");
  EXPECT_EQ(parse_fd_annotation("UNIX:[\",\"]", false).name, "");
  FdRecord device = parse_fd_annotation("/dev/fuse<char 10:229>", false);
  EXPECT_EQ(device.kind, FdKind::device);
  EXPECT_EQ(device.name, "/dev/fuse");
  EXPECT_EQ(parse_fd_annotation("/tmp/x", true).name, "/tmp/x (deleted)");
  EXPECT_EQ(parse_fd_annotation("pipe:[7]", false).kind, FdKind::pipe);
  EXPECT_EQ(parse_fd_annotation("pipe:[7]", false).inode, 7U);
  EXPECT_EQ(parse_fd_annotation("anon_inode:[eventpoll]", false).kind, FdKind::anonymous);
  EXPECT_EQ(parse_fd_annotation("NETLINK:[ROUTE:4711]", false).local, "");
  EXPECT_EQ(parse_fd_annotation("socket:[99]", false).inode, 99U);
}

}  // namespace
}  // namespace culprit
