#include "calls/call_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <random>

#include "base/text.h"
#include "calls/log_block.h"
#include "calls/record_columns.h"

namespace culprit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

LogHeader a_header() {
  LogHeader header;
  header.node = "s1";
  header.backend = "null";
  header.start_ns = 1'700'000'000'000'000'000;
  return header;
}

Call a_call(uint64_t sequence) {
  Call call;
  call.sequence = sequence;
  call.start_ns = a_header().start_ns + static_cast<int64_t>(sequence) * 1000;
  call.duration_ns = 200 + static_cast<int64_t>(sequence % 7);
  call.process = 4711;
  call.thread = 4711 + static_cast<int32_t>(sequence % 3);
  call.number = SYS_pwrite64;
  call.args = {7, 0x7f0000001000, 4096, sequence * 4096, 0, 0};
  call.result = 4096;
  return call;
}

FdRecord a_file(int32_t fd) {
  FdRecord record;
  record.t_ns = a_header().start_ns;
  record.process = 4711;
  record.fd = fd;
  record.name = cat("/brick/f", fd);
  record.fd_class = FdClass::storage;
  return record;
}

// Both logs in memory, every piece as it was handed over.
struct Memory {
  std::string calls, fds;
  std::vector<size_t> pieces;  // of the sclog
  CallLogWriter::Sink sink() {
    return [this](LogFile file, std::string_view bytes) -> Status {
      (file == LogFile::calls ? calls : fds) += bytes;
      if (file == LogFile::calls) pieces.push_back(bytes.size());
      return Ok{};
    };
  }
};

// A header, three blocks of two calls, an end; three descriptors.
Memory small_log() {
  Memory memory;
  CallLogWriter writer(memory.sink(), a_header());
  for (uint64_t i = 1; i <= 6; ++i) {
    EXPECT_TRUE(writer.add(a_call(i)));
    Status done = i % 2 == 1 ? writer.add(a_file(static_cast<int32_t>(i))) : writer.flush();
    EXPECT_TRUE(done);
  }
  LogEnd end;
  end.stopped = "asked";
  end.lost = {0, 2};
  EXPECT_TRUE(writer.close(end));
  return memory;
}

std::vector<uint64_t> sequences_of(CallLogReader& reader) {
  std::vector<uint64_t> sequences;
  auto read = reader.each_call([&](const Call& call) {
    EXPECT_EQ(call, a_call(call.sequence));
    sequences.push_back(call.sequence);
    return true;
  });
  EXPECT_TRUE(read);
  return sequences;
}

std::string fault_of(std::string bytes) {
  auto reader = CallLogReader::from_bytes(std::move(bytes), "", "x.sclog");
  return reader ? "none" : reader.error().what;
}

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "culprit-calls-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(CallLog, WhatIsWrittenIsRead) {
  Memory memory = small_log();
  auto reader = CallLogReader::from_bytes(memory.calls, memory.fds, "x.sclog");
  ASSERT_TRUE(reader) << reader.error().what;
  EXPECT_EQ(reader->header().node, "s1");
  EXPECT_EQ(reader->bytes(), static_cast<int64_t>(memory.calls.size() + memory.fds.size()));
  EXPECT_THAT(reader->fds(), ElementsAre(a_file(1), a_file(3), a_file(5)));
  ASSERT_TRUE(reader->end());  // known before a call is read
  EXPECT_EQ(reader->end()->calls, 6);
  EXPECT_EQ(reader->end()->fds, 3);
  EXPECT_EQ(reader->end()->all_lost(), 2);
  EXPECT_THAT(sequences_of(*reader), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(sequences_of(*reader), ElementsAre(1, 2, 3, 4, 5, 6));  // and again
  EXPECT_THAT(reader->notes(), IsEmpty());
}

