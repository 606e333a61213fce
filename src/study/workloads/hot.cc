// Control: one server gets more load than the others, because one file is wanted by everybody.
#include "base/text.h"
#include "study/stage.h"
#include "study/workload.h"

namespace culprit {

namespace {

std::string script(const Stage& stage, size_t client, int64_t seconds) {
  std::string every = on_each_file(stage, client, [&](const std::string& file) {
    return load_command(stage, client, file, "rewrite,reread", seconds, "--record 1MiB");
  });
  // Two more streams read the first client's first file.
  std::string more =
      load_command(stage, client, shell_quote(stage.files(0)[0]), "read,reread", seconds, "--record 1MiB");
  return cat("( ", more, " ) &\n( ", more, " ) &\n", every);
}

Status check(const Stage& stage) {
  if (!stage.spread()) return Ok{};
  return unsupported_error("no server can be hot here: each file lies on all servers",
                           "use it with a layout that keeps files whole, such as distribute");
}

}  // namespace

extern const Workload workload_hot;
const Workload workload_hot = {
    .name = "hot",
    .summary = "control: everybody wants a file of one server",
    .control = true,
    .program = kNodeProgram,
    .prepare = make_stage_files,
    .script = script,
    .check = check,
    .server_script = drop_server_caches,
};

}  // namespace culprit
