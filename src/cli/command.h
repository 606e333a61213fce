// A command of the tool: its options are rows, from which parsing, help and the reference page are made.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace culprit {

struct Option {
  std::string_view name;        // "interval"; typed as --interval VALUE or --interval=VALUE
  std::string_view value = "";  // "TIME"; "" for a switch
  std::string_view fallback = "";
  std::string_view help = "";  // "" hides it from the help
  bool repeated = false;
  bool required = false;
};

struct Positional {
  std::string_view name;  // "RUN"
  std::string_view help;
  bool required = true;
  bool repeated = false;
};

// The parsed command line.
class Args {
 public:
  bool has(std::string_view option) const;         // given by the user
  std::string get(std::string_view option) const;  // given, or the fallback
  std::vector<std::string> all(std::string_view option) const;
  std::optional<std::string> given(std::string_view option) const;
  // Typed readers; the error names the option.
  Result<int64_t> integer(std::string_view option, int64_t low, int64_t high) const;
  Result<double> number(std::string_view option, double low, double high) const;
  Result<int64_t> duration(std::string_view option) const;
  Result<int64_t> bytes(std::string_view option) const;

  std::vector<std::string> positionals;
  std::vector<std::string> rest;  // after --, for a command that has a name for them; otherwise they are positionals

 private:
  friend Result<Args> parse_args(const struct CommandInfo& command, const std::vector<std::string>& words);
  const struct CommandInfo* command_ = nullptr;
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

constexpr int kExitHealthy = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kExitCulprit = 10;
constexpr int kExitUndecided = 11;

// Where the overview shows a command.
enum class Group { diagnose, runs, about };

struct CommandInfo {
  std::string_view name;
  std::string_view summary;
  std::vector<Positional> positionals = {};
  std::vector<Option> options = {};
  std::string_view text = "";            // what else the help says: a few lines, examples
  Result<int> (*run)(const Args& args);  // the exit code
  bool hidden = false;
  Group group = Group::runs;
  std::string_view rest = "";  // what the words after -- are called in the help: "COMMAND..."
};

std::span<const CommandInfo* const> cli_commands();
Result<Args> parse_args(const CommandInfo& command, const std::vector<std::string>& words);
std::string help_text(const CommandInfo& command);
std::string overview_text();   // all commands on one screen
std::string reference_text();  // docs/reference.md
const CommandInfo* find_command(std::string_view name);
// The error for a word that is in no table: "there is no detector fast9" / "did you mean fast10?".
Error unknown_word(std::string_view kind, std::string_view word, const std::vector<std::string>& known,
                   std::string_view otherwise);
// One command line without the program's name, to its exit code.
int run_command_line(const std::vector<std::string>& words);

// Results go to stdout, everything else to stderr. One place, so that a broken pipe is handled once.
void print(std::string_view text);  // exactly this text; buffered unless stdout is a terminal
void say(std::string_view text);    // a line on stderr
void print_error(const Error& error);
Status flush_output();  // false when stdout took not everything; a reader that went away is no error

}  // namespace culprit
