#include "load/load_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace culprit {
namespace {

using testing::HasSubstr;

TEST(LoadOptions, AllOfThem) {
  auto options =
      parse_load_options({"--file", "/mnt/a=b", "--phases=write, fsync,reread,drop", "--seconds", "40", "--file-size",
                          "1GiB", "--record", "4MiB", "--direct", "--rate", "20MB", "--seed", "9"});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->file, "/mnt/a=b");
  ASSERT_EQ(options->phases.size(), 4U);
  EXPECT_EQ(options->phases[0].step, LoadStep::write);
  EXPECT_EQ(options->phases[1].step, LoadStep::fsync);
  EXPECT_EQ(options->phases[2].name, "reread");
  EXPECT_EQ(options->phases[2].step, LoadStep::read);
  EXPECT_EQ(options->phases[3].step, LoadStep::drop);
  EXPECT_EQ(options->duration_ns, 40 * kNsPerSecond);
  EXPECT_EQ(options->file_size, int64_t{1} << 30);
  EXPECT_EQ(options->record, int64_t{4} << 20);
  EXPECT_TRUE(options->direct);
  EXPECT_EQ(options->rate.high_bytes, 20'000'000);
  EXPECT_EQ(options->seed, 9U);
}

TEST(LoadOptions, WhatIsLeftOut) {
  auto options = parse_load_options({"--file", "f", "--phases", "write", "--bytes", "5MB"});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->record, 1 << 20);
  EXPECT_EQ(options->file_size, 5'000'000);
  EXPECT_EQ(options->duration_ns, 0);
  EXPECT_FALSE(options->direct);
  EXPECT_TRUE(parse_load_options({"--file", "f", "--phases", "fsync,drop"})) << "no data, nothing to limit";
  EXPECT_TRUE(parse_load_options({"--file", "f", "--phases", "read", "--seconds", "1"})) << "ends where the file ends";
}

TEST(LoadOptions, WrongOnesAreUsageErrorsWithAHint) {
  const std::vector<std::string> good = {"--file", "f", "--phases", "write", "--bytes", "1MiB"};
  ASSERT_TRUE(parse_load_options(good));
  const std::vector<std::string> more[] = {{"--seconds", "5"},
                                           {"--seconds", "0"},
                                           {"--seconds", "2d"},
                                           {"--bytes", "0"},
                                           {"--bytes", "x"},
                                           {"--record", "100"},
                                           {"--record", "1GiB"},
                                           {"--phases", "write,re"},
                                           {"--phases", ""},
                                           {"--rate", "x"},
                                           {"--seed", "-1"},
                                           {"--seed", "x"},
                                           {"--direct=1"},
                                           {"--file"},
                                           {"--file", ""},
                                           {"--fil", "f"},
                                           {"f"},
                                           {"--direct", "--bytes", "5000"}};
  for (const auto& wrong : more) {
    std::vector<std::string> arguments = good;
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    auto options = parse_load_options(arguments);
    ASSERT_FALSE(options) << testing::PrintToString(wrong);
    EXPECT_EQ(options.error().kind, ErrorKind::usage);
    EXPECT_FALSE(options.error().hint.empty()) << testing::PrintToString(wrong);
  }
}

TEST(LoadOptions, WhatIsMissingIsAskedFor) {
  EXPECT_THAT(parse_load_options({}).error().hint, HasSubstr("--file"));
  EXPECT_THAT(parse_load_options({"--file", "f"}).error().hint, HasSubstr("--phases"));
  EXPECT_THAT(parse_load_options({"--file", "f", "--phases", "read"}).error().hint, HasSubstr("--seconds"));
  EXPECT_THAT(parse_load_options({"--file", "f", "--phases", "write", "--seconds", "1"}).error().hint,
              HasSubstr("--file-size"));
}

TEST(LoadOptions, HelpNamesOptionsAndPhases) {
  auto options = parse_load_options({"--help"});
  ASSERT_TRUE(options);
  EXPECT_TRUE(options->help);
  for (std::string_view word :
       {"--file PATH", "--phases", "--seconds", "--bytes", "--file-size", "--record", "--direct", "--rate", "--seed",
        "  write ", "  rewrite ", "  read ", "  reread ", "  fsync ", "  drop "})
    EXPECT_THAT(load_help(), HasSubstr(word));
}

}  // namespace
}  // namespace culprit
