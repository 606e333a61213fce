// culprit version: what is running, in one line that belongs into every bug report.
#include "base/text.h"
#include "cli/command.h"

namespace culprit {
namespace {

Result<int> run(const Args&) {
  print(cat("culprit ", CULPRIT_VERSION, "\n"));
  return kExitHealthy;
}

}  // namespace

extern const CommandInfo command_version{
    .name = "version",
    .summary = "print the version",
    .positionals = {},
    .options = {},
    .text = "",
    .run = run,
    .group = Group::about,
};

}  // namespace culprit
