// IOzone's read and reread (FAST'10, 8.1).
#include "base/text.h"
#include "study/stage.h"
#include "study/workload.h"

namespace culprit {

namespace {

std::string script(const Stage& stage, size_t client, int64_t seconds) {
  return on_each_file(stage, client, [&](const std::string& file) {
    return load_command(stage, client, file, "read,reread", seconds, "--record 4MiB");
  });
}

}  // namespace

extern const Workload workload_iozoner;
const Workload workload_iozoner = {
    .name = "iozoner",
    .summary = "IOzone's phases: read, reread",
    .program = kNodeProgram,
    .prepare = make_stage_files,
    .script = script,
    .server_script = drop_server_caches,
};

}  // namespace culprit
