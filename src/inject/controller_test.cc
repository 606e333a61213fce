#include "inject/controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "base/text.h"
#include "inject/part_text.h"

namespace culprit {
namespace {

using testing::HasSubstr;

// A node that the test plays: what was sent to it, what it says next, and whether it is gone.
struct FakeNode {
  std::string sent;
  std::deque<std::string> says;
  bool finished = false;
  bool gone = false;
  Error why;
};

class FakeLink : public NodeLink {
 public:
  explicit FakeLink(FakeNode& node) : node_(node) {}
  void add_polls(std::vector<pollfd>&) const override {}
  void turn(std::vector<std::string>& lines) override {
    lines.insert(lines.end(), node_.says.begin(), node_.says.end());
    node_.says.clear();
  }
  void send(std::string_view line) override { node_.sent += line; }
  void finish() override { node_.finished = true; }
  bool ended() const override { return node_.gone; }
  Error why() const override { return node_.why; }
  bool same_clock() const override { return true; }

 private:
  FakeNode& node_;
};

class ControllerTest : public testing::Test {
 protected:
  ControllerTest() {
    for (const char* name : {"s1", "s2", "x1"}) {
      Node node;
      node.name = name;
      node.address = cat("10.0.0.", cluster_.nodes.size() + 1);
      if (node.name == "x1") node.kind = NodeKind::other;
      cluster_.nodes.push_back(node);
    }
  }

  Injection start(const std::string& fault, const std::vector<std::string>& on, bool dry_run = false) {
    InjectRequest wish;
    wish.cluster = &cluster_;
    wish.fault = fault;
    wish.on = on;
    wish.id = "ab12";
    wish.duration_ns = 60'000'000'000;
    wish.max_targets = 4;
    wish.owns_cluster = true;
    auto reach = [this](const Node& node, const std::vector<std::string>& words) -> Result<std::unique_ptr<NodeLink>> {
      if (node.name == unreachable_) return system_error("no way to s2", 0);
      words_ = words;
      return std::unique_ptr<NodeLink>(std::make_unique<FakeLink>(nodes_[node.name]));
    };
    return Injection(plan_injection(wish).value(), reach, dry_run, nullptr);
  }
  void end(const std::string& node, const std::string& says) {
    if (!says.empty()) nodes_[node].says.push_back(says);
    nodes_[node].gone = true;
  }

