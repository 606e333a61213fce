// The first process of a node's namespaces.
#pragma once

#include <string>

#include "base/process.h"
#include "lab/lab.h"

namespace culprit {

// Starts the node's keeper and writes down who it is.
Status start_keeper(const Lab& lab, const LabNode& node);
// What the keeper does, in its own process: makes the node's private mounts, says "ready", then reaps orphans for ever.
// Returns only when it fails.
Error keep_node(const std::string& lab, const std::string& node, const std::string& folder);
// All keepers of the lab that live, whether written down or not: by their command lines.
std::vector<ProcessId> find_keepers(std::string_view lab);

}  // namespace culprit
