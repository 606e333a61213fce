// The recorder's loop with feeds that say whatever a test wants, also what no honest node would say.
#include "cli/record/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <functional>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/record/notes.h"
#include "store/run_reader.h"

namespace culprit {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;

constexpr int64_t kTick = 50 * kNsPerMs;

// Calls `script` with 0, 1, 2, ... once per tick.
class ScriptedFeed : public Feed {
 public:
  using Script = std::function<void(int turn, FeedSink& sink)>;
  explicit ScriptedFeed(Script script) : script_(std::move(script)) {}
  void add_polls(std::vector<pollfd>&) const override {}
  int64_t wait_ns(int64_t, int64_t mono_ns) override { return next_ns_ - mono_ns; }
  bool same_clock() const override { return false; }
  void turn(FeedSink& sink) override {
    next_ns_ = monotonic_now_ns() + kTick;
    script_(turn_++, sink);
  }

 private:
  Script script_;
  int turn_ = 0;
  int64_t next_ns_ = 0;
};

class RecorderTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/culprit-recorder-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    ::setenv("CULPRIT_RUNTIME_DIR", (folder_ + "/registry").c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("CULPRIT_RUNTIME_DIR");
    fs::remove_all(folder_);
  }

  Result<RecordOutcome> record(ScriptedFeed::Script script, int64_t for_ns = 4 * kTick) {
    plan_.cluster.nodes.resize(1);
    plan_.cluster.nodes[0].name = "far";
    plan_.interval_ns = kTick;
    plan_.for_ns = for_ns;
    plan_.out = folder_ + "/a.run";
    plan_.quiet = true;
    std::vector<std::unique_ptr<Feed>> feeds;
    feeds.push_back(std::make_unique<ScriptedFeed>(std::move(script)));
    return record_run(plan_, std::move(feeds));
  }

  std::string folder_;
  RecordPlan plan_;
};

Sample sample_at(int64_t t_ns) {
  Sample sample;
  sample.t_ns = t_ns;
  sample.mono_ns = monotonic_now_ns();
  return sample;
}

TEST_F(RecorderTest, ANodeWhoseClockBeginsAt1970CanBeRead) {
  int64_t offset = 5 * kNsPerSecond - wall_now_ns();
  auto outcome = record([&](int turn, FeedSink& sink) {
    if (turn == 0) sink.on_connected(0, {});
    sink.on_sample(0, sample_at(wall_now_ns() + offset));
    if (turn > 0) return;
    sink.on_clock(0, {offset, 1000}, {offset, 1000});
    sink.on_lost(0, system_error("the cable", 0));
  });
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_LT(outcome->duration_ns, 3600 * kNsPerSecond);
  auto run = RunReader::open(outcome->run_path);
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->manifest().nodes[0].clock_offset_ns, offset);
  ASSERT_FALSE(run->samples().empty());
  EXPECT_GE(run->samples()[0].t_ns, plan_.interval_ns + run->manifest().start_ns - kNsPerSecond);
  EXPECT_TRUE(run->events());
}

TEST_F(RecorderTest, AnImpossibleOffsetIsIgnoredAndNoted) {
  ClockOffset mad{INT64_MAX - 5, 10};
  auto outcome = record([&](int turn, FeedSink& sink) {
    sink.on_sample(0, sample_at(wall_now_ns()));
    if (turn == 0) sink.on_clock(0, {7, 10}, {7, 10});
    if (turn == 0) sink.on_clock(0, mad, {7, 10});
  });
  ASSERT_TRUE(outcome) << outcome.error().message();
  auto run = RunReader::open(outcome->run_path);
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->manifest().nodes[0].clock_offset_ns, 7);
  EXPECT_THAT(run->manifest().notes, Contains(HasSubstr("far: its clock is more than a century off")));
}

TEST_F(RecorderTest, EventsNeverHaveANegativeTime) {
  ClockOffset ahead{int64_t{1} << 61, 10};  // but the samples say 1970
  auto outcome = record([&](int turn, FeedSink& sink) {
    sink.on_clock(0, ahead, ahead);
    sink.on_sample(0, sample_at((2 * turn + 1) * kTick));
    sink.on_lost(0, system_error("the cable", 0));
    sink.on_sample(0, sample_at((2 * turn + 2) * kTick));
  });
  ASSERT_TRUE(outcome) << outcome.error().message();
  auto run = RunReader::open(outcome->run_path);
  ASSERT_TRUE(run) << run.error().message();
  auto events = run->events();
  ASSERT_TRUE(events) << events.error().message();
  EXPECT_FALSE(events->empty());
}

TEST_F(RecorderTest, TheTimeToRecordDoesNotFollowANodesClock) {
  for (int64_t offset : {-120 * kNsPerSecond, 120 * kNsPerSecond}) {
    int64_t begun = monotonic_now_ns();
    int64_t first = wall_now_ns();
    auto outcome = record([&](int turn, FeedSink& sink) {
      sink.on_sample(0, sample_at(first + turn * kTick + offset));
      if (turn == 1) sink.on_clock(0, {offset, 1000}, {offset, 1000});
    });
    ASSERT_TRUE(outcome) << outcome.error().message();
    EXPECT_EQ(outcome->stopped, "time over");
    EXPECT_GE(monotonic_now_ns() - begun, 4 * kTick) << offset;
    EXPECT_EQ(outcome->lost, 0) << offset;
    fs::remove_all(outcome->run_path);
  }
}

TEST_F(RecorderTest, ANodeCannotFillTheManifest) {
  auto outcome = record([&](int turn, FeedSink& sink) {
    std::map<std::string, std::string> facts;
    for (int i = 0; i < 1000; ++i) facts[cat("fact", turn, ".", i)] = "x";
    sink.on_connected(0, facts);
    Sample sample = sample_at(wall_now_ns());
    for (int i = 0; i < 1000; ++i) sample.notes.push_back(cat("note ", turn, " ", i));
    sink.on_sample(0, sample);
  });
  ASSERT_TRUE(outcome) << outcome.error().message();
  auto run = RunReader::open(outcome->run_path);
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_LE(run->manifest().notes.size(), Notes::kMostOfANode + 2);
  EXPECT_THAT(run->manifest().notes, Contains("far: more notes were left out"));
  EXPECT_LE(run->manifest().nodes[0].environment.size(), 2050u);
}

TEST_F(RecorderTest, NobodyAnsweringLeavesNoRun) {
  auto outcome = record([&](int, FeedSink& sink) { sink.on_lost(0, system_error("the cable", 0)); });
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().what, "the cable");
  EXPECT_FALSE(fs::exists(folder_ + "/a.run.partial"));
  EXPECT_FALSE(fs::exists(folder_ + "/a.run"));
}

TEST(Notes, EachOnceAndOnlySoMany) {
  Notes notes(1000);
  EXPECT_EQ(notes.take(0, "a\nb"), "a\\x0ab");
  EXPECT_FALSE(notes.take(0, "a\nb"));
  EXPECT_TRUE(notes.take(1, "a\nb"));
  size_t kept = 0;
  for (int i = 0; i < 100; ++i) kept += notes.take(2, cat("note ", i)).has_value() ? 1 : 0;
  EXPECT_EQ(kept, Notes::kMostOfANode + 1);  // the last one says that there are more
  for (size_t node = 3; node < 1000; ++node)
    for (int i = 0; i < 10; ++i) kept += notes.take(node, cat("note ", i)).has_value() ? 1 : 0;
  EXPECT_EQ(kept + 2, Notes::kMost + 1);
}

}  // namespace
}  // namespace culprit
