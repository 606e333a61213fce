// Large sequential reads, by dd itself (FAST'10, 8.1). Without direct I/O the pages are dropped between passes, on the
// clients and on the servers: the paper's files were larger than its memory, ours are not.
#include "base/text.h"
#include "study/stage.h"
#include "study/workload.h"

namespace culprit {

namespace {

std::string script(const Stage& stage, size_t client, int64_t seconds) {
  const int64_t records = dd_records(stage, client, seconds);
  return on_each_file(stage, client, [&](const std::string& file) {
    std::string cold = stage.direct() ? "" : cat("dd if=", file, " iflag=nocache count=0 status=none; ");
    return endlessly(seconds, cat(cold, "dd if=", file, " of=/dev/null bs=4M status=none count=", records,
                                  stage.direct() ? " iflag=direct" : ""));
  });
}

}  // namespace

extern const Workload workload_ddr;
const Workload workload_ddr = {
    .name = "ddr",
    .summary = "large reads, by dd on all clients",
    .prepare = make_stage_files,
    .script = script,
    .server_script = drop_server_caches,
};

}  // namespace culprit
