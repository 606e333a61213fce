#include "cli/syscap/run_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"
#include "store/run_reader.h"

namespace culprit {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class RunPlaceTest : public testing::Test {
 protected:
  RunPlaceTest() : folder_(cat(testing::TempDir(), "culprit-place-", static_cast<int>(::getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~RunPlaceTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  std::string run() const { return folder_ + "/x"; }
  static Manifest manifest() {
    Manifest made;
    made.origin = "recorded";
    made.cluster.nodes.emplace_back().name = "s1";
    return made;
  }
  // What a capture of that node would leave.
  static void write_log(RunPlace& place, const std::string& node) {
    auto log = place.open_log(node, LogHeader());
    ASSERT_TRUE(log) << log.error().message();
    ASSERT_TRUE(log->close({}));
  }
  std::string folder_;
};

TEST_F(RunPlaceTest, ARunOfItsOwnCanBeOpenedByOthers) {
  auto place = RunPlace::open(run(), manifest(), {"s1"});
  ASSERT_TRUE(place) << place.error().message();
  EXPECT_FALSE(place->joined());
  write_log(*place, "s1");
  place->tell("hello");
  auto path = place->close();
  ASSERT_TRUE(path) << path.error().message();
  EXPECT_EQ(*path, run() + ".run");
  EXPECT_THAT(logged_nodes(*path), ElementsAre("s1"));
  auto reader = RunReader::open(run());
  ASSERT_TRUE(reader) << reader.error().message();
  EXPECT_TRUE(reader->samples().empty());
  ASSERT_EQ(reader->events()->size(), 1u);
  auto again = RunPlace::open(run(), manifest(), {"s1"});
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().what, HasSubstr("exists already"));
}

TEST_F(RunPlaceTest, ADiscardedRunIsGone) {
  auto place = RunPlace::open(run(), manifest(), {"s1"});
  ASSERT_TRUE(place);
  write_log(*place, "s1");
  place->discard();
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(RunPlaceTest, JoinsTheRunThatIsBeingRecorded) {
  auto recorder = RunWriter::create(run(), manifest());
  ASSERT_TRUE(recorder);
  auto place = RunPlace::open(run(), manifest(), {"s1", "s9"});
  ASSERT_TRUE(place) << place.error().message();
  EXPECT_TRUE(place->joined());
  EXPECT_EQ(place->manifest(), nullptr);
  EXPECT_THAT(place->notes(), ElementsAre(HasSubstr("s9")));
  write_log(*place, "s1");
  place->tell("captured");
  EXPECT_THAT(RunPlace::open(run(), manifest(), {"s1"}).error().what, HasSubstr("s1 already"));
  EXPECT_EQ(*place->close(), run() + ".run.partial");
  ASSERT_TRUE(recorder->close());
  EXPECT_EQ(*place->close(), run() + ".run");
  EXPECT_THAT(logged_nodes(run() + ".run"), ElementsAre("s1"));
  EXPECT_EQ(RunReader::open(run())->events()->size(), 1u);
}

TEST_F(RunPlaceTest, DiscardingLeavesTheRecordingAlone) {
  auto recorder = RunWriter::create(run(), manifest());
  ASSERT_TRUE(recorder);
  auto first = RunPlace::open(run(), manifest(), {"s1"});
  auto second = RunPlace::open(run(), manifest(), {"s2"});
  ASSERT_TRUE(first && second);
  write_log(*first, "s1");
  write_log(*second, "s2");
  second->discard();
  EXPECT_THAT(logged_nodes(run() + ".run.partial"), ElementsAre("s1"));
  EXPECT_TRUE(path_exists(run() + ".run.partial/manifest.json"));
}

TEST_F(RunPlaceTest, DiscardingLeavesTheLogsOfAFasterCaptureAlone) {
  auto recorder = RunWriter::create(run(), manifest());
  ASSERT_TRUE(recorder);
  auto first = RunPlace::open(run(), manifest(), {"s1", "s2"});
  auto second = RunPlace::open(run(), manifest(), {"s1", "s2"});  // neither has a log yet
  ASSERT_TRUE(first && second);
  write_log(*first, "s1");
  write_log(*second, "s2");
  EXPECT_EQ(second->open_log("s1", LogHeader()).error().errno_value, EEXIST);
  second->discard();
  EXPECT_THAT(logged_nodes(run() + ".run.partial"), ElementsAre("s1"));
  first->claim("s3");  // as logs of a node behind ssh are
  first->discard();
  EXPECT_TRUE(logged_nodes(run() + ".run.partial").empty());
}

TEST_F(RunPlaceTest, ARunThatWasKilledIsNotJoined) {
  fs::create_directory(run() + ".run.partial");
  auto place = RunPlace::open(run(), manifest(), {"s1"});
  ASSERT_FALSE(place);
  EXPECT_THAT(place.error().what, HasSubstr("did not finish"));
}

}  // namespace
}  // namespace culprit
