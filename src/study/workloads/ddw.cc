// Large sequential writes over a file that is there, by dd itself (FAST'10, 8.1). Random data: zeros are not stored by
// every file system.
#include <algorithm>

#include "base/text.h"
#include "study/stage.h"
#include "study/workload.h"

namespace culprit {

namespace {

std::string script(const Stage& stage, size_t client, int64_t seconds) {
  size_t records = static_cast<size_t>((seconds == 0 ? kFixedBytes : stage.file_bytes()) >> 22);
  if (seconds == 0) records = std::max<size_t>(1, records / stage.files(client).size());
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
