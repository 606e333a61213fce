// The recording itself: one thread, one poll loop over all nodes' feeds, one commit per tick.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/record/feed.h"
#include "model/cluster.h"

namespace culprit {

struct RecordPlan {
  Cluster cluster;
  int64_t interval_ns = 0;
  int64_t for_ns = 0;     // 0: until it is stopped
  int64_t max_bytes = 0;  // 0: no limit
  std::string out;
  std::string command_line;
  std::vector<std::string> notes;            // for the manifest
  std::map<std::string, std::string> truth;  // likewise
  bool quiet = false;
  bool summary = false;
};

struct RecordOutcome {
  std::string run_path;
  std::string stopped;  // asked, time over, max-size, disk full, cannot write
  int64_t duration_ns = 0;
  int64_t samples = 0;
  int64_t lost = 0;
  size_t nodes_seen = 0;
  size_t servers_seen = 0;
  std::vector<std::string> summary;
  Error failure;  // of writing, when that ended it; empty `what` otherwise
};

// One feed per node of the cluster, in its order. Runs until SIGINT, SIGTERM or SIGHUP, the time, the size or the disk
// ends it.
Result<RecordOutcome> record_run(const RecordPlan& plan, std::vector<std::unique_ptr<Feed>> feeds);

}  // namespace culprit
