#include "calls/fd_map.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cerrno>

namespace culprit {
namespace {

FdRecord record(int64_t t_ns, int32_t process, int32_t fd, const std::string& name) {
  FdRecord made;
  made.t_ns = t_ns;
  made.process = process;
  made.fd = fd;
  made.name = name;
  return made;
}

FdRecord failed(uint64_t sequence, const std::string& name) {
  FdRecord made = record(5, 1, -1, name);
  made.kind = FdKind::path;
  made.sequence = sequence;
  return made;
}

std::string name_at(const FdMap& map, int32_t process, int32_t fd, int64_t t_ns) {
  const FdRecord* found = map.find(process, fd, t_ns);
  return found ? found->name : "nothing";
}

TEST(FdMap, KnowsWhatADescriptorWasAtAnyTime) {
  FdMap map({record(20, 1, 3, "b"), record(10, 1, 3, "a"), record(15, 2, 3, "c"), record(20, 1, 4, "d")});
  EXPECT_EQ(name_at(map, 1, 3, 9), "nothing");
  EXPECT_EQ(name_at(map, 1, 3, 10), "a");
  EXPECT_EQ(name_at(map, 1, 3, 19), "a");
  EXPECT_EQ(name_at(map, 1, 3, 20), "b");
  EXPECT_EQ(name_at(map, 1, 3, INT64_MAX), "b");
  EXPECT_EQ(name_at(map, 2, 3, 20), "c");
  EXPECT_EQ(name_at(map, 1, 4, 19), "nothing");
  EXPECT_EQ(name_at(map, 1, 5, 50), "nothing");
  EXPECT_EQ(name_at(map, 1, -1, 50), "nothing");
}

TEST(FdMap, OfTwoAtTheSameTimeTheLaterRecordHolds) {
  FdMap map({record(10, 1, 3, "first"), record(10, 1, 3, "second")});
  EXPECT_EQ(name_at(map, 1, 3, 10), "second");
}

TEST(FdMap, FailedPathsAreFoundByTheirCall) {
  FdMap map({failed(9, "/brick/x"), failed(7, "/brick/y"), failed(0, "/brick/z")});
  ASSERT_NE(map.failed_path(7), nullptr);
  EXPECT_EQ(map.failed_path(7)->name, "/brick/y");
  EXPECT_EQ(map.failed_path(8), nullptr);
  EXPECT_EQ(map.failed_path(0), nullptr);
  EXPECT_EQ(map.find(1, -1, 50), nullptr);
}

TEST(FdMap, RecordsAreByTime) {
  FdMap map({record(20, 1, 3, "b"), record(10, 1, 3, "a")});
  EXPECT_EQ(map.records().front().name, "a");
  EXPECT_EQ(FdMap().find(1, 1, 1), nullptr);
}

TEST(FdOf, IsTheDescriptorOfTheCall) {
  Call call;
  call.number = SYS_pwrite64;
  call.args[0] = 7;
  EXPECT_EQ(fd_of(call), 7);
  call.args[0] = 0xdeadbeef00000007;  // the kernel takes 32 bits
  EXPECT_EQ(fd_of(call), 7);
  call.number = SYS_getpid;
  EXPECT_EQ(fd_of(call), -1);
  call.number = SYS_openat;
  call.args[0] = static_cast<uint64_t>(int64_t{-100});  // AT_FDCWD
  EXPECT_EQ(fd_of(call), -1);
}

TEST(FdOf, CompletionsHaveTheirsFirstAndSignalsNone) {
  Call call;
  call.args[0] = 5;
  call.number = 1;
  call.kind = CallKind::aio;
  EXPECT_EQ(fd_of(call), 5);
  call.kind = CallKind::uring;
  EXPECT_EQ(fd_of(call), 5);
  call.kind = CallKind::signal;
  EXPECT_EQ(fd_of(call), -1);
  call.kind = CallKind::exit;
  EXPECT_EQ(fd_of(call), -1);
}

TEST(TargetOf, IsWhatTheDescriptorWasWhenTheCallBegan) {
  FdMap map({record(10, 1, 7, "before"), record(20, 1, 7, "after")});
  Call call;
  call.number = SYS_read;
  call.process = 1;
  call.args[0] = 7;
  call.start_ns = 19;
  call.duration_ns = 100;
  ASSERT_NE(target_of(call, map), nullptr);
  EXPECT_EQ(target_of(call, map)->name, "before");
}

TEST(TargetOf, IsNothingWhenTheDescriptorIsNotOpen) {
  FdMap map({record(10, 1, 7, "closed long ago")});
  Call call;
  call.number = SYS_write;
  call.process = 1;
  call.args[0] = 7;
  call.start_ns = 19;
  call.result = -EBADF;
  EXPECT_EQ(target_of(call, map), nullptr);
  call.result = -EIO;
  EXPECT_NE(target_of(call, map), nullptr);
}

TEST(MadeFd, AlsoByFcntl) {
  Call call;
  call.number = SYS_dup;
  call.result = 9;
  EXPECT_EQ(made_fd(call), 9);
  call.number = SYS_fcntl;
  call.args[1] = F_DUPFD_CLOEXEC;
  EXPECT_EQ(made_fd(call), 9);
  call.args[1] = F_GETFL;
  EXPECT_EQ(made_fd(call), -1);
  call.number = SYS_openat;
  call.result = -ENOENT;
  EXPECT_EQ(made_fd(call), -1);
  call.result = 9;
  call.duration_ns = kUnfinished;
  EXPECT_EQ(made_fd(call), -1);
}

}  // namespace
}  // namespace culprit