  Cluster cluster_;
  std::map<std::string, FakeNode> nodes_;
  std::vector<std::string> words_;
  std::string unreachable_;
};

TEST_F(ControllerTest, NobodyBeginsBeforeAllAreReady) {
  Injection injection = start("cpu_hog", {"s1", "s2"});
  EXPECT_EQ(words_, (std::vector<std::string>{"fault", "guard"}));
  EXPECT_TRUE(parse_part(nodes_["s1"].sent));
  nodes_["s1"].says = {"prepared"};
  injection.turn();
  EXPECT_THAT(nodes_["s1"].sent, testing::Not(HasSubstr("go\n")));
  nodes_["s2"].says = {"prepared"};
  injection.turn();
  EXPECT_THAT(nodes_["s1"].sent, HasSubstr("go\n"));
  EXPECT_THAT(nodes_["s2"].sent, HasSubstr("go\n"));
  nodes_["s1"].says = {"active 100"};
  nodes_["s2"].says = {"active 105"};
  injection.turn();
  EXPECT_TRUE(injection.active());
  end("s1", "removed 200 clean time%20over");
  injection.turn();
  EXPECT_THAT(nodes_["s2"].sent, HasSubstr("undo\n")) << "all end together";
  end("s2", "removed 201 clean asked");
  injection.turn();
  EXPECT_TRUE(injection.over());
  EXPECT_TRUE(injection.clean());
  EXPECT_EQ(injection.parts()[1].removed_ns, 201);
}

TEST_F(ControllerTest, ASinkBeginsBeforeItsSource) {
  Injection injection = start("write_network_hog", {"s1"});
  nodes_["s1"].says = nodes_["x1"].says = {"prepared"};
  injection.turn();
  EXPECT_THAT(nodes_["s1"].sent, HasSubstr("go\n"));
  EXPECT_THAT(nodes_["x1"].sent, testing::Not(HasSubstr("go\n")));
  nodes_["s1"].says = {"active 100"};
  injection.turn();
  EXPECT_THAT(nodes_["x1"].sent, HasSubstr("go\n"));
}

TEST_F(ControllerTest, OneThatRefusesStopsTheOthersBeforeTheyBegin) {
  Injection injection = start("cpu_hog", {"s1", "s2"});
  nodes_["s1"].says = {"prepared"};
  end("s2", "error input no hint");
  injection.turn();
  EXPECT_TRUE(nodes_["s1"].finished);
  EXPECT_THAT(nodes_["s1"].sent, testing::Not(HasSubstr("go\n")));
  end("s1", "");
  injection.turn();
  EXPECT_TRUE(injection.over());
  EXPECT_FALSE(injection.clean());
  EXPECT_EQ(injection.parts()[1].error.what, "no");
  EXPECT_TRUE(injection.parts()[0].error.what.empty()) << "s1 did nothing wrong";
  EXPECT_TRUE(injection.parts()[0].clean);
}

TEST_F(ControllerTest, ANodeThatCannotBeReachedStopsAll) {
  unreachable_ = "s2";
  Injection injection = start("cpu_hog", {"s1", "s2"});
  EXPECT_TRUE(nodes_["s1"].finished);
  end("s1", "");
  injection.turn();
  EXPECT_TRUE(injection.over());
  EXPECT_EQ(injection.parts()[1].error.what, "no way to s2");
}

TEST_F(ControllerTest, SilenceAboutTheUndoIsNotClean) {
  Injection injection = start("cpu_hog", {"s1"});
  nodes_["s1"].says = {"prepared"};
  injection.turn();
  nodes_["s1"].says = {"active 100"};
  injection.turn();
  end("s1", "");
  injection.turn();
  EXPECT_TRUE(injection.over());
  EXPECT_FALSE(injection.clean());
  EXPECT_THAT(injection.parts()[0].error.what, HasSubstr("without a word"));
}

TEST_F(ControllerTest, UncleanAndFadedAreNotClean) {
  Injection injection = start("cpu_hog", {"s1", "s2"});
  nodes_["s1"].says = nodes_["s2"].says = {"prepared"};
  injection.turn();
  nodes_["s1"].says = {"active 100", "faded 120", "removed 130 clean asked"};
  nodes_["s2"].says = {"active 100", "removed 130 unclean asked input still%20there %"};
  nodes_["s1"].gone = nodes_["s2"].gone = true;
  injection.turn();
  EXPECT_TRUE(injection.over());
  EXPECT_FALSE(injection.clean());
  EXPECT_TRUE(injection.parts()[0].faded);
  EXPECT_EQ(injection.parts()[1].error.what, "still there");
}

TEST_F(ControllerTest, ADryRunEndsWhenAllAreReady) {
  Injection injection = start("cpu_hog", {"s1"}, true);
  EXPECT_EQ(words_[1], "check");
  end("s1", "prepared");
  injection.turn();
  EXPECT_TRUE(injection.over());
  EXPECT_TRUE(injection.clean());
  EXPECT_THAT(nodes_["s1"].sent, testing::Not(HasSubstr("go\n")));
}

TEST_F(ControllerTest, StrangeLinesDoNothing) {
  Injection injection = start("cpu_hog", {"s1"});
  nodes_["s1"].says = {"Welcome!", "active", "removed x", ""};
  injection.turn();
  EXPECT_FALSE(injection.over());
  EXPECT_EQ(injection.parts()[0].phase, PartState::Phase::preparing);
}

TEST_F(ControllerTest, JournalsOfAllNodes) {
  nodes_["s1"].says = {"journal ab hang s1 target orphaned x 5", "done"};
  nodes_["s1"].gone = true;
  nodes_["s2"].gone = true;
  nodes_["s2"].why = system_error("ssh failed", 0);
  auto reach = [this](const Node& node, std::vector<std::string>) -> Result<std::unique_ptr<NodeLink>> {
    return std::unique_ptr<NodeLink>(std::make_unique<FakeLink>(nodes_[node.name]));
  };
  auto answers = ask_journals({&cluster_.nodes[0], &cluster_.nodes[1]}, reach, "status", 1'000'000'000);
  ASSERT_EQ(answers.size(), 2u);
  ASSERT_EQ(answers[0].journals.size(), 1u);
  EXPECT_EQ(answers[0].journals[0].fault, "hang");
  EXPECT_TRUE(answers[0].error.what.empty());
  EXPECT_EQ(answers[1].error.what, "ssh failed");
}

TEST_F(ControllerTest, AnAnswerWithoutItsEndIsNone) {
  nodes_["s1"].gone = nodes_["s2"].gone = nodes_["x1"].gone = true;
  nodes_["s2"].says = {"journal ab hang s2 target expired x 5"};
  nodes_["x1"].says = {"done"};
  auto reach = [this](const Node& node, std::vector<std::string>) -> Result<std::unique_ptr<NodeLink>> {
    return std::unique_ptr<NodeLink>(std::make_unique<FakeLink>(nodes_[node.name]));
  };
  auto answers =
      ask_journals({&cluster_.nodes[0], &cluster_.nodes[1], &cluster_.nodes[2]}, reach, "status", 1'000'000'000);
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_THAT(answers[0].error.what, HasSubstr("s1 ended in the middle of its answer")) << "not: no fault";
  EXPECT_THAT(answers[1].error.what, HasSubstr("s2 ended in the middle"));
  EXPECT_EQ(answers[1].journals.size(), 1u) << "what was heard counts";
  EXPECT_TRUE(answers[2].error.what.empty()) << "nothing is there";
}

TEST_F(ControllerTest, AGuardThatStaysIsNotWaitedForForEver) {
  Injection injection = start("cpu_hog", {"s1"});
  nodes_["s1"].says = {"prepared"};
  injection.turn();
  int64_t begin = injection.limit_ns();
  nodes_["s1"].says = {"active 100"};
  injection.turn();
  ASSERT_TRUE(injection.active());
  const FaultPart& part = injection.parts()[0].planned.part;
  EXPECT_EQ(injection.limit_ns(), part.duration_ns + part.lease_ns + begin);
  injection.stop();
  EXPECT_LT(injection.limit_ns(), 600'000'000'000);
}

}  // namespace
}  // namespace culprit
