// Control: the clients work for a while and then do nothing, as applications between checkpoints do.
#include "base/text.h"
#include "study/stage.h"
#include "study/workload.h"

namespace culprit {

namespace {

std::string script(const Stage& stage, size_t client, int64_t seconds) {
  return on_each_file(stage, client, [&](const std::string& file) {
    return load_command(stage, client, file, "rewrite,reread", seconds, "--record 1MiB --rate gaps:4s-3s");
  });
}

}  // namespace

extern const Workload workload_gaps;
const Workload workload_gaps = {
    .name = "gaps",
    .summary = "control: bursts of writing, then of reading, with idle times",
    .control = true,
    .program = kNodeProgram,
    .prepare = make_stage_files,
    .script = script,
    .server_script = drop_server_caches,
};

}  // namespace culprit
