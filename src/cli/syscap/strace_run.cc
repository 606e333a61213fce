#include "cli/syscap/strace_run.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/text.h"
#include "calls/strace_import.h"
#include "cli/command.h"
#include "cli/syscap/nodes.h"
#include "store/cluster_file.h"
#include "store/run_writer.h"

namespace culprit {

namespace {

Result<std::vector<std::string>> names_of(const StraceRequest& request) {
  std::vector<std::string> names = request.nodes;
  if (names.empty()) {
    for (const std::string& file : request.files) {
      std::string name = std::filesystem::path(file).filename().string();
      names.push_back(file == "-" ? "stdin" : name.substr(0, name.find('.', 1)));
    }
  }
  if (names.size() != request.files.size())
    return usage_error(cat(request.files.size(), " files, but ", names.size(), " nodes"),
                       "give --node once per file, in their order, or leave it out");
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (Status good = check_node_name(name); !good) return usage_error(good.error().what, "name it with --node");
    if (!seen.insert(name).second)
      return usage_error(cat("two files are of the node ", name), "give each a name with --node");
  }
  return names;
}

Result<Cluster> cluster_for(const StraceRequest& request, const std::vector<std::string>& names) {
  Cluster cluster;
  if (!request.cluster.empty()) {
    ASSIGN_OR_RETURN(cluster, read_cluster(request.cluster));
    std::vector<std::string> known;
    for (const Node& node : cluster.nodes) known.push_back(node.name);
    for (const std::string& name : names)
      if (cluster.find(name) == nullptr)
        return unknown_word("node", name, known, cat(request.cluster, " has: ", join(known, ", ")));
    return cluster;
  }
  for (const std::string& name : names) cluster.nodes.emplace_back().name = name;
  return cluster;
}

Status import_files(const StraceRequest& request, RunWriter& writer, StraceSummary& summary) {
  int64_t first = INT64_MAX;
  int64_t last = 0;
  for (size_t i = 0; i < request.files.size(); ++i) {
    const Cluster& cluster = writer.manifest().cluster;
    LogHeader header;
    header.node = summary.nodes[i];
    header.tool = "culprit " CULPRIT_VERSION;
    header.around = surroundings_of(cluster, *cluster.find(header.node));
    std::string file = request.files[i] == "-" ? "/dev/stdin" : request.files[i];
    std::string stem = log_stem(writer.path(), header.node);
    ASSIGN_OR_RETURN(StraceReport report, import_strace(file, stem, std::move(header)));
    summary.calls += report.calls;
    summary.skipped += report.skipped;
    first = std::min(first, report.first_ns);
    last = std::max(last, report.last_ns);
    for (const std::string& note : report.notes) summary.notes.push_back(cat(summary.nodes[i], ": ", note));
  }
  writer.manifest().start_ns = std::max<int64_t>(0, first);
  writer.manifest().end_ns = std::max(writer.manifest().start_ns, last);
  writer.manifest().notes = summary.notes;
  return Ok{};
}

}  // namespace

Result<StraceSummary> import_strace_run(const StraceRequest& request) {
  StraceSummary summary;
  ASSIGN_OR_RETURN(summary.nodes, names_of(request));
  Manifest manifest;
  manifest.origin = "imported";
  manifest.source = join(request.files, " ");
  ASSIGN_OR_RETURN(manifest.cluster, cluster_for(request, summary.nodes));
  ASSIGN_OR_RETURN(RunWriter writer, RunWriter::create(request.out, std::move(manifest)));
  if (Status done = import_files(request, writer, summary); !done) {
    writer.discard();
    return done.error();
  }
  ASSIGN_OR_RETURN(summary.path, writer.close());
  return summary;
}

}  // namespace culprit
