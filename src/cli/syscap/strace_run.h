// Text of strace into a run: one file per node, so that what an administrator traced by hand can be shown and diagnosed
// like a capture of our own.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace culprit {

struct StraceRequest {
  std::vector<std::string> files;  // "-" is stdin
  std::vector<std::string> nodes;  // one per file; empty: the files' names up to their first dot
  std::string out;
  std::string cluster;  // a cluster.toml that says what the nodes are; "": all are servers of which nothing is known
};

struct StraceSummary {
  std::string path;
  int64_t calls = 0;
  int64_t skipped = 0;  // lines that were not understood
  std::vector<std::string> nodes;
  std::vector<std::string> notes;
};

Result<StraceSummary> import_strace_run(const StraceRequest& request);

}  // namespace culprit
