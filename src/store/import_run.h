// Files of other tools -> a run. Everything is read and checked before the run's directory is made; should writing it
// fail, it is removed again.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/cluster.h"
#include "store/import_table.h"

namespace culprit {

struct ImportRequest {
  std::string format;              // sadf or csv
  std::vector<std::string> files;  // "-" is stdin
  std::string out;
  std::string cluster;  // a cluster.toml that says who is server and who is client; "": all are servers
};

struct ImportSummary {
  std::string path;
  size_t servers = 0;
  size_t clients = 0;
  size_t ticks = 0;  // of the node that has most
  int64_t interval_ns = 0;
  std::vector<std::string> metrics;
  std::vector<std::string> notes;
};

const std::vector<std::string>& import_formats();
Result<ImportSummary> import_run(const ImportRequest& request);

// The cluster an import belongs to, and which of its nodes each of the table's nodes is. Names that are not in the file
// are matched without their domain.
struct NodeMatch {
  Cluster cluster;
  std::vector<size_t> node_of;
};
Result<NodeMatch> match_nodes(const ImportTable& table, const Cluster* given);

}  // namespace culprit
