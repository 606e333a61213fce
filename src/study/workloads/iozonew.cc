// IOzone's write and rewrite (FAST'10, 8.1): a file is written, synced, and written over. Where a file lies on one
// server only, a new one would lie anywhere: there the placed files are written over in both phases.
#include "base/text.h"
#include "study/stage.h"
#include "study/workload.h"

namespace culprit {

namespace {

std::string script(const Stage& stage, size_t client, int64_t seconds) {
  if (stage.spread()) {
    std::string file = shell_quote(stage.scratch_folder(client) + "/iozone");
    return load_command(stage, client, file, "write,fsync,rewrite", seconds, "--record 4MiB --file-size 192MiB");
  }
  return on_each_file(stage, client, [&](const std::string& file) {
    return load_command(stage, client, file, "rewrite,fsync,rewrite", seconds, "--record 4MiB");
  });
}

}  // namespace

extern const Workload workload_iozonew;
const Workload workload_iozonew = {
    .name = "iozonew",
    .summary = "IOzone's phases: write, fsync, rewrite",
    .program = kNodeProgram,
    .prepare = make_stage_files,
    .script = script,
};

}  // namespace culprit
