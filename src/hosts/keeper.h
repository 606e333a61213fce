// The keeper of a lab's node: the process whose namespaces are the node. A small file per node in /run/culprit/ns names
// it, so that `ns:NAME` in cluster.toml finds it; nothing of a node is mounted or named outside of its namespaces.
#pragma once

#include <string>
#include <string_view>

#include "base/process.h"

namespace culprit {

constexpr std::string_view kKeeperFolder = "/run/culprit/ns";

std::string keeper_file(std::string_view name);
// An error when there is no such file, or the process is gone.
Result<ProcessId> find_keeper(std::string_view name);

}  // namespace culprit
