#include "store/import_run.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "model/metric.h"
#include "store/cluster_file.h"
#include "store/import_csv.h"
#include "store/import_devices.h"
#include "store/import_sadf.h"
#include "store/run_reader.h"
#include "store/run_writer.h"

namespace culprit {

namespace {

Status read_sadf(const ImportRequest& request, ImportTable& table) {
  SadfImport import(table);
  for (const std::string& file : request.files) {
    ASSIGN_OR_RETURN(ReadFn read, read_bytes_of(file));
    RETURN_IF_ERROR(import.add(read, file));
  }
  return table.finish(false);
}

Status read_csv(const ImportRequest& request, ImportTable& table) {
  for (const std::string& file : request.files) {
    ASSIGN_OR_RETURN(ReadFn read, read_bytes_of(file));
    RETURN_IF_ERROR(import_csv(read, file, table));
  }
  return table.finish(true);
}

struct FormatRow {
  std::string_view name;
  Status (*read)(const ImportRequest& request, ImportTable& table);
};
constexpr FormatRow kFormats[] = {{"csv", read_csv}, {"sadf", read_sadf}};

std::string_view short_name(std::string_view name) {
  return name.substr(0, name.find('.'));
}

std::optional<size_t> find_node(const Cluster& cluster, std::string_view name) {
  for (size_t i = 0; i < cluster.nodes.size(); ++i)
    if (cluster.nodes[i].name == name || cluster.nodes[i].address == name) return i;
  for (size_t i = 0; i < cluster.nodes.size(); ++i)
    if (short_name(cluster.nodes[i].name) == short_name(name)) return i;
  return std::nullopt;
}

// One node's series, merged by time.
class NodeMerge {
 public:
  void add(const ImportSeries& series) {
    if (!series.values.empty()) heap_.push({&series, 0});
  }
  // At each of the node's times what there is; where there is nothing, a sample that says the node was there.
  Status write(RunWriter& run, size_t node, const std::vector<int64_t>& times) {
    for (int64_t t_ns : times) {
      bool any = false;
      for (; !heap_.empty() && heap_.top().t_ns() <= t_ns; any = true) {
        Cursor cursor = heap_.top();
        heap_.pop();
        const ImportSeries& series = *cursor.series;
        RETURN_IF_ERROR(run.add_value(node, t_ns, series.device, series.metric, series.values[cursor.at].value));
        if (++cursor.at < series.values.size()) heap_.push(cursor);
      }
      Sample silent;
      silent.t_ns = t_ns;
      if (!any) RETURN_IF_ERROR(run.add(node, silent));
    }
    return Ok{};
  }

