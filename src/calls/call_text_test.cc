#include "calls/call_text.h"

#include <asm/unistd.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cerrno>

#include "base/text.h"

namespace culprit {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr int64_t kStart = 1'700'000'000'000'000'000;
constexpr TextOptions kBare = {.time = false, .thread = false, .names = true, .class_of = false};
constexpr uint64_t kCwd = static_cast<uint64_t>(int64_t{-100});

FdRecord file(int32_t fd, std::string name) {
  FdRecord record;
  record.t_ns = kStart;
  record.process = 4711;
  record.fd = fd;
  record.name = std::move(name);
  return record;
}

Call call_of(int number, std::array<uint64_t, 6> args, int64_t result) {
  Call call;
  call.sequence = 5;
  call.start_ns = kStart + 1000;
  call.duration_ns = 213'000;
  call.process = 4711;
  call.thread = 4712;
  call.number = number;
  call.args = args;
  call.result = result;
  return call;
}

std::string bare(const Call& call, const std::vector<FdRecord>& records = {}) {
  return call_text(call, FdMap(records), kBare);
}

TEST(CallText, LooksLikeStrace) {
  Call call = call_of(__NR_pwrite64, {7, 0x1000, 4096, 0, 0, 0}, 4096);
  FdMap fds({file(7, "/brick/f")});
  EXPECT_EQ(call_text(call, fds, kBare), "pwrite64(7</brick/f>, ..., 4096, 0) = 4096 <0.000213>");
  EXPECT_EQ(call_text(call, fds), "[pid 4712] 1700000000.000001 pwrite64(7</brick/f>, ..., 4096, 0) = 4096 <0.000213>");
  EXPECT_EQ(call_text(call, fds, {.time = false, .thread = false, .names = false, .class_of = true}),
            "other pwrite64(7, ..., 4096, 0) = 4096 <0.000213>");
}

TEST(CallText, SaysWhatFailed) {
  Call call = call_of(__NR_pwrite64, {7, 0x1000, 4096, 0, 0, 0}, -ENOSPC);
  EXPECT_EQ(bare(call), "pwrite64(7, ..., 4096, 0) = -1 ENOSPC (No space left on device) <0.000213>");
  call.result = -512;
  EXPECT_EQ(bare(call), "pwrite64(7, ..., 4096, 0) = ? ERESTARTSYS <0.000213>");
}

TEST(CallText, ShowsThePathThatFailed) {
  FdRecord path = file(-1, "/brick/\"new\"\n");
  path.kind = FdKind::path;
  path.sequence = 5;
  Call call = call_of(__NR_openat, {kCwd, 0x1000, O_RDONLY, 0, 0, 0}, -ENOENT);
  EXPECT_THAT(bare(call, {path}), StartsWith("openat(AT_FDCWD, \"/brick/\\\"new\\\"\\n\", O_RDONLY) = -1 ENOENT"));
  EXPECT_THAT(bare(call), StartsWith("openat(AT_FDCWD, ..., O_RDONLY) = -1 ENOENT"));
}

TEST(CallText, NamesTheDescriptorThatWasMade) {
  Call call = call_of(__NR_openat, {kCwd, 0x1000, O_RDWR | O_CREAT, 0644, 0, 0}, 7);
  FdRecord made = file(7, "/brick/f");
  made.t_ns = call.end_ns();
  FdRecord before = file(7, "/brick/old");
  EXPECT_EQ(bare(call, {before, made}), "openat(AT_FDCWD, ..., O_RDWR|O_CREAT, 0644) = 7</brick/f> <0.000213>");
}

TEST(CallText, OfWhatNeverReturned) {
  Call call = call_of(__NR_fsync, {7}, 0);
  call.duration_ns = kUnfinished;
  EXPECT_EQ(bare(call), "fsync(7) = ? <unfinished ...>");
  call.number = __NR_exit_group;
  call.args[0] = 1;
  EXPECT_EQ(bare(call), "exit_group(1) = ?");
}

TEST(CallText, OfVectorsAndLargeOffsets) {
  EXPECT_THAT(bare(call_of(__NR_writev, {7, 0x1000, 3, 0, 0, 12288}, 12288)),
              StartsWith("writev(7, [{iov_len=12288}], 3) = 12288"));
  EXPECT_THAT(bare(call_of(__NR_pwritev2, {7, 0x1000, 1, uint64_t{1} << 40, 512, 2}, 512)),
              StartsWith("pwritev2(7, [{iov_len=512}], 1, 1099511627776, 0x2) = 512"));
  EXPECT_THAT(bare(call_of(__NR_lseek, {7, ~uint64_t{0}, 0xffffffff}, 0)), StartsWith("lseek(7, -1, -1) = 0"));
}

TEST(CallText, OfOddCalls) {
  EXPECT_THAT(bare(call_of(999, {1, 2, 3, 4, 5, 0}, 0)), StartsWith("syscall_999(0x1, 0x2, 0x3, 0x4, 0x5, 0) = 0"));
  EXPECT_THAT(bare(call_of(__NR_mmap, {0, 4096, 3, 0x22, 0xffffffff, 0}, 0x7f0000000000)),
              StartsWith("mmap(NULL, 4096, 0x3, 0x22, -1, 0) = 0x7f0000000000"));
  EXPECT_THAT(bare(call_of(__NR_kill, {17, SIGTERM}, 0)), StartsWith("kill(17, SIGTERM) = 0"));
  EXPECT_THAT(bare(call_of(__NR_kill, {17, 0}, 0)), StartsWith("kill(17, 0) = 0"));
}

TEST(CallText, OfSignalsEndsAndCompletions) {
  Call call = call_of(SIGTERM, {0, 17}, 0);
  call.kind = CallKind::signal;
  EXPECT_EQ(bare(call), "--- SIGTERM {si_signo=SIGTERM, si_code=0, si_pid=17} ---");
  call.kind = CallKind::exit;
  call.result = 3 << 8;
  EXPECT_EQ(bare(call), "+++ exited with 3 +++");
  call.result = SIGSEGV | 0x80;
  EXPECT_EQ(bare(call), "+++ killed by SIGSEGV (core dumped) +++");
  Call done = call_of(1, {7, 4096, 8192, 0}, 4096);
  done.kind = CallKind::aio;
  EXPECT_EQ(bare(done, {file(7, "/brick/f")}), "aio: pwrite(7</brick/f>, 4096, 8192) = 4096 <0.000213>");
}

TEST(FdText, OfSockets) {
  FdRecord record = file(7, "");
  record.kind = FdKind::socket;
  record.inode = 12;
  EXPECT_EQ(fd_text(record), "<socket:[12]>");
  record.protocol = "TCP";
  EXPECT_EQ(fd_text(record), "<TCP:[12]>");
  record.name = "socket:[12]";
  EXPECT_EQ(fd_text(record), "<TCP:[12]>");
  record.name = "";
  record.local = "10.0.0.1:49152";
  record.peer = "10.0.0.7:1023";
  EXPECT_EQ(fd_text(record), "<TCP:[10.0.0.1:49152->10.0.0.7:1023]>");
  EXPECT_EQ(target_name(record), "TCP:[10.0.0.1:49152->10.0.0.7:1023]");
  record.local = "[::1]:80";
  record.peer = "";
  EXPECT_EQ(fd_text(record), "<TCPv6:[[::1]:80]>");
}

TEST(Escapes, GoBothWays) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(static_cast<unsigned char>(c));
  std::string escaped = escape_name(all + "7");
  EXPECT_EQ(unescape_name(escaped), all + "7");
  EXPECT_EQ(escaped.find_first_of(std::string_view("\n\t\0\x1b<>", 6)), std::string::npos);
  EXPECT_EQ(unescape_name("a\\76b\\x41\\q\\"), "a>bAq\\");
}

TEST(RecordTarget, IsThePathThenTheNewDescriptorThenTheOldOne) {
  FdRecord path = file(-1, "/brick/missing");
  path.kind = FdKind::path;
  path.sequence = 5;
  FdMap fds({file(7, "/brick"), file(8, "/brick/f"), path});
  Call call = call_of(__NR_openat, {7, 0x1000, 0, 0, 0, 0}, 8);
  EXPECT_EQ(record_target(call, fds).fd, 8);
  EXPECT_EQ(record_target(call, fds).what->name, "/brick/f");
  call.result = -ENOENT;
  EXPECT_EQ(record_target(call, fds).fd, 7);
  EXPECT_EQ(record_target(call, fds).what->name, "/brick/missing");
  call.duration_ns = kUnfinished;
  EXPECT_EQ(record_target(call, fds).what->name, "/brick");
}

}  // namespace
}  // namespace culprit
