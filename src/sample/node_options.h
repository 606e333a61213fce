// The options of culprit-node. It is started by a recorder, so there are few, and each has one form.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sample/collector.h"

namespace culprit {

struct NodeOptions {
  SampleEnv env;
  bool once = false;  // one sample at once, then the end; stdin is not looked at
  bool version = false;
  bool help = false;
};

Result<NodeOptions> parse_node_options(const std::vector<std::string>& arguments);
// The other way round, for those who start it.
std::vector<std::string> node_arguments(const SampleEnv& env);
std::string node_help();

// "49152-60999,9422"
Result<std::vector<PortRange>> parse_ports(std::string_view text);
std::string format_ports(const std::vector<PortRange>& ports);

}  // namespace culprit