TEST(CallLog, LossesThatALogClaimsDoNotOverflow) {
  LogEnd end;
  end.lost = {3, 4};
  EXPECT_EQ(end.all_lost(), 7);
  end.lost = {INT64_MAX, INT64_MAX, INT64_MIN};
  EXPECT_GT(end.all_lost(), 0);
}

TEST(CallLog, ReadingStopsWhenToldTo) {
  Memory memory = small_log();
  auto reader = CallLogReader::from_bytes(memory.calls, memory.fds, "x.sclog");
  ASSERT_TRUE(reader);
  int seen = 0;
  ASSERT_TRUE(reader->each_call([&](const Call&) { return ++seen < 3; }));
  EXPECT_EQ(seen, 3);
  EXPECT_THAT(reader->notes(), IsEmpty());
}

TEST(CallLog, ABlockIsOneWriteAndAFullOneIsWrittenAtOnce) {
  Memory memory;
  CallLogWriter writer(memory.sink(), a_header());
  for (uint64_t i = 1; i <= 16384; ++i) ASSERT_TRUE(writer.add(a_call(i)));
  ASSERT_EQ(memory.pieces.size(), 2u);  // the header and the block
  ASSERT_TRUE(writer.add(a_call(16385)));
  ASSERT_TRUE(writer.flush());
  EXPECT_EQ(memory.pieces.size(), 3u);
  ASSERT_TRUE(writer.flush());  // nothing waits
  EXPECT_EQ(memory.pieces.size(), 3u);
  EXPECT_EQ(writer.calls(), 16385);
  EXPECT_EQ(writer.bytes(), static_cast<int64_t>(memory.calls.size() + memory.fds.size()));
}

TEST(CallLog, SumsComeBack) {
  Memory memory;
  LogHeader header = a_header();
  header.sums = true;
  CallLogWriter writer(memory.sink(), header);
  CallSum sum;
  sum.second = 1'700'000'000;
  sum.fd_class = FdClass::storage;
  sum.number = SYS_fsync;
  sum.count = 12;
  sum.sum_ns = 34'000;
  sum.histogram[11] = 12;
  sum.errors[EIO] = 2;
  ASSERT_TRUE(writer.add(sum));
  EXPECT_EQ(writer.calls(), 12);
  ASSERT_TRUE(writer.close({}));
  auto reader = CallLogReader::from_bytes(memory.calls, memory.fds, "x.sclog");
  ASSERT_TRUE(reader);
  std::vector<CallSum> sums;
  ASSERT_TRUE(reader->each_sum([&](const CallSum& one) {
    sums.push_back(one);
    return true;
  }));
  EXPECT_THAT(sums, ElementsAre(sum));
  EXPECT_THAT(sequences_of(*reader), IsEmpty());
  EXPECT_THAT(reader->notes(), IsEmpty());
}

// As after a kill at any moment: what was flushed is there, and nothing else.
TEST(CallLog, CutAnywhereItIsReadToTheLastWholeBlock) {
  Memory memory = small_log();
  ASSERT_EQ(memory.pieces.size(), 5u);
  for (size_t length = 0; length <= memory.calls.size(); ++length) {
    auto reader = CallLogReader::from_bytes(memory.calls.substr(0, length), memory.fds, "x.sclog");
    ASSERT_EQ(reader.ok(), length >= kFileMagicBytes) << length;  // a cut header is found in the fdlog
    if (!reader) continue;
    std::vector<uint64_t> expected;
    size_t whole = memory.pieces[0];
    for (size_t block = 1; block <= 3 && (whole += memory.pieces[block]) <= length; ++block)
      for (uint64_t i : {2 * block - 1, 2 * block}) expected.push_back(i);
    EXPECT_EQ(sequences_of(*reader), expected) << length;
    EXPECT_EQ(reader->end().has_value(), length == memory.calls.size()) << length;
  }
}

