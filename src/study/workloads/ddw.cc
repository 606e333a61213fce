// Large sequential writes over a file that is there, by dd itself (FAST'10, 8.1). Random data: zeros are not stored by
// every file system.
#include "base/text.h"
#include "study/stage.h"
#include "study/workload.h"

namespace culprit {

namespace {

std::string script(const Stage& stage, size_t client, int64_t seconds) {
  const int64_t records = dd_records(stage, client, seconds);
  return on_each_file(stage, client, [&](const std::string& file) {
    return endlessly(seconds, cat("dd if=/dev/urandom of=", file, " bs=4M iflag=fullblock conv=notrunc",
                                  seconds == 0 ? ",fsync" : "", " status=none count=", records,
                                  stage.direct() ? " oflag=direct" : ""));
  });
}

}  // namespace

extern const Workload workload_ddw;
const Workload workload_ddw = {
    .name = "ddw",
    .summary = "large writes over existing files, by dd on all clients",
    .prepare = make_stage_files,
    .script = script,
};

}  // namespace culprit