 private:
  struct Cursor {
    const ImportSeries* series;
    size_t at;
    int64_t t_ns() const { return series->values[at].t_ns; }
    bool operator<(const Cursor& other) const { return t_ns() > other.t_ns(); }
  };
  std::priority_queue<Cursor> heap_;
};

// All that is known before the run is written.
struct Import {
  ImportTable table;
  NodeMatch match;
  std::vector<std::vector<int64_t>> times;     // by the table's node
  std::vector<std::set<std::string>> without;  // devices that are left out, by the table's node
};

using Devices = std::vector<std::set<std::string>>;  // by the table's node

// The disks or the interfaces of each node.
Devices devices_of(const ImportTable& table, Resource resource) {
  Devices devices(table.nodes().size());
  for (const ImportSeries& one : table.all()) {
    const MetricInfo* metric = find_metric(one.metric);
    if (metric && metric->resource == resource && !one.device.empty() && one.device != "lo" && !one.values.empty())
      devices[one.node].insert(one.device);
  }
  return devices;
}

// Where none of the names is in the input, all that it has of the kind would silently be left out.
Status check_names(const Node& node, std::string_view kind, const std::vector<std::string>& names,
                   const std::set<std::string>& devices) {
  if (names.empty() || devices.empty()) return Ok{};
  for (const std::string& name : names)
    if (devices.contains(name)) return Ok{};
  const std::string there = printable(join({devices.begin(), devices.end()}, ", "), 400);
  return input_error(cat("the cluster file names ", kind, " of ", node.name, " (", printable(join(names, ", "), 400),
                         "), but the input has ", there),
                     cat("write their names as the input has them, or leave ", kind, " out of the cluster file"));
}

Status match_devices(const ImportTable& table, NodeMatch& match) {
  const Devices disks = devices_of(table, Resource::disk);
  const Devices nics = devices_of(table, Resource::network);
  for (size_t i = 0; i < match.node_of.size(); ++i) {
    Node& node = match.cluster.nodes[match.node_of[i]];
    use_names_of_input(disks[i], node.disks);
    if (node.kind != NodeKind::server) continue;  // nobody judges the others' disks
    RETURN_IF_ERROR(check_names(node, "disks", node.disks, disks[i]));
    RETURN_IF_ERROR(check_names(node, "nics", node.nics, nics[i]));
  }
  return Ok{};
}

// The devices of each node that are left out.
Devices left_out(const ImportTable& table, const NodeMatch& match, std::vector<std::string>& notes) {
  Devices devices(table.nodes().size());
  for (const ImportSeries& one : table.all()) devices[one.node].insert(one.device);
  Devices out(table.nodes().size());
  for (size_t i = 0; i < devices.size(); ++i) {
    const Node& node = match.cluster.nodes[match.node_of[i]];
    std::vector<std::string> stacked = stacked_devices({devices[i].begin(), devices[i].end()});
    std::erase_if(stacked, [&](const std::string& device) {
      return std::find(node.disks.begin(), node.disks.end(), device) != node.disks.end() ||
             std::find(node.nics.begin(), node.nics.end(), device) != node.nics.end();
    });
    if (!stacked.empty())
      notes.push_back(cat(table.nodes()[i], ": left out because they lie on other devices or in memory: ",
                          join(stacked, ", "), "; name the disks or nics in a cluster file to have them"));
    out[i].insert(stacked.begin(), stacked.end());
  }
  return out;
}

Manifest manifest_of(const ImportRequest& request, const Import& import) {
  const auto& [table, match, times, without] = import;
  Manifest manifest;
  manifest.tool = cat("culprit ", CULPRIT_VERSION);
  manifest.origin = "imported";
  manifest.source = cat(request.format, " ", join(request.files, " "));
  manifest.stopped = "imported";
  manifest.cluster = match.cluster;
  manifest.notes = table.notes();
  manifest.start_ns = INT64_MAX;
  for (const Node& node : match.cluster.nodes) {
    manifest.nodes.emplace_back();
    manifest.nodes.back().name = node.name;
  }
  for (size_t i = 0; i < times.size(); ++i) {
    manifest.nodes[match.node_of[i]].samples = static_cast<int64_t>(times[i].size());
    if (times[i].empty()) continue;
    manifest.start_ns = std::min(manifest.start_ns, times[i].front());
    manifest.end_ns = std::max(manifest.end_ns, times[i].back());
  }
  for (size_t i = 0; i < match.cluster.nodes.size(); ++i)
    if (std::find(match.node_of.begin(), match.node_of.end(), i) == match.node_of.end())
      manifest.notes.push_back(cat("no data of ", match.cluster.nodes[i].name));
  return manifest;
}

Status fill_run(RunWriter& run, const Import& import) {
  std::vector<NodeMerge> merges(import.times.size());
  for (const ImportSeries& one : import.table.all())
    if (!import.without[one.node].contains(one.device)) merges[one.node].add(one);
  for (size_t i = 0; i < merges.size(); ++i) {
    RETURN_IF_ERROR(merges[i].write(run, import.match.node_of[i], import.times[i]));
    RETURN_IF_ERROR(run.commit());
  }
  for (Event event : import.table.events()) {
    auto node = find_node(import.match.cluster, event.node);
    if (node) event.node = import.match.cluster.nodes[*node].name;
    RETURN_IF_ERROR(run.add_event(event));
  }
  return Ok{};
}

// Takes the values, so that their memory is free again when the run is read.
Result<std::string> write_run(const std::string& out, Manifest manifest, Import import) {
  const int64_t end_ns = manifest.end_ns;
  ASSIGN_OR_RETURN(RunWriter run, RunWriter::create(out, std::move(manifest)));
  Status filled = fill_run(run, import);
  run.manifest().end_ns = end_ns;
  Result<std::string> closed = filled ? run.close() : Result<std::string>(filled.error());
  if (!closed) run.discard();
  return closed;
}

ImportSummary summary_of(const Import& import) {
  const auto& [table, match, times, without] = import;
  ImportSummary summary;
  for (size_t i = 0; i < times.size(); ++i) {
    NodeKind kind = match.cluster.nodes[match.node_of[i]].kind;
    if (kind == NodeKind::server) ++summary.servers;
    if (kind == NodeKind::client) ++summary.clients;
    summary.ticks = std::max(summary.ticks, times[i].size());
  }
  std::set<std::string> present;
  for (const ImportSeries& one : table.all())
    if (!one.values.empty()) present.insert(one.metric);
  for (const MetricInfo& metric : metrics())
    if (present.erase(std::string(metric.name)) > 0) summary.metrics.emplace_back(metric.name);
  summary.metrics.insert(summary.metrics.end(), present.begin(), present.end());
  return summary;
}

}  // namespace

const std::vector<std::string>& import_formats() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const FormatRow& row : kFormats) out.emplace_back(row.name);
    return out;
  }();
  return names;
}

