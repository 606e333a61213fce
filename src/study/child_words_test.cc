#include "study/child_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