TEST(CallLog, ACutFdlogGivesTheDescriptorsBeforeTheCut) {
  Memory memory = small_log();
  size_t most = 0;
  for (size_t length = 0; length <= memory.fds.size(); ++length) {
    auto reader = CallLogReader::from_bytes(memory.calls, memory.fds.substr(0, length), "x.sclog");
    ASSERT_TRUE(reader);
    EXPECT_GE(reader->fds().size(), most);
    most = reader->fds().size();
    for (size_t i = 0; i < most; ++i) EXPECT_EQ(reader->fds()[i], a_file(static_cast<int32_t>(2 * i + 1)));
    EXPECT_THAT(sequences_of(*reader), ElementsAre(1, 2, 3, 4, 5, 6));
  }
  EXPECT_EQ(most, 3u);
}

TEST(CallLog, AFlippedByteCostsOneBlockAndIsSaid) {
  Memory memory = small_log();
  for (size_t at = 0; at < memory.calls.size(); ++at) {
    std::string flipped = memory.calls;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x20);
    auto reader = CallLogReader::from_bytes(flipped, memory.fds, "x.sclog");
    ASSERT_EQ(reader.ok(), at >= kFileMagicBytes) << at;
    if (!reader) continue;
    std::vector<uint64_t> sequences = sequences_of(*reader);
    EXPECT_GE(sequences.size(), 4u) << at;
    EXPECT_TRUE(std::is_sorted(sequences.begin(), sequences.end()));
    EXPECT_THAT(reader->notes(), Not(IsEmpty())) << at;
  }
}

TEST(CallLog, ForeignFilesGetOneSentence) {
  EXPECT_EQ(fault_of(""), "x.sclog is empty");
  EXPECT_EQ(fault_of("\177ELF and so on"), "x.sclog is not a sclog");
  EXPECT_EQ(fault_of(small_log().fds), "x.sclog is not a sclog but an fdlog");
  EXPECT_EQ(fault_of(small_log().calls.substr(0, 9)), "x.sclog is cut off in its first bytes");
  EXPECT_EQ(fault_of(small_log().calls.substr(0, 16)), "x.sclog has no header that can be read");
  auto text = CallLogReader::from_bytes("1700000000.1 read(3, \"\", 10) = 0 <0.1>\n", "", "x.sclog");
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().hint, HasSubstr("culprit import --format strace"));
}

TEST(CallLog, AHeaderAloneIsALogWithoutCalls) {
  Memory memory;
  CallLogWriter writer(memory.sink(), a_header());
  ASSERT_TRUE(writer.flush());
  auto reader = CallLogReader::from_bytes(memory.calls, memory.fds, "x.sclog");
  ASSERT_TRUE(reader);
  EXPECT_THAT(sequences_of(*reader), IsEmpty());
  EXPECT_FALSE(reader->end());
  EXPECT_THAT(reader->notes(), IsEmpty());
}

TEST(CallLog, ALaterVersionIsRefused) {
  Memory memory;
  LogHeader header = a_header();
  header.version = kCallLogVersion + 1;
  CallLogWriter writer(memory.sink(), header);
  ASSERT_TRUE(writer.flush());
  auto reader = CallLogReader::from_bytes(memory.calls, memory.fds, "x.sclog");
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().kind, ErrorKind::unsupported);
}

