#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/command.h"

namespace culprit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<int> nothing(const Args&) {
  return 0;
}

const CommandInfo kProbe{
    .name = "probe",
    .summary = "for tests",
    .positionals = {{.name = "RUN", .help = "the run"}, {.name = "MORE", .help = "another", .required = false}},
    .options = {{.name = "interval", .value = "TIME", .fallback = "1s", .help = "tick"},
                {.name = "json", .help = "as JSON"},
                {.name = "exclude", .value = "SERVER", .help = "not this one", .repeated = true},
                {.name = "count", .value = "N", .fallback = "3", .help = "how many"}},
    .run = nothing,
};
const CommandInfo kRest{
    .name = "trace",
    .summary = "for tests",
    .options = {{.name = "out", .value = "FILE", .help = "where to", .required = true}},
    .run = nothing,
    .rest = "COMMAND...",
};

Args parsed(const std::vector<std::string>& words) {
  return parse_args(kProbe, words).value();
}

Error refused(const CommandInfo& command, const std::vector<std::string>& words) {
  Result<Args> args = parse_args(command, words);
  EXPECT_FALSE(args);
  if (args) return {};
  EXPECT_EQ(args.error().kind, ErrorKind::usage);
  EXPECT_FALSE(args.error().hint.empty()) << args.error().what;
  EXPECT_EQ(args.error().message().find('\n'), std::string::npos) << "an error is one sentence";
  return args.error();
}

TEST(Options, ReadsValuesAttachedAndApart) {
  EXPECT_EQ(parsed({"r", "--interval", "5s"}).get("interval"), "5s");
  EXPECT_EQ(parsed({"--interval=5s", "r"}).get("interval"), "5s");
  EXPECT_EQ(parsed({"--interval=", "r"}).get("interval"), "");
  EXPECT_EQ(parsed({"--interval=a=b", "r"}).get("interval"), "a=b");
  EXPECT_EQ(parsed({"r"}).get("interval"), "1s");
}

TEST(Options, KnowsGivenFromFallback) {
  EXPECT_FALSE(parsed({"r"}).has("interval"));
  EXPECT_FALSE(parsed({"r"}).given("interval"));
  EXPECT_EQ(parsed({"r", "--interval", "2s"}).given("interval"), "2s");
  EXPECT_TRUE(parsed({"r", "--json"}).has("json"));
  EXPECT_FALSE(parsed({"r"}).has("json"));
}

TEST(Options, CollectsRepeatedOnesInOrder) {
  EXPECT_THAT(parsed({"--exclude", "s2", "r", "--exclude=s1"}).all("exclude"), ElementsAre("s2", "s1"));
  EXPECT_THAT(parsed({"r"}).all("exclude"), ElementsAre());
  EXPECT_THAT(parsed({"r"}).all("interval"), ElementsAre("1s"));
}

TEST(Options, PositionalsMixWithOptions) {
  EXPECT_THAT(parsed({"a", "--json", "b"}).positionals, ElementsAre("a", "b"));
  EXPECT_THAT(parsed({"-"}).positionals, ElementsAre("-"));
  EXPECT_THAT(parsed({"-5"}).positionals, ElementsAre("-5"));
}

TEST(Options, WordsAfterTwoDashesAreNoOptions) {
  EXPECT_THAT(parsed({"--", "--json"}).positionals, ElementsAre("--json"));
  Args args = parse_args(kRest, {"--out", "f", "--", "mpirun", "-n", "4", "--"}).value();
  EXPECT_THAT(args.rest, ElementsAre("mpirun", "-n", "4", "--"));
  EXPECT_THAT(args.positionals, ElementsAre());
}

TEST(Options, NegativeNumbersAreValues) {
  EXPECT_EQ(parsed({"r", "--count", "-7"}).get("count"), "-7");
}

TEST(Options, RefusesInOneSentenceWithAHint) {
  EXPECT_EQ(refused(kProbe, {"r", "--intervall", "1s"}).hint, "did you mean --interval?");
  EXPECT_EQ(refused(kProbe, {"r", "--jsn=1"}).hint, "did you mean --json?");
  EXPECT_EQ(refused(kProbe, {"r", "-json"}).hint, "did you mean --json?");
  EXPECT_EQ(refused(kProbe, {"r", "--zzzzzzzzz"}).hint, "culprit help probe");
  EXPECT_EQ(refused(kProbe, {"r", "--interval"}).what, "--interval needs a value");
  EXPECT_EQ(refused(kProbe, {"r", "--interval", "--json"}).what, "--interval needs a value");
  EXPECT_EQ(refused(kProbe, {"r", "--json=yes"}).what, "--json is a switch and takes no value");
  EXPECT_EQ(refused(kProbe, {"r", "--count", "1", "--count", "2"}).what, "--count is given twice");
  EXPECT_EQ(refused(kProbe, {}).what, "RUN is missing: the run");
  EXPECT_EQ(refused(kProbe, {"a", "b", "c\n"}).what, "nothing is expected at \"c\\x0a\"");
  EXPECT_EQ(refused(kRest, {}).what, "--out FILE is missing: where to");
}

TEST(Options, TypedReadersNameTheOption) {
  EXPECT_EQ(parsed({"r", "--interval", "100ms"}).duration("interval").value(), 100'000'000);
  EXPECT_EQ(parsed({"r", "--interval", "2kB"}).bytes("interval").value(), 2000);
  EXPECT_EQ(parsed({"r"}).integer("count", 1, 9).value(), 3);
  EXPECT_DOUBLE_EQ(parsed({"r", "--count", "2.5"}).number("count", 1, 9).value(), 2.5);
  EXPECT_THAT(parsed({"r", "--interval", "soon"}).duration("interval").error().what, HasSubstr("--interval"));
  EXPECT_THAT(parsed({"r", "--interval", "big"}).bytes("interval").error().what, HasSubstr("--interval"));
  EXPECT_EQ(parsed({"r", "--count", "10"}).integer("count", 1, 9).error().what,
            "--count must be a whole number from 1 to 9, not \"10\"");
  EXPECT_EQ(parsed({"r", "--count", "nan"}).number("count", 0, 0.5).error().what,
            "--count must be a number from 0 to 0.5, not \"nan\"");
  EXPECT_FALSE(parsed({"r", "--count", "3x"}).integer("count", 1, 9));
}

TEST(OptionsDeathTest, ReadingAnOptionThatIsNoRowIsABug) {
  EXPECT_DEATH(static_cast<void>(parsed({"r"}).get("nonsense")), "nonsense is no option of probe");
}

}  // namespace
}  // namespace culprit