Result<NodeMatch> match_nodes(const ImportTable& table, const Cluster* given) {
  NodeMatch match;
  if (!given) {
    for (const std::string& name : table.nodes()) {
      match.node_of.push_back(match.cluster.nodes.size());
      match.cluster.nodes.emplace_back();
      match.cluster.nodes.back().name = name;
    }
    return match;
  }
  match.cluster = *given;
  std::vector<std::string> known;
  for (const Node& node : given->nodes) known.push_back(node.name);
  std::set<size_t> taken;
  for (const std::string& name : table.nodes()) {
    auto node = find_node(*given, name);
    std::string near = did_you_mean(name, known);
    if (!node)
      return input_error(
          cat("node '", printable(name), "' is not in the cluster file"),
          near.empty() ? "add it there as [[server]], [[client]] or [[other]]" : cat("did you mean '", near, "'?"));
    if (!taken.insert(*node).second)
      return input_error(cat("two nodes of the input are '", given->nodes[*node].name,
                             "' of the cluster file, one of them '", printable(name), "'"),
                         "two servers with one name? Write the names in full in both");
    match.node_of.push_back(*node);
  }
  return match;
}

Result<ImportSummary> import_run(const ImportRequest& request) {
  const FormatRow* format = std::find_if(std::begin(kFormats), std::end(kFormats),
                                         [&](const FormatRow& row) { return row.name == request.format; });
  if (format == std::end(kFormats)) {
    std::string near = did_you_mean(request.format, import_formats());
    return usage_error(
        cat("there is no import format '", printable(request.format), "'"),
        near.empty() ? cat("formats are ", join(import_formats(), ", ")) : cat("did you mean '", near, "'?"));
  }
  std::optional<Cluster> cluster;
  if (!request.cluster.empty()) {
    ASSIGN_OR_RETURN(cluster, read_cluster(request.cluster));
  }
  Import import;
  RETURN_IF_ERROR(format->read(request, import.table));
  if (import.table.empty())
    return input_error(cat(join(request.files, ", "), " holds no values"), "are the metrics in it? See docs/formats/");
  ASSIGN_OR_RETURN(import.match, match_nodes(import.table, cluster ? &*cluster : nullptr));
  RETURN_IF_ERROR(match_devices(import.table, import.match));
  import.times = times_by_node(import.table);
  std::vector<std::string> notes;
  import.without = left_out(import.table, import.match, notes);
  Manifest manifest = manifest_of(request, import);
  manifest.notes.insert(manifest.notes.end(), notes.begin(), notes.end());
  ImportSummary summary = summary_of(import);
  summary.notes = manifest.notes;
  ASSIGN_OR_RETURN(summary.path, write_run(request.out, std::move(manifest), std::move(import)));
  ASSIGN_OR_RETURN(RunReader run, RunReader::open(summary.path));  // the interval as every reader estimates it
  summary.interval_ns = run.manifest().interval_ns;
  return summary;
}

}  // namespace culprit
