// Which command is meant, and what becomes of its result: the way from words to an exit code.
#include <algorithm>
#include <exception>
#include <new>

#include "base/text.h"
#include "cli/command.h"

namespace culprit {
namespace {

bool asks_for_help(const std::vector<std::string>& words) {
  auto end = std::find(words.begin(), words.end(), "--");
  return std::any_of(words.begin(), end, [](const std::string& word) { return word == "-h" || word == "--help"; });
}

Result<int> run_words(const std::vector<std::string>& words) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h") {
    print(overview_text());
    return kExitHealthy;
  }
  if (words[0] == "--version") return find_command("version")->run(Args());
  const CommandInfo* command = find_command(words[0]);
  if (command == nullptr) {
    std::vector<std::string> names;
    for (const CommandInfo* each : cli_commands()) {
      if (!each->hidden) names.emplace_back(each->name);
    }
    return unknown_word("command", words[0], names, "culprit help shows all commands");
  }
  std::vector<std::string> own(words.begin() + 1, words.end());
  if (asks_for_help(own)) {
    print(help_text(*command));
    return kExitHealthy;
  }
  ASSIGN_OR_RETURN(Args args, parse_args(*command, own));
  return command->run(args);
}

// Our own code throws nothing; the libraries below it may, and memory may run out.
Result<int> run_guarded(const std::vector<std::string>& words) {
  try {
    return run_words(words);
  } catch (const std::bad_alloc&) {
    return unsupported_error("there is not enough memory for this");
  } catch (const std::exception& error) {
    return unsupported_error(cat("unexpected: ", printable(error.what(), 300)),
                             "this is a bug in culprit, please report it");
  }
}

}  // namespace

const CommandInfo* find_command(std::string_view name) {
  for (const CommandInfo* command : cli_commands()) {
    if (command->name == name) return command;
  }
  return nullptr;
}

Error unknown_word(std::string_view kind, std::string_view word, const std::vector<std::string>& known,
                   std::string_view otherwise) {
  std::string near = did_you_mean(word, known);
  return usage_error(cat("there is no ", kind, " \"", printable(word), "\""),
                     near.empty() ? std::string(otherwise) : cat("did you mean ", near, "?"));
}

int run_command_line(const std::vector<std::string>& words) {
  Result<int> code = run_guarded(words);
  if (!code) print_error(code.error());
  if (Status flushed = flush_output(); !flushed) {
    print_error(flushed.error());
    return kExitFailed;
  }
  if (code) return *code;
  return code.error().kind == ErrorKind::usage ? kExitUsage : kExitFailed;
}

}  // namespace culprit
