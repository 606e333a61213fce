// culprit help [COMMAND]: the overview, or one command's page.
#include "cli/command.h"

namespace culprit {
namespace {

Result<int> run(const Args& args) {
  if (args.has("reference")) {
    print(reference_text());
    return kExitHealthy;
  }
  if (args.positionals.empty()) {
    print(overview_text());
    return kExitHealthy;
  }
  const CommandInfo* command = find_command(args.positionals[0]);
  if (command == nullptr) {
    std::vector<std::string> names;
    for (const CommandInfo* each : cli_commands()) {
      if (!each->hidden) names.emplace_back(each->name);
    }
    return unknown_word("command", args.positionals[0], names, "culprit help shows all commands");
  }
  print(help_text(*command));
  return kExitHealthy;
}

}  // namespace

extern const CommandInfo command_help{
    .name = "help",
    .summary = "what the commands are and what one of them does",
    .positionals = {{.name = "COMMAND", .help = "the command to explain", .required = false}},
    .options = {{.name = "reference"}},
    .text = "",
    .run = run,
    .group = Group::about,
};

}  // namespace culprit
