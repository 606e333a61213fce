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
  std::string_view name;   // "interval"; typed as --interval VALUE or --interval=VALUE
  std::string_view value;  // "TIME"; "" for a switch
  std::string_view fallback;
  std::string_view help;
  bool repeated = false;
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
  bool has(std::string_view option) const;            // given by the user
  std::string get(std::string_view option) const;     // given, or the fallback
  std::vector<std::string> all(std::string_view option) const;
  std::optional<std::string> given(std::string_view option) const;
  // Typed readers; the error names the option.
  Result<int64_t> integer(std::string_view option, int64_t low, int64_t high) const;
  Result<double> number(std::string_view option, double low, double high) const;
  Result<int64_t> duration(std::string_view option) const;
  Result<int64_t> bytes(std::string_view option) const;

  std::vector<std::string> positionals;
  std::vector<std::string> rest;  // after --

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

struct CommandInfo {
  std::string_view name;
  std::string_view summary;
  std::vector<Positional> positionals;
  std::vector<Option> options;
  std::string_view text;      // what else the help says: a few lines, examples
  Result<int> (*run)(const Args& args);  // the exit code
  bool hidden = false;
};

std::span<const CommandInfo* const> cli_commands();
Result<Args> parse_args(const CommandInfo& command, const std::vector<std::string>& words);
std::string help_text(const CommandInfo& command);

// Results go to stdout, everything else to stderr. One place, so that a broken pipe is handled once.
void print(std::string_view text);
void say(std::string_view text);  // a line on stderr
void print_error(const Error& error);

}  // namespace culprit
