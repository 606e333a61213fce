#include "study/workload.h"

#include <algorithm>

#include "base/text.h"
#include "study/stage.h"

namespace culprit {

Result<const Workload*> find_workload(std::string_view name) {
  std::vector<std::string> known;
  for (const Workload* workload : study_workloads()) {
    if (workload->name == name) return workload;
    known.emplace_back(workload->name);
  }
  std::string near = did_you_mean(name, known);
  return usage_error(cat("there is no workload ", printable(name)),
                     near.empty() ? cat("there are: ", join(known, ", ")) : cat("did you mean ", near, "?"));
}

Status make_stage_files(Stage& stage) {
  return stage.make_files();
}

std::string on_each_file(const Stage& stage, size_t client, const FileCommand& command) {
  std::string script;
  for (const std::string& file : stage.files(client))
    script += cat("( ", command(shell_quote(file)), " || { echo \"a stream has ended\" >&2; kill 0; } ) &\n");
  return script + "wait\n";  // `kill 0` takes the other streams along, which `wait` alone would hide
}

std::string drop_server_caches(const Stage& stage, const Node& server) {
  if (stage.direct() || server.storage.empty()) return "";
  std::string folders;
  for (const std::string& folder : server.storage) folders += cat(" ", shell_quote(folder));
  // .glusterfs has second names of the same files, in as many folders as there ever were files.
  return cat("while :; do find", folders,
             " -name .glusterfs -prune -o -type f -size +1M -print 2>/dev/null | "
             "while read -r f; do dd if=\"$f\" iflag=nocache count=0 status=none 2>/dev/null; done; sleep 1; done");
}

std::string endlessly(int64_t seconds, const std::string& command) {
  return seconds == 0 ? command : cat("while :; do ", command, " || exit 1; done");
}

int64_t dd_records(const Stage& stage, size_t client, int64_t seconds) {
  if (seconds != 0) return stage.file_bytes() >> 22;
  return std::max<int64_t>(1, (kFixedBytes >> 22) / static_cast<int64_t>(stage.files(client).size()));
}

std::string load_command(const Stage& stage, size_t client, const std::string& file, std::string_view phases,
                         int64_t seconds, std::string_view words) {
  // Whole megabytes: direct I/O takes no odd rest.
  const int64_t megabytes =
      std::max<int64_t>(1, (kFixedBytes >> 20) / static_cast<int64_t>(stage.files(client).size()));
  std::string time = seconds == 0 ? cat("--bytes ", megabytes << 20) : cat("--seconds ", seconds);
  return cat(shell_quote(stage.node_program(*stage.clients()[client])), " load --file ", file, " --phases ", phases,
             " ", time, stage.direct() ? " --direct " : " --cold ", words, " >/dev/null");
}

}  // namespace culprit
