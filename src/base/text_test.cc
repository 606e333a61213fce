#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace culprit {
namespace {

using testing::ElementsAre;

TEST(Text, CatJoinsTextAndNumbers) {
  EXPECT_EQ(cat("a", 'b', 3, -4L, 5ULL, std::string("c")), "ab3-45c");
  EXPECT_EQ(cat(), "");
}

TEST(Text, SplitKeepsEmptyFields) {
  EXPECT_THAT(split("a,,b,", ','), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(split("", ','), ElementsAre(""));
}

TEST(Text, TrimTakesBlanksOfBothEnds) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Text, JoinIsTheInverseOfSplit) {
  EXPECT_EQ(join({"a", "", "b"}, ", "), "a, , b");
  EXPECT_EQ(join({}, ", "), "");
}

TEST(Text, ParseIntTakesTheWholeTextOrNothing) {
  EXPECT_EQ(parse_int("-12"), -12);
  EXPECT_EQ(parse_int("9223372036854775807"), INT64_MAX);
  for (const char* wrong : {"", "-", "1 ", " 1", "1.0", "0x1", "9223372036854775808", "1e3", "+1"}) {
    EXPECT_FALSE(parse_int(wrong)) << wrong;
  }
}

TEST(Text, ParseDoubleRefusesWhatIsNoNumber) {
  EXPECT_EQ(parse_double("1.5e3"), 1500.0);
  EXPECT_EQ(parse_double("-0.25"), -0.25);
  for (const char* wrong : {"", "nan", "inf", "-inf", "1e999", "1,5", "1.5 ", "infinity"}) {
    EXPECT_FALSE(parse_double(wrong)) << wrong;
  }
}

TEST(Text, PrintableEscapesAndCuts) {
  EXPECT_EQ(printable("a\x1b[31m\n"), "a\\x1b[31m\\x0a");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("abcdef", 3), "abc...");
  EXPECT_EQ(printable("abc", 3), "abc");
}

TEST(Text, DidYouMeanFindsSlipsOnly) {
  std::vector<std::string> words{"record", "diagnose", "train"};
  EXPECT_EQ(did_you_mean("recrod", words), "record");
  EXPECT_EQ(did_you_mean("diagnos", words), "diagnose");
  EXPECT_EQ(did_you_mean("tran", words), "train");
  EXPECT_EQ(did_you_mean("zebra", words), "");
  EXPECT_EQ(did_you_mean("", words), "");
  EXPECT_EQ(did_you_mean("record", {}), "");
}

TEST(Text, DidYouMeanIsNotSlowOnLongWords) {
  EXPECT_EQ(did_you_mean(std::string(1 << 20, 'x'), {"record"}), "");
}

}  // namespace
}  // namespace culprit
