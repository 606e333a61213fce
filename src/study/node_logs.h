// What the file system itself wrote to its logs during a run: how long each log is before, and what was added after,
// into RUN/logs/NODE. Servers in trouble write a lot, so a node has a limit; the beginning of the trouble tells most.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "study/stage.h"

namespace culprit {

class NodeLogs {
 public:
  // `folder` is on the nodes; one that a node does not have is empty.
  NodeLogs(const Stage& stage, std::string folder) : stage_(stage), folder_(std::move(folder)) {}

  Status begin();
  Status keep(const std::string& run_path) const;

 private:
  using Sizes = std::map<std::string, int64_t>;  // by the log's path below the folder
  Result<Sizes> sizes_of(const Node& node) const;
  Status keep_node(const Node& node, const std::string& into) const;
  std::vector<const Node*> nodes() const;

  const Stage& stage_;
  std::string folder_;
  std::map<std::string, Sizes> before_;  // by node
};

// "SIZE PATH" lines -> sizes. What has no plain name is left out.
std::map<std::string, int64_t> parse_log_sizes(std::string_view text);

}  // namespace culprit
