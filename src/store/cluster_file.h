// Reads and writes cluster.toml. docs/formats/cluster.md.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/cluster.h"

namespace culprit {

Result<Cluster> parse_cluster(std::string_view text, const std::string& name_for_errors);
Result<Cluster> read_cluster(const std::string& path);
std::string format_cluster(const Cluster& cluster);  // parse_cluster of it gives the same cluster

// A node's name becomes a part of file names and of commands: no blanks, slashes, control characters; no leading - or
// dot.
Status check_node_name(std::string_view name);
// local, ns:NAME or ssh:USER@HOST[:PORT]; nothing that ssh or ip could take for an option.
Status check_reach(std::string_view reach);

}  // namespace culprit
