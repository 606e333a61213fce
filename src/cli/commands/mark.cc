// culprit mark: what happens now, written into the recording that is running.
#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/record/registry.h"
#include "store/run_path.h"
#include "store/run_writer.h"

namespace culprit {

namespace {

Result<std::string> run_to_mark(const Args& args) {
  if (args.has("run")) return find_run(args.get("run"));
  std::vector<RunningRecording> running = running_recordings(registry_folders());
  if (running.empty())
    return input_error("no recording of yours is running", "start one with `culprit record`, or name a run with --run");
  if (running.size() == 1) return running[0].run_path;
  std::vector<std::string> names;
  for (const RunningRecording& each : running) names.push_back(each.run_path);
  return input_error(cat(running.size(), " recordings are running: ", join(names, ", ")), "say which one with --run");
}

Result<int> run(const Args& args) {
  std::string text(trim(join(args.positionals, " ")));
  if (text.empty()) return usage_error("an empty mark says nothing", "culprit mark \"job 17 starts\"");
  int64_t now = wall_now_ns();
  ASSIGN_OR_RETURN(std::string path, run_to_mark(args));
  RETURN_IF_ERROR(append_event(path, {now, "", "mark", text}));
  print(cat("marked ", path, " at ", format_time(now), "\n"));
  return kExitHealthy;
}

}  // namespace

extern const CommandInfo command_mark;
const CommandInfo command_mark{
    .name = "mark",
    .summary = "put a mark into a running recording",
    .positionals = {{"TEXT", "what happens now", true, true}},
    .options = {{"run", "RUN", "", "the run to mark, when several recordings are running"}},
    .text =
        "Marks are events of the run: `culprit diagnose` shows those of its time.\n"
        "\n"
        "  culprit mark \"job 17 starts\"\n",
    .run = run,
    .group = Group::runs,
};

}  // namespace culprit
