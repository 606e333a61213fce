// Holds for today's commands and tomorrow's: the table is the parameter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "cli/command.h"

namespace culprit {
namespace {

using testing::HasSubstr;
using testing::Not;

void expect_narrow(const std::string& text) {
  for (std::string_view line : split(text, '\n')) EXPECT_LE(line.size(), 100u) << line;
}

TEST(Help, EveryCommandHasACompletePage) {
  std::set<std::string_view> names;
  for (const CommandInfo* command : cli_commands()) {
    SCOPED_TRACE(command->name);
    EXPECT_TRUE(names.insert(command->name).second) << "two commands of one name";
    EXPECT_FALSE(command->summary.empty());
    EXPECT_FALSE(command->summary.ends_with('.')) << "a summary is a phrase";
    EXPECT_NE(command->run, nullptr);
    std::string page = help_text(*command);
    expect_narrow(page);
    EXPECT_TRUE(page.ends_with('\n'));
    for (const Option& option : command->options) {
      if (!option.help.empty()) {
        EXPECT_THAT(page, HasSubstr(cat("--", option.name)));
      }
    }
  }
}

TEST(Help, OptionRowsAreConsistent) {
  for (const CommandInfo* command : cli_commands()) {
    std::set<std::string_view> names{"help"};
    for (const Option& option : command->options) {
      SCOPED_TRACE(cat(command->name, " --", option.name));
      EXPECT_TRUE(names.insert(option.name).second) << "given twice, or --help";
      EXPECT_FALSE(option.required && !option.fallback.empty()) << "a required option needs no fallback";
      EXPECT_FALSE(option.value.empty() && !option.fallback.empty()) << "a switch has no fallback";
    }
  }
}

TEST(Help, OverviewShowsEveryCommandOnOneScreen) {
  std::string text = overview_text();
  expect_narrow(text);
  for (const CommandInfo* command : cli_commands()) {
    std::string entry = cat("\n  ", command->name, " ");
    if (command->hidden) {
      EXPECT_THAT(text, Not(HasSubstr(entry)));
    } else {
      EXPECT_THAT(text, HasSubstr(entry));
    }
  }
}

TEST(Help, LongHelpIsWrappedAndAligned) {
  CommandInfo command{.name = "x", .summary = "y", .run = [](const Args&) -> Result<int> { return 0; }};
  std::string words;
  for (int i = 0; i < 40; ++i) words += "word ";
  words.pop_back();
  command.options.push_back({.name = "a", .value = "B", .fallback = "7", .help = words});
  std::string page = help_text(command);
  expect_narrow(page);
  EXPECT_THAT(page, HasSubstr("\n  --a B       word word"));
  EXPECT_THAT(page, HasSubstr("\n              word"));
  EXPECT_THAT(page, HasSubstr("(default 7)"));
}

TEST(Dispatch, ExitCodes) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_command_line({}), 0);
  EXPECT_EQ(run_command_line({"--version"}), 0);
  EXPECT_EQ(run_command_line({"help", "list"}), 0);
  EXPECT_EQ(run_command_line({"list", "--help"}), 0);
  EXPECT_EQ(run_command_line({"helpp"}), 2);
  EXPECT_EQ(run_command_line({"list", "--nonsense"}), 2);
  EXPECT_EQ(run_command_line({"list", "--", "--help"}), 2);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("culprit 0."));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("culprit: there is no command \"helpp\"\nhint: did you mean help?\n"));
}

}  // namespace
}  // namespace culprit
