// For errors, crashes and hangs: whatever a server has to say is met again and again, and nothing ends the workload
// (HotDep'09, section 5, had one of its own for the same reason). A second stream with larger records begins later,
// when a fault is usually in force: servers then want more threads, buffers and descriptors than before.
#include "base/text.h"
#include "study/stage.h"
#include "study/workload.h"

namespace culprit {

namespace {

constexpr int64_t kLater = 15;    // seconds, before the second stream begins
constexpr int kFixedSteps = 100;  // when work is fixed and time is measured

std::string stream(const Stage& stage, size_t client, std::string_view name, const std::string& words) {
  return cat(shell_quote(stage.node_program(*stage.clients()[client])), " churn --folder ",
             shell_quote(cat(stage.scratch_folder(client), "/", name)), " --seed ", client + 1,
             stage.direct() ? " --direct " : " ", words);
}

std::string script(const Stage& stage, size_t client, int64_t seconds) {
  const std::string folder = shell_quote(stage.scratch_folder(client));
  std::string out = cat("mkdir -p ", folder, "/small ", folder, "/large || exit 1\n");
  std::string files;  // for one stream only: another's writes between its write and its read would look like lost data
  for (const std::string& file : stage.files(client)) files += cat("--file ", shell_quote(file), " ");
  if (seconds == 0)
    return cat(out, stream(stage, client, "small", cat(files, "--pause 0s --steps ", kFixedSteps)), "\n");
  if (seconds > 2 * kLater)
    out += cat("( sleep ", kLater, "; exec ",
               stream(stage, client, "large", cat("--record 1MiB --pause 500ms --keep 8 --seconds ", seconds - kLater)),
               " ) &\n");
  return cat(out, stream(stage, client, "small", cat(files, "--seconds ", seconds)), " || exit 1\nwait\n");
}

}  // namespace

extern const Workload workload_churn;
const Workload workload_churn = {
    .name = "churn",
    .summary = "small files come and go, and errors are told, not fatal: for faults that break something",
    .program = kNodeProgram,
    .prepare = make_stage_files,
    .script = script,
};

}  // namespace culprit
