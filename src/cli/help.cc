// All help is made from the rows of the commands: one command's page, the overview, the reference.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "cli/command.h"

namespace culprit {
namespace {

constexpr size_t kColumns = 100;  // a terminal beside an editor
constexpr size_t kMaxLabel = 28;  // a longer label gets a line of its own

struct Row {
  std::string label;
  std::string text;
};

// `text` broken at blanks into lines of at most `width` characters.
std::vector<std::string> wrap(std::string_view text, size_t width) {
  std::vector<std::string> lines(1);
  for (std::string_view word : split(text, ' ')) {
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
  }
  return lines;
}

std::string aligned(const std::vector<Row>& rows) {
  size_t label_width = 0;
  for (const Row& row : rows) {
    if (row.label.size() <= kMaxLabel) label_width = std::max(label_width, row.label.size());
  }
  size_t indent = label_width + 4;
  std::string out;
  for (const Row& row : rows) {
    std::string line = cat("  ", row.label);
    if (line.size() + 2 > indent) {
      out += line + "\n";
      line.clear();
    }
    for (const std::string& part : wrap(row.text, kColumns - indent)) {
      line.resize(std::max(indent, line.size()), ' ');
      out += line + part + "\n";
      line.clear();
    }
  }
  return out;
}

std::string usage_line(const CommandInfo& command) {
  std::string out = cat("usage: culprit ", command.name);
  for (const Positional& positional : command.positionals) {
    std::string word = cat(positional.name, positional.repeated ? "..." : "");
    out += positional.required ? cat(" ", word) : cat(" [", word, "]");
  }
  for (const Option& option : command.options) {
    if (option.required) out += cat(" --", option.name, " ", option.value);
  }
  bool optional_ones = std::any_of(command.options.begin(), command.options.end(),
                                   [](const Option& option) { return !option.required && !option.help.empty(); });
  if (optional_ones) out += " [options]";
  if (!command.rest.empty()) out += cat(" -- ", command.rest);
  return out + "\n";
}

std::vector<Row> option_rows(const CommandInfo& command) {
  std::vector<Row> rows;
  for (const Option& option : command.options) {
    if (option.help.empty()) continue;
    std::string label = cat("--", option.name, option.value.empty() ? "" : " ", option.value);
    std::string text(option.help);
    if (!option.fallback.empty()) text += cat(" (default ", option.fallback, ")");
    if (option.repeated) text += " (may be repeated)";
    rows.push_back({std::move(label), std::move(text)});
  }
  rows.push_back({"-h, --help", "show this help"});
  return rows;
}

struct GroupTitle {
  Group group;
  std::string_view title;
};

constexpr std::array<GroupTitle, 3> kGroups = {{{Group::diagnose, "find the culprit"},
                                                {Group::runs, "work with runs"},
                                                {Group::about, "about this tool and this machine"}}};

std::vector<const CommandInfo*> shown_commands(Group group) {
  std::vector<const CommandInfo*> out;
  for (const CommandInfo* command : cli_commands()) {
    if (command->group == group && !command->hidden) out.push_back(command);
  }
  return out;
}

}  // namespace

std::string help_text(const CommandInfo& command) {
  std::string out = cat("culprit ", command.name, ": ", command.summary, "\n\n", usage_line(command), "\n");
  std::vector<Row> positionals;
  for (const Positional& positional : command.positionals) {
    positionals.push_back({std::string(positional.name), std::string(positional.help)});
  }
  if (!positionals.empty()) out += aligned(positionals) + "\n";
  out += cat("options\n", aligned(option_rows(command)));
  std::string_view text = trim(command.text);
  if (!text.empty()) out += cat("\n", text, "\n");
  return out;
}

std::string overview_text() {
  std::string out =
      "culprit finds the faulty server of a parallel file system, and which of its resources it is.\n\n"
      "usage: culprit COMMAND [options]\n";
  for (const GroupTitle& group : kGroups) {
    std::vector<Row> rows;
    for (const CommandInfo* command : shown_commands(group.group)) {
      rows.push_back({std::string(command->name), std::string(command->summary)});
    }
    if (!rows.empty()) out += cat("\n", group.title, "\n", aligned(rows));
  }
  return out + "\nnext: culprit help COMMAND, or culprit check to see what works on this machine\n";
}

std::string reference_text() {
  std::string out =
      "# Commands of culprit\n\n"
      "Made by `culprit help --reference` from the commands' own rows; a test fails when this page is stale.\n\n"
      "Exit codes: 0 done (diagnose: healthy), 1 could not run, 2 wrong usage, 10 culprit found, 11 undecided.\n"
      "Results go to stdout, everything else to stderr.\n";
  for (const GroupTitle& group : kGroups) {
    for (const CommandInfo* command : shown_commands(group.group)) {
      out += cat("\n## culprit ", command->name, "\n\n```\n", help_text(*command), "```\n");
    }
  }
  return out;
}

}  // namespace culprit
