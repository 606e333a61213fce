#include "calls/strace_import.h"

#include <asm/unistd.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cerrno>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"
#include "calls/fd_map.h"
#include "calls/syscalls.h"

namespace culprit {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kBase = 1'700'000'000 * kSecond;

struct Imported {
  std::vector<Call> calls;
  std::vector<FdRecord> fds;
  Result<StraceReport> report = input_error("not run");
};

// Lines get the time 1700000000.N, N counting up: "7 close(3) = 0" is of thread 7.
std::string timed(const std::vector<std::string>& lines) {
  std::string text;
  int n = 0;
  for (const std::string& line : lines) {
    size_t blank = line.find(' ');
    text += cat(line.substr(0, blank), " 1700000000.", n++, line.substr(blank), "\n");
  }
  return text;
}

Imported read_text(std::string_view text) {
  Imported out;
  StraceSink sink;
  sink.call = [&](const Call& call) -> Status {
    out.calls.push_back(call);
    return Ok{};
  };
  sink.fd = [&](const FdRecord& record) -> Status {
    out.fds.push_back(record);
    return Ok{};
  };
  out.report = import_strace_text(text, "t.strace", std::move(sink));
  return out;
}

std::vector<std::string> names(const Imported& imported) {
  std::vector<std::string> out;
  for (const FdRecord& record : imported.fds) out.push_back(record.name);
  return out;
}

TEST(StraceImport, OfAFileThatIsOpenedAndWritten) {
  Imported got = read_text(
      timed({"7 openat(AT_FDCWD</srv>, \"/brick/f\", O_RDWR|O_DIRECT) = 3</brick/f> <0.000010>",
             "7 pwrite64(3</brick/f>, \"abc\"..., 4096, 8192) = -1 ENOSPC (No space left on device) <0.000020>",
             "7 close(3</brick/f>) = 0 <0.000001>"}));
  ASSERT_TRUE(got.report.ok()) << got.report.error().message();
  ASSERT_EQ(got.calls.size(), 3U);
  const Call& write = got.calls[1];
  EXPECT_EQ(write.number, __NR_pwrite64);
  EXPECT_EQ(write.sequence, 2U);
  EXPECT_EQ(write.start_ns, kBase + kSecond / 10);
  EXPECT_EQ(write.duration_ns, 20'000);
  EXPECT_EQ(write.process, 7);
  EXPECT_EQ(write.errno_value(), ENOSPC);
  EXPECT_EQ(bytes_asked(write), 4096);
  ASSERT_EQ(got.fds.size(), 1U);
  EXPECT_EQ(got.fds[0].name, "/brick/f");
  EXPECT_EQ(got.fds[0].fd, 3);
  EXPECT_EQ(got.fds[0].t_ns, kBase + 10'000);
  EXPECT_EQ(got.fds[0].flags, 0040002U);
  EXPECT_THAT(got.report->notes, IsEmpty());
}

TEST(StraceImport, GivesFailedPathsAName) {
  Imported got = read_text(timed({"7 openat(AT_FDCWD</srv>, \"new\", O_RDONLY) = -1 ENOENT (No such file) <0.1>"}));
  ASSERT_EQ(got.fds.size(), 1U);
  EXPECT_EQ(got.fds[0].kind, FdKind::path);
  EXPECT_EQ(got.fds[0].name, "/srv/new");
  EXPECT_EQ(got.fds[0].fd, -1);
  FdMap map(got.fds);
  ASSERT_NE(map.failed_path(got.calls.at(0).sequence), nullptr);
}

TEST(StraceImport, PutsHalvesTogether) {
  Imported got = read_text(timed({"7 read(3</a>,  <unfinished ...>", "8 close(4) = 0 <0.000001>",
                                  "7 <... read resumed>\"x\", 10) = 1 <0.200000>"}));
  ASSERT_EQ(got.calls.size(), 2U);
  EXPECT_EQ(got.calls[0].number, __NR_close);
  EXPECT_EQ(got.calls[0].sequence, 2U);
  EXPECT_EQ(got.calls[1].number, __NR_read);
  EXPECT_EQ(got.calls[1].sequence, 1U);
  EXPECT_EQ(got.calls[1].start_ns, kBase);
  EXPECT_EQ(got.calls[1].duration_ns, kSecond / 5);
  EXPECT_EQ(bytes_asked(got.calls[1]), 10);
  EXPECT_EQ(got.fds.at(0).t_ns, kBase);
}

TEST(StraceImport, KeepsWhatNeverReturned) {
  Imported got = read_text(timed({"7 fsync(3</a> <unfinished ...>", "8 read(4</b>,  <unfinished ...>",
                                  "8 +++ killed by SIGKILL +++", "9 exit_group(0) = ?", "9 +++ exited with 0 +++"}));
  ASSERT_EQ(got.calls.size(), 5U);
  EXPECT_EQ(got.calls[0].number, __NR_read);
  EXPECT_FALSE(got.calls[0].finished());
  EXPECT_EQ(got.calls[1].kind, CallKind::exit);
  EXPECT_EQ(got.calls[1].result, 9);
  EXPECT_EQ(got.calls[2].number, __NR_exit_group);
  EXPECT_FALSE(got.calls[2].finished());
  EXPECT_EQ(got.calls[4].number, __NR_fsync);
  EXPECT_FALSE(got.calls[4].finished());
  EXPECT_EQ(got.report->unfinished, 2);
  EXPECT_THAT(names(got), ElementsAre("/a", "/b"));
}

TEST(StraceImport, ACallWhoseThreadWentOnHasReturned) {
  std::string text = timed({"7 read(3</a>,  <unfinished ...>"});
  text += cat("7 1700000000.5 <... read resumed>\"", std::string(kMostStraceLine, 'x'), "\", 99) = 99 <0.1>\n");
  text += "7 1700000001.5 close(3</a>) = 0 <0.1>\n";
  Imported got = read_text(text);
  ASSERT_EQ(got.calls.size(), 1U);
  EXPECT_EQ(got.calls[0].number, __NR_close);
  EXPECT_EQ(got.report->unfinished, 0);
  EXPECT_THAT(got.report->notes, Contains(HasSubstr("1 calls were left out: their second half is missing")));
}

TEST(StraceImport, ALongCallKnowsWhatOthersUseMeanwhile) {
  Imported got = read_text(timed({"7 read(5</a>,  <unfinished ...>", "8 write(5</a>, \"x\", 1) = 1 <0.01>",
                                  "7 <... read resumed>\"y\", 1) = 1 <0.3>"}));
  ASSERT_EQ(got.calls.size(), 2U);
  FdMap map(got.fds);
  for (const Call& call : got.calls) EXPECT_NE(target_of(call, map), nullptr) << call.number;
}

// The child's first line often comes before the parent's clone has returned.
TEST(StraceImport, KnowsThreadsOfAProcess) {
  Imported got = read_text(timed({"7 clone3({flags=CLONE_VM|CLONE_THREAD, child_tid=0x1}, 88 <unfinished ...>",
                                  "8 getpid() = 7 <0.000001>", "7 <... clone3 resumed> => {parent_tid=[8]}) = 8 <0.1>",
                                  "7 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD) = 9 <0.000001>",
                                  "9 getpid() = 9 <0.000001>", "8 +++ exited with 0 +++", "7 +++ exited with 0 +++"}));
  ASSERT_EQ(got.calls.size(), 6U);
  EXPECT_EQ(got.calls[0].thread, 8);
  EXPECT_EQ(got.calls[0].process, 7);
  EXPECT_EQ(got.calls[3].process, 9);
  EXPECT_EQ(got.calls[4].kind, CallKind::exit);
  EXPECT_EQ(got.calls[4].number, 0);  // process 7 still has a thread
  EXPECT_EQ(got.calls[5].number, 1);
}

// As of strace -p: nobody was seen to make them, and 9 is a worker that nobody needs any more.
TEST(StraceImport, ThreadsThatWereThereBeforeAreOneProcess) {
  Imported got =
      read_text(timed({"7 read(3</a>,  <unfinished ...>", "8 futex(0x1, FUTEX_WAIT, 2, NULL <unfinished ...>",
                       "9 +++ exited with 0 +++", "7 <... read resumed>\"x\", 10) = 1 <0.1>",
                       "8 +++ killed by SIGKILL +++", "7 +++ killed by SIGKILL +++"}));
  ASSERT_EQ(got.calls.size(), 5U);
  for (const Call& call : got.calls) EXPECT_EQ(call.process, 7) << call.thread;
  EXPECT_EQ(got.calls[0].kind, CallKind::exit);
  EXPECT_EQ(got.calls[0].number, 0);
  EXPECT_EQ(got.calls[3].number, 0);
  EXPECT_EQ(got.calls[4].number, 1);
  EXPECT_THAT(got.report->notes, Contains("3 threads were there before and count as one process"));
}

TEST(StraceImport, AThreadThatOnlyEndsIsNotTheProcess) {
  Imported got = read_text(timed({"9 +++ exited with 0 +++", "7 read(3</a>, \"x\", 10) = 1 <0.1>",
                                  "8 read(3</a>, \"x\", 10) = 1 <0.1>", "8 +++ exited with 0 +++"}));
  ASSERT_EQ(got.calls.size(), 4U);
  EXPECT_EQ(got.calls[0].process, 9);
  for (size_t i = 1; i < 4; ++i) EXPECT_EQ(got.calls[i].process, 7) << i;
  EXPECT_EQ(got.calls[3].number, 0) << "7 lives on";
}

TEST(StraceImport, ThreadsThatWereThereBeforeStayApartAtAClientAndBelowACommand) {
  std::vector<int32_t> processes;
  StraceSink sink;
  sink.call = [&](const Call& call) -> Status {
    processes.push_back(call.process);
    return Ok{};
  };
  sink.fd = [](const FdRecord&) -> Status { return Ok{}; };
  StraceImporter importer(std::move(sink), "t.strace", false);
  ASSERT_TRUE(importer.line("7 1700000000.1 close(3) = 0 <0.1>").ok());
  ASSERT_TRUE(importer.line("8 1700000000.2 close(3) = 0 <0.1>").ok());
  ASSERT_TRUE(importer.finish().ok());
  EXPECT_THAT(processes, ElementsAre(7, 8));
  Imported got = read_text(timed({"7 execve(\"/x\", [\"x\"], 0x1) = 0 <0.1>", "8 close(3) = 0 <0.1>"}));
  ASSERT_EQ(got.calls.size(), 2U);
  EXPECT_EQ(got.calls[1].process, 8);
}

// 8 was there before, but its first line comes while 7 is making 9.
TEST(StraceImport, WhoIsTakenForAChildInVainWasThereBefore) {
  Imported got = read_text(timed({"7 vfork( <unfinished ...>", "8 read(3</a>, \"\", 1) = 0 <0.1>",
                                  "9 execve(\"/x\", [\"x\"], 0x1) = 0 <0.1>", "7 <... vfork resumed>) = 9 <0.2>",
                                  "8 +++ exited with 0 +++", "9 +++ exited with 0 +++"}));
  ASSERT_EQ(got.calls.size(), 5U);
  EXPECT_EQ(got.calls[3].thread, 8);
  EXPECT_EQ(got.calls[3].process, 7);
  EXPECT_EQ(got.calls[3].number, 0);
  EXPECT_EQ(got.calls[4].process, 9);
  EXPECT_EQ(got.calls[4].number, 1);
}

TEST(StraceImport, AChildThatEndedBeforeItsCloneReturnedIsNotAlive) {
  Imported got = read_text(timed({"7 clone3({flags=CLONE_VM|CLONE_THREAD}, 88 <unfinished ...>",
                                  "8 getpid() = 7 <0.000001>", "8 +++ exited with 0 +++",
                                  "7 <... clone3 resumed> => {parent_tid=[8]}) = 8 <0.1>", "7 +++ exited with 0 +++"}));
  ASSERT_EQ(got.calls.size(), 4U);
  EXPECT_EQ(got.calls[1].number, 0);
  EXPECT_EQ(got.calls[3].kind, CallKind::exit);
  EXPECT_EQ(got.calls[3].number, 1);
}

TEST(StraceImport, AnExecByAnotherThreadGoesOnUnderTheFirstOnesNumber) {
  Imported got = read_text(timed(
      {"7 clone3({flags=CLONE_VM|CLONE_THREAD}, 88) = 8 <0.1>", "7 futex(0x1, FUTEX_WAIT, 2, NULL <unfinished ...>",
       "8 execve(\"/x\", [\"x\"], 0x1 /* 2 vars */ <pid changed to 7 ...>", "7 +++ superseded by execve in pid 8 +++",
       "7 <... execve resumed>) = 0 <0.001>", "7 +++ exited with 0 +++"}));
  ASSERT_EQ(got.calls.size(), 4U);
  EXPECT_EQ(got.calls[1].number, __NR_futex);
  EXPECT_FALSE(got.calls[1].finished());
  EXPECT_EQ(got.calls[2].number, __NR_execve);
  EXPECT_EQ(got.calls[2].thread, 7);
  EXPECT_EQ(got.calls[2].start_ns, kBase + kSecond / 5);
  EXPECT_EQ(got.calls[2].duration_ns, 1'000'000);
  EXPECT_EQ(got.calls[3].number, 1);  // 8 is no more
}

TEST(StraceImport, OfSignals) {
  Imported got =
      read_text(timed({"7 --- SIGTERM {si_signo=SIGTERM, si_code=SI_USER, si_pid=17, si_uid=0} ---",
                       "7 --- SIGSEGV {si_signo=SIGSEGV, si_code=SEGV_ACCERR, si_addr=0x10} ---",
                       "7 read(0</a>, 0x1, 5) = ? ERESTARTSYS (To be restarted if SA_RESTART is set) <0.1>"}));
  ASSERT_EQ(got.calls.size(), 3U);
  EXPECT_EQ(got.calls[0].kind, CallKind::signal);
  EXPECT_EQ(got.calls[0].number, 15);
  EXPECT_THAT(got.calls[0].args, ElementsAre(0, 17, 0, 0, 0, 0));
  EXPECT_THAT(got.calls[1].args, ElementsAre(2, 0, 0, 0, 0, 0));
  EXPECT_EQ(got.calls[2].errno_value(), 512);
  EXPECT_TRUE(got.calls[2].finished());
}

TEST(StraceImport, ShowsADescriptorOnlyWhenItIsNew) {
  Imported got = read_text(timed({"7 read(3</a>, \"\", 1) = 0 <0.1>", "7 read(3</a>, \"\", 1) = 0 <0.1>",
                                  "7 connect(4<TCP:[99]>, {sa_family=AF_INET}, 16) = 0 <0.1>",
                                  "7 write(4<TCP:[1.2.3.4:5->6.7.8.9:10]>, \"x\", 1) = 1 <0.1>",
                                  "7 pipe2([5<pipe:[7]>, 6<pipe:[7]>], O_CLOEXEC) = 0 <0.000002>"}));
  ASSERT_EQ(got.fds.size(), 5U);
  EXPECT_EQ(got.fds[1].inode, 99U);
  EXPECT_EQ(got.fds[2].peer, "6.7.8.9:10");
  EXPECT_EQ(got.fds[4].fd, 6);
  EXPECT_EQ(got.fds[4].t_ns, got.calls[4].end_ns());
}

TEST(StraceImport, ARefusedSocketHasThePeerThatItWasToReach) {
  Imported got = read_text(
      timed({"7 connect(12<TCP:[48211]>, {sa_family=AF_INET, sin_port=htons(49152), sin_addr=inet_addr(\"10.0.0.2\")}, "
             "16) = -1 ECONNREFUSED (Connection refused) <0.1>",
             "7 readv(12<TCP:[48211]>, 0x1, 1) = -1 ECONNREFUSED (Connection refused) <0.1>",
             "7 connect(13<TCPv6:[48212]>, {sa_family=AF_INET6, sin6_port=htons(24007), sin6_flowinfo=htonl(0), "
             "inet_pton(AF_INET6, \"fe80::1\", &sin6_addr), sin6_scope_id=0}, 28) = -1 EINPROGRESS (Now) <0.1>",
             "7 write(13<TCPv6:[[fe80::2]:5->[fe80::1]:24007]>, \"x\", 1) = 1 <0.1>"}));
  ASSERT_EQ(got.fds.size(), 3U);
  EXPECT_EQ(got.fds[0].peer, "10.0.0.2:49152");
  EXPECT_EQ(got.fds[0].t_ns, kBase);
  EXPECT_EQ(got.fds[1].peer, "[fe80::1]:24007");
  EXPECT_EQ(got.fds[1].local, "");
  EXPECT_EQ(got.fds[2].local, "[fe80::2]:5");
  Surroundings around;
  around.server = false;
  around.data_ports = {{49152, 49152}};
  around.peers.push_back({"s2", "10.0.0.2", NodeKind::server});
  EXPECT_EQ(classify(got.fds[0], around), FdClass::to_server);
}

TEST(StraceImport, SaysWhatItLeftOut) {
  std::string text = timed({"7 close(3</a>) = 0 <0.1>", "7 frobnicate(1) = 0 <0.1>", "7 close(4</a>) = 0"});
  text += "what is this\n" + std::string(kMostStraceLine + 1, 'x') + "\n7 1700000001.5 write(1, \"cut of";
  Imported got = read_text(text);
  ASSERT_TRUE(got.report.ok());
  EXPECT_EQ(got.calls.size(), 2U);
  EXPECT_EQ(got.report->skipped, 2);
  EXPECT_THAT(got.report->notes, Contains(HasSubstr("the first is line 4")));
  EXPECT_THAT(got.report->notes, Contains(HasSubstr("not known: frobnicate")));
  EXPECT_THAT(got.report->notes, Contains(HasSubstr("64 KiB")));
  EXPECT_THAT(got.report->notes, Contains(HasSubstr("strace -T")));
}

TEST(StraceImport, RefusesTextWithoutTimes) {
  for (const char* text : {"7 close(3) = 0\n", "7 12:34:56.123456 close(3) = 0 <0.1>\n"}) {
    Imported got = read_text(text);
    ASSERT_FALSE(got.report.ok());
    EXPECT_THAT(got.report.error().what, HasSubstr("t.strace, line 1"));
    EXPECT_THAT(got.report.error().hint, HasSubstr("-ttt"));
  }
}

TEST(StraceImport, RefusesOtherFiles) {
  EXPECT_FALSE(read_text("").report.ok());
  EXPECT_FALSE(read_text(std::string_view("\x7f"
                                          "ELF\0\0\0\n\n\0",
                                          10))
                   .report.ok());
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "not a call\n";
  EXPECT_THAT(read_text(many).report.error().what, HasSubstr("is not the text of strace"));
}

TEST(StraceImport, PassesOnErrorsOfTheSink) {
  StraceSink sink;
  sink.call = [](const Call&) -> Status { return input_error("full"); };
  sink.fd = [](const FdRecord&) -> Status { return Ok{}; };
  auto report = import_strace_text(timed({"7 close(3) = 0 <0.1>"}), "t.strace", std::move(sink));
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().what, "full");
}

TEST(StraceImport, MakesLogs) {
  std::string folder = "/tmp/strace_import_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::string text = timed({"7 fsync(3</brick/f>) = 0 <0.1>", "7 write(1</out>, \"\", 5) = 5 <0.1>"});
  ASSERT_TRUE(write_file_atomically(folder + "/t", text).ok());
  LogHeader header;
  header.node = "s1";
  header.around.storage = {"/brick"};
  auto report = import_strace(folder + "/t", folder + "/s1", header);
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_EQ(report->calls, 2);
  auto reader = CallLogReader::open(folder + "/s1");
  ASSERT_TRUE(reader.ok()) << reader.error().message();
  EXPECT_EQ(reader->header().backend, "strace");
  EXPECT_EQ(reader->header().start_ns, kBase);
  ASSERT_EQ(reader->fds().size(), 2U);
  EXPECT_EQ(reader->fds()[0].fd_class, FdClass::storage);
  EXPECT_EQ(reader->fds()[1].fd_class, FdClass::other);
  EXPECT_FALSE(import_strace(folder + "/missing", folder + "/s2", header).ok());
  EXPECT_FALSE(path_exists(folder + "/s2.sclog"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace culprit
