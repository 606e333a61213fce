#include "calls/syscalls.h"

#include <asm/unistd.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cerrno>
#include <cstring>

#include "base/fd.h"
#include "base/text.h"

namespace culprit {
namespace {

TEST(Syscalls, AreInOrderAndFoundByNumberAndName) {
  int last = -1;
  for (const Syscall& call : syscalls()) {
    EXPECT_GT(call.number, last);
    EXPECT_LT(call.number, kMostSyscalls);
    EXPECT_EQ(find_syscall(call.number), &call);
    EXPECT_EQ(find_syscall(call.name), &call);
    last = call.number;
  }
  EXPECT_EQ(find_syscall(-1), nullptr);
  EXPECT_EQ(find_syscall(400), nullptr);
  EXPECT_EQ(find_syscall(1 << 30), nullptr);
  EXPECT_EQ(find_syscall("no_such_call"), nullptr);
}

TEST(Syscalls, HaveTheKernelsNumbers) {
  struct Row {
    const char* name;
    int number;
  };
#define ROW(name) \
  { #name, __NR_##name }
  constexpr Row kRows[] = {ROW(read),      ROW(pwrite64),       ROW(writev),      ROW(openat),
                           ROW(openat2),   ROW(exit_group),     ROW(epoll_wait),  ROW(io_submit),
                           ROW(recvmsg),   ROW(pwritev2),       ROW(accept4),     ROW(renameat2),
                           ROW(statx),     ROW(io_uring_enter), ROW(clone3),      ROW(close_range),
                           ROW(fallocate), ROW(fdatasync),      ROW(futex_waitv), ROW(sync_file_range)};
#undef ROW
  for (const Row& row : kRows) {
    ASSERT_NE(find_syscall(row.name), nullptr) << row.name;
    EXPECT_EQ(find_syscall(row.name)->number, row.number) << row.name;
  }
}

// Every line of the machine's own header, which may be older than the table.
TEST(Syscalls, AgreeWithTheHeaderOfThisMachine) {
  auto header = read_file("/usr/include/x86_64-linux-gnu/asm/unistd_64.h");
  if (!header) GTEST_SKIP() << "this machine has no such header";
  int compared = 0;
  for (std::string_view line : split(*header, '\n')) {
    constexpr std::string_view kDefine = "#define __NR_";
    if (!line.starts_with(kDefine)) continue;
    auto words = split(line.substr(kDefine.size()), ' ');
    auto number = parse_int(words.back());
    const Syscall* known = find_syscall(words.front());
    if (!number || *number >= 470) continue;  // made after this table
    ASSERT_NE(known, nullptr) << words.front();
    EXPECT_EQ(known->number, *number) << words.front();
    ++compared;
  }
  EXPECT_GT(compared, 300);
}

TEST(Syscalls, NameTheDescriptorTheyWorkOn) {
  EXPECT_EQ(fd_argument(__NR_read), 0);
  EXPECT_EQ(fd_argument(__NR_mmap), 4);
  EXPECT_EQ(fd_argument(__NR_io_submit), -1);
  EXPECT_EQ(fd_argument(__NR_epoll_ctl), 0);
  EXPECT_EQ(fd_argument(__NR_openat), 0);
  EXPECT_EQ(fd_argument(__NR_symlinkat), 1);
  EXPECT_EQ(fd_argument(__NR_open), -1);
  EXPECT_EQ(fd_argument(999), -1);
}

TEST(Syscalls, NameTheirPath) {
  EXPECT_EQ(path_argument(__NR_open), 0);
  EXPECT_EQ(path_argument(__NR_openat), 1);
  EXPECT_EQ(path_argument(__NR_symlinkat), 2);
  EXPECT_EQ(path_argument(__NR_mount), 1);
  EXPECT_EQ(path_argument(__NR_read), -1);
}

TEST(Syscalls, CountTheirArguments) {
  EXPECT_EQ(argument_count(__NR_getpid), 0);
  EXPECT_EQ(argument_count(__NR_read), 3);
  EXPECT_EQ(argument_count(__NR_preadv), 5);
  EXPECT_EQ(argument_count(__NR_mmap), 6);
  EXPECT_EQ(argument_count(999), 6);
  EXPECT_EQ(syscall_name(999), "syscall_999");
}

// A call that takes buffers must not use the argument that holds their bytes.
TEST(Syscalls, KeepAPlaceForTheBytesOfAVector) {
  EXPECT_EQ(vector_bytes_argument(__NR_readv), 5);
  EXPECT_EQ(vector_bytes_argument(__NR_pwritev), 5);
  EXPECT_EQ(vector_bytes_argument(__NR_pwritev2), 4);
  EXPECT_EQ(vector_bytes_argument(__NR_read), -1);
  for (const Syscall& call : syscalls()) {
    int at = vector_bytes_argument(call.number);
    if (at < 0) continue;
    Arg there = call.args[static_cast<size_t>(at)];
    EXPECT_TRUE(there == Arg::none || there == Arg::hidden) << call.name;
    EXPECT_NE(call.transfer, Transfer::none) << call.name;
  }
}

TEST(Syscalls, KnowTheBytesAskedFor) {
  Call call;
  call.number = __NR_pread64;
  call.args = {7, 0x1000, 4096, 8192, 0, 0};
  EXPECT_EQ(bytes_asked(call), 4096);
  call.number = __NR_sendfile;
  EXPECT_EQ(bytes_asked(call), 8192);
  call.number = __NR_writev;
  call.args[5] = 100;
  EXPECT_EQ(bytes_asked(call), 100);
  call.number = __NR_fsync;
  EXPECT_EQ(bytes_asked(call), -1);
  call.number = __NR_read;
  call.args[2] = ~uint64_t{0};
  EXPECT_EQ(bytes_asked(call), -1);
  call.kind = CallKind::aio;
  EXPECT_EQ(bytes_asked(call), 0x1000);
}

TEST(Syscalls, DescriptorsAreMadeOnlyWhereTheyAre) {
  for (const char* name :
       {"open", "openat", "openat2", "creat", "socket", "accept4", "dup3", "epoll_create1", "eventfd2", "memfd_create",
        "pidfd_getfd", "io_uring_setup", "open_by_handle_at", "inotify_init"})
    EXPECT_TRUE(find_syscall(name)->returns_fd) << name;
  for (const char* name : {"read", "bpf", "fcntl", "pipe2", "socketpair", "mmap", "close"})
    EXPECT_FALSE(find_syscall(name)->returns_fd) << name;
}

TEST(Names, OfErrorsAreThoseOfTheLibrary) {
  for (int number = 1; number <= 133; ++number) {
    const char* known = strerrorname_np(number);
    if (!known) continue;
    EXPECT_EQ(errno_name(number), known);
    EXPECT_EQ(errno_number(known), number);
  }
  EXPECT_EQ(errno_number("ENOTSUP"), EOPNOTSUPP);
  EXPECT_EQ(errno_number("EWOULDBLOCK"), EAGAIN);
  EXPECT_EQ(errno_name(512), "ERESTARTSYS");
  EXPECT_EQ(errno_number("ERESTART_RESTARTBLOCK"), 516);
  EXPECT_EQ(errno_name(999), "errno 999");
  EXPECT_EQ(errno_number(""), 0);
  EXPECT_EQ(errno_number("EWHAT"), 0);
}

TEST(Names, OfSignalsGoBothWays) {
  EXPECT_EQ(signal_name(SIGXFSZ), "SIGXFSZ");
  EXPECT_EQ(signal_name(SIGKILL), "SIGKILL");
  EXPECT_EQ(signal_name(SIGSYS), "SIGSYS");
  EXPECT_EQ(signal_name(35), "SIGRT_3");
  EXPECT_EQ(signal_name(65), "signal 65");
  for (int number = 1; number <= 64; ++number) EXPECT_EQ(signal_number(signal_name(number)), number);
  EXPECT_EQ(signal_number("SIGPOLL"), SIGIO);
  EXPECT_EQ(signal_number("SIGRT_33"), 0);
  EXPECT_EQ(signal_number("SIGRT_"), 0);
}

TEST(Names, OfOpenFlagsGoBothWays) {
  uint64_t flags = O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC;
  EXPECT_EQ(open_flags_text(flags), "O_RDWR|O_CREAT|O_DIRECT|O_CLOEXEC");
  EXPECT_EQ(parse_open_flags(open_flags_text(flags)), flags);
  EXPECT_EQ(open_flags_text(O_SYNC), "O_RDONLY|O_SYNC");
  EXPECT_EQ(open_flags_text(uint64_t{1} << 40), "O_RDONLY|0x10000000000");
  EXPECT_EQ(parse_open_flags("O_RDONLY|0x10000000000|O_WHAT"), uint64_t{1} << 40);
  EXPECT_EQ(parse_open_flags(""), 0U);
}

TEST(Names, OfRequests) {
  EXPECT_EQ(request_name(CallKind::aio, 1), "pwrite");
  EXPECT_EQ(request_name(CallKind::uring, 23), "write");
  EXPECT_EQ(request_name(CallKind::aio, 4), "opcode 4");
  EXPECT_EQ(request_name(CallKind::uring, -1), "opcode -1");
}

}  // namespace
}  // namespace culprit
