#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/record/feed.h"

namespace culprit {
namespace {

using testing::HasSubstr;

// Runs one script of ours in the place of whatever it is given.
class ScriptRunner : public Runner {
 public:
  ScriptRunner(std::string script, bool here) : Runner("script"), script_(std::move(script)), here_(here) {}
  bool same_machine() const override { return here_; }
  std::vector<std::string> argv(const std::vector<std::string>&) const override { return {"sh", "-c", script_}; }
  Error explain(int, std::string_view) const override { return {}; }

 private:
  std::string script_;
  bool here_;
};

struct Heard : FeedSink {
  void on_connected(size_t, const std::map<std::string, std::string>&) override { ++connected; }
  void on_sample(size_t, const Sample&) override { ++samples; }
  void on_lost(size_t, const Error& why) override { lost.push_back(why); }
  void on_clock(size_t, const ClockOffset&, const ClockOffset&) override {}
  int connected = 0;
  int samples = 0;
  std::vector<Error> lost;
};

// Until the first connection is lost.
Heard run_script(const std::string& script, bool here) {
  SampleEnv env;
  env.interval_ns = kNsPerSecond;
  auto program = std::make_shared<Program>();
  program->machine = "x86_64";
  auto feed = make_child_feed(0, env, std::make_unique<ScriptRunner>(script, here), program);
  Heard heard;
  for (int turn = 0; turn < 2000 && heard.lost.empty(); ++turn) {
    std::vector<pollfd> fds;
    feed->add_polls(fds);
    ::poll(fds.data(), fds.size(), 10);
    feed->turn(heard);
  }
  return heard;
}

TEST(ChildFeed, ShowsWhatCameInsteadOfAStream) {
  for (bool here : {true, false}) {
    Heard heard = run_script("echo Hello; printf 'This account is not available.'; exit 1", here);
    ASSERT_EQ(heard.lost.size(), 1u);
    EXPECT_EQ(heard.lost[0].what,
              "the sampler ended with exit code 1; instead of its stream came: Hello / This account is not available.");
    EXPECT_NE(heard.lost[0].hint, "");
    EXPECT_EQ(heard.connected, 0);
  }
}

TEST(ChildFeed, AnExitThatSaysNothingIsJustThat) {
  Heard heard = run_script("echo oops >&2; exit 3", false);
  ASSERT_EQ(heard.lost.size(), 1u);
  EXPECT_EQ(heard.lost[0].what, "the sampler ended with exit code 3: oops");
}

TEST(ChildFeed, AStreamThatBeganEndsWithItsExitCode) {
  Heard heard = run_script("echo hello; echo culprit-stream 1 0; echo end 1 2 3 0; exit 4", true);
  ASSERT_EQ(heard.lost.size(), 1u);
  EXPECT_EQ(heard.samples, 1);
  EXPECT_EQ(heard.lost[0].what, "the sampler ended with exit code 4");
}

}  // namespace
}  // namespace culprit
