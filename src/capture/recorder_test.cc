#include "capture/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <map>
#include <memory>

#include "base/clock.h"
#include "base/units.h"
#include "capture/null_backend.h"

namespace culprit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Call a_call(uint64_t sequence) {
  Call call;
  call.sequence = sequence;
  call.number = SYS_pread64;
  call.process = 10;
  call.thread = 11;
  call.start_ns = wall_now_ns();
  call.duration_ns = 1000;
  call.args[0] = 7;
  return call;
}

FdRecord a_file(const std::string& path) {
  FdRecord record;
  record.t_ns = wall_now_ns();
  record.process = 10;
  record.fd = 7;
  record.name = path;
  return record;
}

// Logs in memory, on a disk of `room` bytes.
class RecorderTest : public testing::Test {
 protected:
  RecorderTest() {
    options_.backend = "null";
    options_.tool = "culprit test";
    options_.what = {"the first"};
    options_.open_log = [this](size_t node, LogHeader header) -> Result<CallLogWriter> {
      return CallLogWriter([this, node](LogFile file, std::string_view bytes) { return write(node, file, bytes); },
                           std::move(header));
    };
    add_node("s1");
  }

  void add_node(const std::string& name) {
    CaptureNode node;
    node.name = name;
    node.around.storage = {"/brick"};
    options_.capture.nodes.push_back(node);
  }

  Status write(size_t node, LogFile file, std::string_view bytes) {
    if (bytes.size() > room_) return system_error("cannot write the log", full_errno_);
    room_ -= bytes.size();
    written_[node][file == LogFile::calls ? 0 : 1] += bytes;
    return Ok{};
  }

  Result<RecorderOutcome> record(NullScript script) {
    std::unique_ptr<Backend> backend = make_null_backend(std::move(script));
    return record_calls(options_, *backend);
  }

  CallLogReader read(size_t node) {
    auto reader = CallLogReader::from_bytes(written_[node][0], written_[node][1], "test");
    EXPECT_TRUE(reader);
    return std::move(reader).value();
  }

  std::vector<uint64_t> sequences(size_t node) {
    std::vector<uint64_t> found;
    CallLogReader reader = read(node);
    EXPECT_TRUE(reader.each_call([&](const Call& call) {
      found.push_back(call.sequence);
      return true;
    }));
    return found;
  }

  RecorderOptions options_;
  std::map<size_t, std::array<std::string, 2>> written_;
  size_t room_ = size_t{1} << 30;
  int full_errno_ = ENOSPC;
};

TEST_F(RecorderTest, EventsComeToTheirNodeClassified) {
  add_node("s2");
  NullScript script;
  script.events = {{0, a_file("/brick/f")}, {0, a_call(1)}, {1, a_call(2)}, {0, a_call(3)}, {1, a_call(4)}};
  script.at_stop = 1;
  script.report.notes = {"a note"};
  script.report.command_status = 256;
  auto outcome = record(std::move(script));
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->stopped, "targets ended");
  EXPECT_EQ(outcome->command_status, 256);
  EXPECT_THAT(sequences(0), ElementsAre(1, 3));
  EXPECT_THAT(sequences(1), ElementsAre(2, 4));
  CallLogReader reader = read(0);
  EXPECT_EQ(reader.header().node, "s1");
  EXPECT_EQ(reader.header().backend, "null");
  EXPECT_EQ(reader.header().what, "the first");
  EXPECT_THAT(reader.header().kernel, Not(IsEmpty()));
  ASSERT_EQ(reader.fds().size(), 1u);
  EXPECT_EQ(reader.fds()[0].fd_class, FdClass::storage);
  EXPECT_EQ(reader.fds()[0].name, "/brick/f");
  ASSERT_TRUE(reader.end().has_value());
  EXPECT_EQ(reader.end()->stopped, "targets ended");
  EXPECT_EQ(reader.end()->calls, 2);
  EXPECT_EQ(outcome->ends[0].calls, 2);
  EXPECT_THAT(reader.end()->notes, ElementsAre("a note"));
}

TEST_F(RecorderTest, NamesAreClassifiedFirstAndHashedThen) {
  options_.hash_key = "0123456789abcdef";
  NullScript script;
  script.events = {{0, a_file("/brick/secret")}};
  ASSERT_TRUE(record(std::move(script)));
  CallLogReader reader = read(0);
  ASSERT_EQ(reader.fds().size(), 1u);
  EXPECT_EQ(reader.fds()[0].fd_class, FdClass::storage);
  EXPECT_THAT(reader.fds()[0].name, Not(HasSubstr("secret")));
  EXPECT_TRUE(reader.header().hashed);
}