TEST(CallLog, BlocksOfUnknownKindsAreSteppedOver) {
  Memory memory = small_log();
  auto strange = BlockMaker().make(static_cast<BlockKind>(99), "from the future", 1);
  ASSERT_TRUE(strange);
  memory.calls.insert(memory.pieces[0] + memory.pieces[1], *strange);
  auto reader = CallLogReader::from_bytes(memory.calls, memory.fds, "x.sclog");
  ASSERT_TRUE(reader);
  EXPECT_THAT(sequences_of(*reader), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(reader->notes(), ElementsAre(HasSubstr("a kind that this culprit does not know: 99")));
}

TEST(CallLog, ABlockThatCannotBeDecodedIsLeftOut) {
  Memory memory = small_log();
  auto nonsense = BlockMaker().make(BlockKind::calls, "nonsense", 1);
  ASSERT_TRUE(nonsense);
  memory.calls.insert(memory.pieces[0], *nonsense);
  auto reader = CallLogReader::from_bytes(memory.calls, memory.fds, "x.sclog");
  ASSERT_TRUE(reader);
  EXPECT_THAT(sequences_of(*reader), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(reader->notes(),
              ElementsAre(StartsWith(cat("the block at offset ", memory.pieces[0], " was left out: "))));
}

// Blocks that hold nothing are enough for that: what counts is what they are unpacked.
TEST(CallLog, DescriptorsBeyondAGibibyteAreLeftOut) {
  Memory memory;
  CallLogWriter writer(memory.sink(), a_header());
  ASSERT_TRUE(writer.add(a_file(1)));
  ASSERT_TRUE(writer.flush());
  auto large = BlockMaker().make(BlockKind::fds, std::string(kMaxBlockBytes, 'x'), 1);
  auto last = BlockMaker().make(BlockKind::fds, encode_fds(std::vector<FdRecord>{a_file(3)}), 1);
  ASSERT_TRUE(large);
  ASSERT_TRUE(last);
  std::string few = memory.fds + *large + *last;
  auto all = CallLogReader::from_bytes(memory.calls, few, "x.sclog");
  ASSERT_TRUE(all);
  EXPECT_THAT(all->fds(), ElementsAre(a_file(1), a_file(3)));
  std::string many = memory.fds;
  for (int i = 0; i < 64; ++i) many += *large;
  auto reader = CallLogReader::from_bytes(memory.calls, many + *last, "x.sclog");
  ASSERT_TRUE(reader);
  EXPECT_THAT(reader->fds(), ElementsAre(a_file(1)));
}

TEST(CallLog, TheFdlogOfAnotherCaptureIsLeftOut) {
  Memory memory = small_log(), other;
  LogHeader header = a_header();
  header.start_ns += 1;
  CallLogWriter writer(other.sink(), header);
  ASSERT_TRUE(writer.add(a_file(1)));
  ASSERT_TRUE(writer.flush());
  auto reader = CallLogReader::from_bytes(memory.calls, other.fds, "x.sclog");
  ASSERT_TRUE(reader);
  EXPECT_THAT(reader->fds(), IsEmpty());
  EXPECT_THAT(reader->notes(), ElementsAre(HasSubstr("another capture")));
}

TEST(CallLog, AFullDiskLosesABlockAndStillEnds) {
  Memory memory;
  bool full = false;
  auto sink = memory.sink();
  CallLogWriter writer(
      [&](LogFile file, std::string_view bytes) -> Status {
        if (!full) return sink(file, bytes);
        full = false;
        EXPECT_TRUE(sink(file, bytes.substr(0, bytes.size() / 2)));  // as write(2) does: what fits is written
        return system_error("cannot write", ENOSPC);
      },
      a_header());
  ASSERT_TRUE(writer.add(a_call(1)));
  ASSERT_TRUE(writer.flush());
  ASSERT_TRUE(writer.add(a_call(2)));
  full = true;
  EXPECT_FALSE(writer.flush());
  LogEnd end;
  end.stopped = "disk full";
  ASSERT_TRUE(writer.close(end));
  auto reader = CallLogReader::from_bytes(memory.calls, memory.fds, "x.sclog");
  ASSERT_TRUE(reader);
  EXPECT_THAT(sequences_of(*reader), ElementsAre(1));
  ASSERT_TRUE(reader->end());
  EXPECT_EQ(reader->end()->calls, 1);
  EXPECT_EQ(reader->end()->stopped, "disk full");
}

TEST(CallLog, FilesAreMadeOnceAndOnlyForTheirOwner) {
  Folder folder;
  std::string stem = log_stem(folder.path(), "s1");
  {
    auto writer = CallLogWriter::create(stem, a_header());
    ASSERT_TRUE(writer) << writer.error().message();
    ASSERT_TRUE(writer->add(a_call(1)));
    ASSERT_TRUE(writer->add(a_file(7)));
    ASSERT_TRUE(writer->flush());  // and no close: the capture is killed
  }
  struct stat info {};
  ASSERT_EQ(::stat((stem + ".sclog").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  auto again = CallLogWriter::create(stem, a_header());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().errno_value, EEXIST);
  for (const std::string& path : {stem, stem + ".sclog", stem + ".fdlog"}) {
    auto reader = CallLogReader::open(path);
    ASSERT_TRUE(reader) << reader.error().message();
    EXPECT_THAT(sequences_of(*reader), ElementsAre(1));
    EXPECT_THAT(reader->fds(), ElementsAre(a_file(7)));
    EXPECT_THAT(reader->notes(), IsEmpty());
  }
  EXPECT_THAT(logged_nodes(folder.path()), ElementsAre("s1"));
}

TEST(CallLog, AMissingFdlogIsANoteAndAMissingSclogAnError) {
  Folder folder;
  std::string stem = log_stem(folder.path(), "s1");
  EXPECT_THAT(logged_nodes(folder.path()), IsEmpty());
  ASSERT_TRUE(CallLogWriter::create(stem, a_header()));
  std::filesystem::remove(stem + ".fdlog");
  auto reader = CallLogReader::open(stem);
  ASSERT_TRUE(reader);
  EXPECT_THAT(reader->notes(), ElementsAre(HasSubstr("s1.fdlog: No such file or directory")));
  EXPECT_FALSE(CallLogReader::open(stem + "x"));
  EXPECT_FALSE(CallLogReader::open(folder.path()));
}

// Eight threads of a brick in a row of epoll_wait, readv, pwritev and writev, with times as random as real ones.
std::vector<Call> brick_calls(size_t count) {
  std::mt19937_64 random(5);
  std::exponential_distribution<double> think(1 / 3000.0), service(1 / 9000.0);
  static constexpr int kNumbers[] = {SYS_epoll_wait, SYS_readv, SYS_pwritev, SYS_writev};
  struct Thread {
    int64_t t_ns = 0;
    size_t step = 0;
    uint64_t offset = 0;
  };
  std::vector<Thread> threads(8);
  std::vector<Call> calls;
  while (calls.size() < count) {
    auto next = std::min_element(threads.begin(), threads.end(),
                                 [](const Thread& a, const Thread& b) { return a.t_ns < b.t_ns; });
    Call call;
    call.sequence = calls.size() + 1 + random() % 4;
    call.process = 4711;
    call.thread = 4711 + static_cast<int32_t>(next - threads.begin());
    call.number = kNumbers[next->step++ % 4];
    call.start_ns = a_header().start_ns + next->t_ns + static_cast<int64_t>(think(random));
    call.duration_ns = static_cast<int64_t>(service(random));
    call.args = {7 + random() % 16, 0x7f0000001000 + (random() % 4) * 0x21000, 2, next->offset, 0, 131072};
    call.result = random() % 50 == 0 ? -EAGAIN : 131072;
    next->t_ns = call.end_ns() - a_header().start_ns;
    next->offset += 131072;
    calls.push_back(call);
  }
  return calls;
}

TEST(CallLog, ACallOfABusyServerTakesAtMostTenBytes) {
  Memory memory;
  CallLogWriter writer(memory.sink(), a_header());
  for (const Call& call : brick_calls(50'000)) ASSERT_TRUE(writer.add(call));
  for (int32_t fd = 0; fd < 100; ++fd) ASSERT_TRUE(writer.add(a_file(fd)));
  ASSERT_TRUE(writer.close({}));
  double each = static_cast<double>(writer.bytes()) / 50'000;
  RecordProperty("bytes_per_call", std::to_string(each));
  EXPECT_LT(each, 10.0);
}

}  // namespace
}  // namespace culprit
