#include "study/child_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/subprocess.h"

namespace culprit {
namespace {

TEST(ChildWords, TheFirstComplaintsAndTheLastLines) {
  EXPECT_EQ(first_and_last("", ""), "");
  EXPECT_EQ(first_and_last("\n\n", "  \n"), "");
  EXPECT_EQ(first_and_last("one\ntwo\nthree\n", "write: No space\x1b[31m\n\nread: x\n"),
            "write: No space\\x1b[31m\nread: x\ntwo\nthree");
  std::string many;
  for (int i = 0; i < 1000; ++i) many += std::string(1000, 'x') + "\n";
  EXPECT_LT(first_and_last(many, many).size(), 10u * 310);
}

TEST(ChildWords, AChildMayTalkForEver) {
  auto child = Child::start({"sh", "-c", "echo first; head -c 300000 /dev/zero | tr '\\0' x; echo; echo last"});
  ASSERT_TRUE(child) << child.error().message();
  std::string said;
  for (bool running = true; running;) {
    running = child->running();
    read_ends(child->out.get(), said, 4096);
    ASSERT_LT(said.size(), 4096u);
  }
  // What is still in the pipe: 64 KiB at most.
  for (int rounds = 0; rounds < 100 && !said.ends_with("last\n"); ++rounds) read_ends(child->out.get(), said, 4096);
  EXPECT_TRUE(said.ends_with("last\n"));
  EXPECT_TRUE(said.starts_with("first\nxxx"));
}

TEST(ChildWords, TheFirstErrorAndItsHint) {
  const ErrorWords two = first_error("s1: looking\nculprit: no root\nhint: run as root\nculprit: more\nhint: other\n");
  EXPECT_EQ(two.what, "no root");
  EXPECT_EQ(two.hint, "run as root");
  EXPECT_EQ(first_error("hint: alone\nculprit: x").hint, "");
  EXPECT_EQ(first_error(" sh: not found\n").what, "sh: not found");
  EXPECT_EQ(first_error("").what, "");
}

TEST(ChildWords, AFaultThatFadedAndNothingElse) {
  const std::string part = R"("node":"s2","clean":true,"reason":"time over")";
  EXPECT_TRUE(only_faded("{\"parts\":[{" + part + ",\"faded\":true}]}"));
  EXPECT_FALSE(only_faded("{\"parts\":[{" + part + "}]}"));
  EXPECT_FALSE(only_faded("{\"parts\":[{" + part + ",\"faded\":true,\"error\":\"no\"}]}"));
  EXPECT_FALSE(only_faded(R"({"parts":[{"node":"s2","clean":false,"reason":"time over","faded":true}]})"));
  EXPECT_FALSE(only_faded(R"({"parts":[{"node":"s2","clean":true,"reason":"kill switch","faded":true}]})"));
  for (const char* text : {"", "{", "[]", "{}", "null", R"({"parts":1})", R"({"parts":[1]})"})
    EXPECT_FALSE(only_faded(text));
}

}  // namespace
}  // namespace culprit
