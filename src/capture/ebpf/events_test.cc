#include "capture/ebpf/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstring>
#include <vector>

namespace culprit {
namespace {

using std::string_literals::operator""s;

class Kept : public CaptureSink {
 public:
  void on_call(size_t node, const Call& call) override {
    calls.push_back(call);
    nodes.push_back(node);
  }
  void on_fd(size_t node, FdRecord record) override {
    fds.push_back(std::move(record));
    nodes.push_back(node);
  }
  void on_sum(size_t, const CallSum&) override {}

  std::vector<Call> calls;
  std::vector<FdRecord> fds;
  std::vector<size_t> nodes;
};

EventContext context() {
  return {2, 1'000'000};
}

template <class Record>
std::string bytes_of(const Record& record, size_t size = sizeof(Record)) {
  return {reinterpret_cast<const char*>(&record), size};
}

std::string bytes_with_text(syscap_fd record, const std::string& text) {
  record.type = kSyscapFd;
  record.text_bytes = static_cast<__u16>(text.size());
  return bytes_of(record, offsetof(syscap_fd, text)) + text;
}

FdRecord described(const syscap_fd& record, const std::string& text) {
  Kept kept;
  EventContext fresh = context();
  EXPECT_TRUE(deliver_event(bytes_with_text(record, text), fresh, kept));
  return kept.fds.empty() ? FdRecord{} : kept.fds.front();
}

TEST(Events, ACallKeepsEverything) {
  syscap_call record{};
  record.type = kSyscapCall;
  record.node = 1;
  record.number = 17;
  record.sequence = 99;
  record.start_ns = 5'000;
  record.duration_ns = 300;
  record.process = 10;
  record.thread = 11;
  for (unsigned i = 0; i < 6; ++i) record.args[i] = ~__u64{i};  // pread64 has four
  record.result = -28;
  Kept kept;
  EventContext fresh = context();
  ASSERT_TRUE(deliver_event(bytes_of(record), fresh, kept));
  ASSERT_EQ(kept.calls.size(), 1U);
  const Call& call = kept.calls.front();
  EXPECT_EQ(kept.nodes.front(), 1U);
  EXPECT_EQ(call.kind, CallKind::call);
  EXPECT_EQ(call.sequence, 99U);
  EXPECT_EQ(call.start_ns, 1'005'000);
  EXPECT_EQ(call.end_ns(), 1'005'300);
  EXPECT_EQ(call.process, 10);
  EXPECT_EQ(call.thread, 11);
  EXPECT_EQ(call.number, 17);
  EXPECT_THAT(call.args, testing::ElementsAre(~uint64_t{0}, ~uint64_t{1}, ~uint64_t{2}, ~uint64_t{3}, 0U, 0U));
  EXPECT_EQ(call.errno_value(), 28);
}

TEST(Events, ACallThatDidNotReturnIsUnfinished) {
  syscap_call record{};
  record.duration_ns = -1;
  EXPECT_FALSE(make_call(record, 0).finished());
}

TEST(Events, TheBytesOfAVectorAreKept) {
  syscap_call record{};
  record.number = 20;  // writev has three arguments
  record.args[3] = 3;
  record.args[5] = 8192;
  Call call = make_call(record, 0);
  EXPECT_EQ(call.args[3], 0U);
  EXPECT_EQ(call.args[5], 8192U);
}

TEST(Events, ACompletionKeepsItsArguments) {
  syscap_call record{};
  record.type = kSyscapAio;
  record.number = 1;
  record.args[3] = 7;
  EXPECT_EQ(make_call(record, 0).kind, CallKind::aio);
  EXPECT_EQ(make_call(record, 0).args[3], 7U);
}

TEST(Events, WhatIsNotARecordIsRefused) {
  Kept kept;
  EventContext fresh = context();
  syscap_call call{};
  EXPECT_FALSE(deliver_event("", fresh, kept));
  EXPECT_FALSE(deliver_event("x", fresh, kept));
  EXPECT_FALSE(deliver_event(bytes_of(call, 95), fresh, kept));
  call.type = 77;
  EXPECT_FALSE(deliver_event(bytes_of(call), fresh, kept));
  call.type = kSyscapCall;
  call.node = 2;
  EXPECT_FALSE(deliver_event(bytes_of(call), fresh, kept));
  std::string described = bytes_with_text({}, "abc");
  described.pop_back();  // text_bytes now says more than there is
  EXPECT_FALSE(deliver_event(described, fresh, kept));
  EXPECT_THAT(kept.calls, testing::IsEmpty());
  EXPECT_THAT(kept.fds, testing::IsEmpty());
}

TEST(Events, APathIsPutTogetherFromItsEnd) {
  EXPECT_EQ(path_of_components("file\0brick\0data\0"s, 0), "/data/brick/file");
  EXPECT_EQ(path_of_components("", 0), "/");
  EXPECT_EQ(path_of_components("f\0"s, kSyscapDeleted), "/f (deleted)");
  EXPECT_EQ(path_of_components("f\0d\0"s, kSyscapCut), ".../d/f");
  EXPECT_EQ(path_of_components("no-nul", 0), "/no-nul");
}

TEST(Events, FilesAreKnownByTheirMode) {
  syscap_fd record{};
  record.mode = S_IFREG | 0644;
  record.device = 8 << 20 | 1;
  record.inode = 77;
  record.open_flags = 040002;
  record.fd = 7;
  record.process = 42;
  record.time_ns = 3;
  FdRecord file = described(record, "f\0b\0"s);
  EXPECT_EQ(file.kind, FdKind::file);
  EXPECT_EQ(file.name, "/b/f");
  EXPECT_EQ(file.device, uint64_t{8} << 20 | 1);
  EXPECT_EQ(file.inode, 77U);
  EXPECT_EQ(file.flags, 040002U);
  EXPECT_EQ(file.fd, 7);
  EXPECT_EQ(file.process, 42);
  EXPECT_EQ(file.t_ns, 1'000'003);
  record.mode = S_IFDIR | 0755;
  EXPECT_EQ(described(record, "").kind, FdKind::folder);
  record.mode = S_IFCHR | 0666;
  EXPECT_EQ(described(record, "fuse\0dev\0"s).kind, FdKind::device);
  record.mode = S_IFIFO | 0600;
  EXPECT_EQ(described(record, "fifo\0"s).name, "/fifo");
}

TEST(Events, WhatHasNoPathIsNamedAsProcNamesIt) {
  syscap_fd record{};
  record.inode = 7;
  record.marks = kSyscapPseudo;
  record.magic = 0x50495045;
  record.mode = S_IFIFO | 0600;
  EXPECT_EQ(described(record, "\0"s).name, "pipe:[7]");
  EXPECT_EQ(described(record, "\0"s).kind, FdKind::pipe);
  record.magic = 0x09041934;
  record.mode = S_IFREG | 0600;  // newer kernels give them a type
  EXPECT_EQ(described(record, "[eventpoll]\0"s).name, "anon_inode:[eventpoll]");
  EXPECT_EQ(described(record, "[eventpoll]\0"s).kind, FdKind::anonymous);
  record.magic = 0x01021994;
  EXPECT_EQ(described(record, "memfd:x\0"s).name, "/memfd:x (deleted)");
}

TEST(Events, SocketsHaveAddresses) {
  syscap_fd record{};
  record.magic = 0x534f434b;
  record.mode = S_IFSOCK | 0777;
  record.family = AF_INET;
  record.protocol = 6;
  record.local_port = 49152;
  record.peer_port = 1023;
  const __u8 local[4] = {10, 0, 0, 1};
  const __u8 peer[4] = {10, 0, 0, 7};
  std::memcpy(record.local, local, sizeof local);
  std::memcpy(record.peer, peer, sizeof peer);
  FdRecord socket = described(record, "");
  EXPECT_EQ(socket.kind, FdKind::socket);
  EXPECT_EQ(socket.protocol, "TCP");
  EXPECT_EQ(socket.local, "10.0.0.1:49152");
  EXPECT_EQ(socket.peer, "10.0.0.7:1023");
  EXPECT_EQ(socket.name, "");
  record.peer_port = 0;
  EXPECT_EQ(described(record, "").peer, "");
}

TEST(Events, SocketsOfIpv6Too) {
  syscap_fd record{};
  record.magic = 0x534f434b;
  record.family = AF_INET6;
  record.protocol = 17;
  record.local_port = 24007;
  record.local[0] = 0xfe;
  record.local[1] = 0x80;
  record.local[15] = 1;
  FdRecord socket = described(record, "");
  EXPECT_EQ(socket.protocol, "UDP");
  EXPECT_EQ(socket.local, "[fe80::1]:24007");
  EXPECT_EQ(socket.peer, "");
}

TEST(Events, UnixSocketsHavePathsOrAbstractNames) {
  syscap_fd record{};
  record.magic = 0x534f434b;
  record.family = AF_UNIX;
  record.inode = 9;
  EXPECT_EQ(described(record, "/run/x.sock\0"s).name, "/run/x.sock");
  EXPECT_EQ(described(record, "\0hidden"s).name, "@hidden");
  EXPECT_EQ(described(record, "").name, "socket:[9]");
  EXPECT_EQ(described(record, "").protocol, "UNIX");
}

TEST(Events, AFailedPathKeepsItsCall) {
  syscap_fd record{};
  record.marks = kSyscapUserPath;
  record.fd = -1;
  record.sequence = 12;
  FdRecord path = described(record, "no/such/file\0"s);
  EXPECT_EQ(path.kind, FdKind::path);
  EXPECT_EQ(path.fd, -1);
  EXPECT_EQ(path.sequence, 12U);
  EXPECT_EQ(path.name, "no/such/file");
}

TEST(Events, ARelativePathBeginsAtItsFolder) {
  Kept kept;
  EventContext seen = context();
  syscap_fd folder{};
  folder.process = 5;
  folder.mode = S_IFDIR | 0755;
  folder.fd = 4;
  ASSERT_TRUE(deliver_event(bytes_with_text(folder, "brick\0data\0"s), seen, kept));
  folder.fd = kSyscapCwd;
  ASSERT_TRUE(deliver_event(bytes_with_text(folder, "home\0"s), seen, kept));
  EXPECT_EQ(kept.fds.size(), 1U) << "the working folder is no descriptor";
  auto failed = [&](int fd, const std::string& text) {
    syscap_fd record{};
    record.process = 5;
    record.marks = kSyscapUserPath;
    record.fd = fd;
    EXPECT_TRUE(deliver_event(bytes_with_text(record, text + '\0'), seen, kept));
    return kept.fds.back().name;
  };
  EXPECT_EQ(failed(4, "f"), "/data/brick/f");
  EXPECT_EQ(failed(4, "/f"), "/f");
  EXPECT_EQ(failed(kSyscapCwd, "no/f"), "/home/no/f");
  EXPECT_EQ(failed(9, "f"), "f") << "a folder that nobody told of";
  EXPECT_EQ(kept.fds.back().fd, -1);
  folder.fd = 4;
  folder.mode = S_IFREG | 0644;
  ASSERT_TRUE(deliver_event(bytes_with_text(folder, "x\0"s), seen, kept));
  EXPECT_EQ(failed(4, "f"), "f") << "no folder any more";
}

TEST(Events, APathThatWasCutSaysSo) {
  syscap_fd record{};
  record.marks = kSyscapUserPath;
  EXPECT_EQ(described(record, std::string(kSyscapMostUserPath - 2, 'x') + '\0').name.back(), 'x');
  EXPECT_EQ(described(record, std::string(kSyscapMostUserPath - 1, 'x') + '\0').name.back(), '.');
}

}  // namespace
}  // namespace culprit
