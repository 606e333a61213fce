// Control: a server was away, and what it missed is being rebuilt while the clients write on. Rebuilding is no fault.
#include "base/text.h"
#include "study/stage.h"
#include "study/workload.h"

namespace culprit {

namespace {

std::string script(const Stage& stage, size_t client, int64_t seconds) {
  return on_each_file(stage, client, [&](const std::string& file) {
    return load_command(stage, client, file, "rewrite,rewrite", seconds, "--record 1MiB");
  });
}

}  // namespace

extern const Workload workload_heal;
const Workload workload_heal = {
    .name = "heal",
    .summary = "control: writes while a server that was away is being rebuilt",
    .control = true,
    .program = kNodeProgram,
    .prepare = make_stage_files,
    .script = script,
    .disturbed_by = "crash",
};

}  // namespace culprit
