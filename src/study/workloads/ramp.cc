// Control: the load rises and falls. All servers see it alike, so nobody is at fault.
#include "base/text.h"
#include "study/stage.h"
#include "study/workload.h"

namespace culprit {

namespace {

std::string script(const Stage& stage, size_t client, int64_t seconds) {
  int64_t most = 8'000'000 / static_cast<int64_t>(stage.files(client).size());  // near a calm client's link
  std::string rate = cat("--record 256KiB --rate ramp:", most / 8, "-", most, "/12s");
  return on_each_file(stage, client, [&](const std::string& file) {
    return load_command(stage, client, file, "rewrite,reread", seconds, rate);
  });
}

}  // namespace

extern const Workload workload_ramp;
const Workload workload_ramp = {
    .name = "ramp",
    .summary = "control: the load rises and falls, first writing, then reading",
    .control = true,
    .program = kNodeProgram,
    .prepare = make_stage_files,
    .script = script,
    .server_script = drop_server_caches,
};

}  // namespace culprit
