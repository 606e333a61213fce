#include "study/node_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "base/fd.h"
#include "study/test_stage.h"

namespace culprit {
namespace {

using testing::ElementsAre;
using testing::Pair;

class NodeLogsTest : public testing::Test {
 protected:
  NodeLogsTest() {
    folder_ = testing::TempDir() + "node_logs_test";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ + "/log/bricks");
    auto stage = stage_of(cluster_of({"s1", "s2", "s3", "c1"}));
    EXPECT_TRUE(stage);
    stage_ = std::make_unique<Stage>(std::move(*stage));
  }
  ~NodeLogsTest() override { std::filesystem::remove_all(folder_); }

  void add(const std::string& log, const std::string& text) {
    std::ofstream(folder_ + "/log/" + log, std::ios::app) << text;
  }
  std::string kept(const std::string& path) const {
    auto text = read_file(folder_ + "/run/logs/" + path);
    return text ? *text : "";
  }

  std::string folder_;
  std::unique_ptr<Stage> stage_;
};

TEST_F(NodeLogsTest, OnlyWhatWasAddedIsKept) {
  add("bricks/disk.log", "before\n");
  add("quiet.log", "nothing\n");
  NodeLogs logs(*stage_, folder_ + "/log");
  ASSERT_TRUE(logs.begin());
  add("bricks/disk.log", "no space\n");
  add("new.log", "hello\n");
  const Status done = logs.keep(folder_ + "/run");
  ASSERT_TRUE(done) << done.error().message();
  for (const char* node : {"s1", "s3", "c1"}) {
    EXPECT_EQ(kept(std::string(node) + "/bricks-disk.log"), "no space\n");
    EXPECT_EQ(kept(std::string(node) + "/new.log"), "hello\n");
    EXPECT_FALSE(path_exists(folder_ + "/run/logs/" + node + "/quiet.log"));
  }
}

TEST_F(NodeLogsTest, ALogThatWasReplacedIsKeptWhole) {
  add("a.log", "a long first line\n");
  NodeLogs logs(*stage_, folder_ + "/log");
  ASSERT_TRUE(logs.begin());
  std::filesystem::remove(folder_ + "/log/a.log");
  add("a.log", "short\n");
  ASSERT_TRUE(logs.keep(folder_ + "/run"));
  EXPECT_EQ(kept("s2/a.log"), "short\n");
}

TEST_F(NodeLogsTest, ANodeHasALimit) {
  NodeLogs logs(*stage_, folder_ + "/log");
  ASSERT_TRUE(logs.begin());
  add("a.log", std::string(800'000, 'a'));
  add("b.log", std::string(800'000, 'b'));
  ASSERT_TRUE(logs.keep(folder_ + "/run"));
  EXPECT_EQ(kept("s1/a.log").size(), 800'000u);
  EXPECT_EQ(kept("s1/b.log").size(), 200'000u);
}

TEST_F(NodeLogsTest, AFolderThatIsNotThereIsEmpty) {
  NodeLogs logs(*stage_, folder_ + "/nothing");
  ASSERT_TRUE(logs.begin());
  ASSERT_TRUE(logs.keep(folder_ + "/run"));
  EXPECT_FALSE(path_exists(folder_ + "/run"));
}

TEST(NodeLogs, NamesThatAreNotPlainAreLeftOut) {
  EXPECT_THAT(
      parse_log_sizes("12 a.log\n7 bricks/b.log\n9 ../../etc/passwd\n9 /etc/x\nx y\n-3 c.log\n5 a b.log\n8\n5 a$b\n"),
      ElementsAre(Pair("a.log", 12), Pair("bricks/b.log", 7)));
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "1 log" + std::to_string(i) + "\n";
  EXPECT_EQ(parse_log_sizes(many).size(), 200u);
}

}  // namespace
}  // namespace culprit