TEST_F(RecorderTest, LossIsSaid) {
  NullScript script;
  script.events = {{0, a_call(1)}};
  script.report.lost = {3, 0, 4};
  script.report.unseen = {9};
  auto outcome = record(std::move(script));
  ASSERT_TRUE(outcome);
  CallLogReader reader = read(0);
  ASSERT_TRUE(reader.end().has_value());
  EXPECT_EQ(reader.end()->all_lost(), 7);
  EXPECT_EQ(reader.end()->unseen, 9);
  EXPECT_THAT(outcome->ends[0].notes,
              ElementsAre(HasSubstr("9 completions of AIO or io_uring"), HasSubstr("7 events were lost")));
}

TEST_F(RecorderTest, TimeAndWishesEndIt) {
  NullScript endless;
  endless.ends = false;
  options_.for_ns = 20 * kNsPerMs;
  auto outcome = record(endless);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->stopped, "time over");
  EXPECT_GE(outcome->duration_ns, 20 * kNsPerMs);
  options_.for_ns = 0;
  options_.stop = [] { return true; };
  outcome = record(endless);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->stopped, "asked");
}

std::vector<ScriptedEvent> many_calls() {
  std::vector<ScriptedEvent> events;
  for (uint64_t i = 1; i <= 50000; ++i) events.push_back({0, a_call(i)});
  return events;
}

TEST_F(RecorderTest, ASizeThatIsReachedEndsIt) {
  options_.max_bytes = 1000;
  NullScript script;
  script.events = many_calls();
  script.ends = false;
  auto outcome = record(std::move(script));
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->stopped, "size reached");
  EXPECT_EQ(outcome->ends[0].calls, 50000);  // what the backend still had is written
}

TEST_F(RecorderTest, AFullDiskEndsItAndTheRestCanBeRead) {
  NullScript script;
  script.events = many_calls();
  ASSERT_TRUE(record(script));
  room_ = written_[0][0].size() * 3 / 4;  // the header and some blocks
  written_.clear();
  auto outcome = record(std::move(script));
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->stopped, "disk full");
  std::vector<uint64_t> found = sequences(0);
  EXPECT_FALSE(found.empty());
  EXPECT_LT(found.size(), 50000u);
  EXPECT_EQ(static_cast<int64_t>(found.size()), outcome->ends[0].calls);
}

TEST_F(RecorderTest, AFullDiskHasRoomForTheEnd) {
  NullScript script;
  script.events = many_calls();
  ASSERT_TRUE(record(script));
  room_ = written_[0][0].size() * 3 / 4;
  written_.clear();
  options_.make_room = [this] { room_ += 4096; };
  ASSERT_TRUE(record(std::move(script)));
  CallLogReader reader = read(0);
  EXPECT_TRUE(reader.each_call([](const Call&) { return true; }));
  ASSERT_TRUE(reader.end());
  EXPECT_EQ(reader.end()->stopped, "disk full");
}

TEST_F(RecorderTest, AnotherFailureIsAnError) {
  full_errno_ = EIO;
  room_ = 0;
  NullScript script;
  script.events = many_calls();
  auto outcome = record(std::move(script));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().errno_value, EIO);
}

class WithCommand : public Backend {
 public:
  Status start(const CaptureOptions&) override { return Ok{}; }
  Result<bool> turn(CaptureSink&, int64_t) override { return false; }
  Result<CaptureReport> stop(CaptureSink&) override {
    done += "stop ";
    return CaptureReport{};
  }
  void end_command() override { done += "end "; }
  size_t processes_alive() const override { return 1; }

  std::string done;
};

TEST_F(RecorderTest, WithoutItsLogsACommandIsEnded) {
  WithCommand backend;
  ASSERT_TRUE(record_calls(options_, backend));
  EXPECT_EQ(backend.done, "stop ");
  options_.open_log = [](size_t, LogHeader) -> Result<CallLogWriter> { return system_error("no log", EEXIST); };
  WithCommand other;
  EXPECT_FALSE(record_calls(options_, other));
  EXPECT_EQ(other.done, "end stop ");
}

TEST_F(RecorderTest, ProgressAndBeginning) {
  int began = 0;
  int64_t most = 0;
  options_.began = [&] { ++began; };
  options_.progress = [&](int64_t calls, int64_t) { most = calls; };
  options_.for_ns = 700 * kNsPerMs;
  NullScript script;
  script.events = {{0, a_call(1)}};
  script.ends = false;
  ASSERT_TRUE(record(std::move(script)));
  EXPECT_EQ(began, 1);
  EXPECT_EQ(most, 1);
}

TEST_F(RecorderTest, ABackendThatDoesNotExist) {
  options_.backend = "ebfp";
  auto outcome = record_calls(options_);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().what, HasSubstr("'ebfp'"));
}

}  // namespace
}  // namespace culprit
