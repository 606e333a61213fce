#include "store/manifest.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/fd.h"
#include "base/text.h"
#include "store/run_schema.h"

namespace culprit {

namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 16;                     // ours has 4; the parser keeps every level in memory
constexpr int64_t kMaxBytes = int64_t{64} << 20;  // 100,000 nodes with their environment are some 40 MB

// Reads typed members of one JSON object. Absent members keep the default; the first wrong one is remembered.
class Fields {
 public:
  Fields(const Json& object, std::string where, std::string& problem)
      : object_(object), where_(std::move(where)), problem_(problem) {
    if (!object_.is_object()) fail("", "an object");
  }

  void text(const char* name, std::string& out) {
    const Json* member = find(name);
    if (!member) return;
    if (!member->is_string()) return fail(name, "a text");
    out = member->get_ref<const std::string&>();
  }
  void integer(const char* name, int64_t& out, int64_t low, int64_t high) {
    const Json* member = find(name);
    if (!member) return;
    if (!member->is_number_integer()) return fail(name, "a whole number");
    if (member->is_number_unsigned() && member->get<uint64_t>() > static_cast<uint64_t>(high))
      return fail(name, "a number within its range");
    out = member->get<int64_t>();
    if (out < low || out > high) fail(name, "a number within its range");
  }
  void real(const char* name, double& out) {
    const Json* member = find(name);
    if (!member) return;
    if (!member->is_number()) return fail(name, "a number");
    out = member->get<double>();
    if (!std::isfinite(out)) fail(name, "a finite number");
  }
  void boolean(const char* name, bool& out) {
    const Json* member = find(name);
    if (!member) return;
    if (!member->is_boolean()) return fail(name, "true or false");
    out = member->get<bool>();
  }
  void texts(const char* name, std::vector<std::string>& out) {
    for (const Json& item : array(name)) {
      if (!item.is_string()) return fail(name, "a list of texts");
      out.push_back(item.get_ref<const std::string&>());
    }
  }
  void text_map(const char* name, std::map<std::string, std::string>& out) {
    const Json* member = find(name);
    if (!member) return;
    if (!member->is_object()) return fail(name, "an object of texts");
    for (auto it = member->begin(); it != member->end(); ++it) {
      if (!it.value().is_string()) return fail(name, "an object of texts");
      out[it.key()] = it.value().get_ref<const std::string&>();
    }
  }
  // Both are empty when the member is absent or, remembered as a problem, of another type.
  const Json& array(const char* name) {
    static const Json kNothing = Json::array();
    const Json* member = find(name);
    if (!member) return kNothing;
    if (member->is_array()) return *member;
    fail(name, "a list");
    return kNothing;
  }
  const Json& object(const char* name) {
    static const Json kNothing = Json::object();
    const Json* member = find(name);
    if (!member) return kNothing;
    if (member->is_object()) return *member;
    fail(name, "an object");
    return kNothing;
  }
  void fail(const std::string& name, const std::string& wanted) {
    if (!problem_.empty()) return;
    problem_ = name.empty() ? cat(where_, " is not ", wanted) : cat(where_, ".", name, " is not ", wanted);
  }

 private:
  const Json* find(const char* name) const {
    if (!object_.is_object()) return nullptr;
    auto it = object_.find(name);
    return it == object_.end() ? nullptr : &*it;
  }

  const Json& object_;
  std::string where_;
  std::string& problem_;
};

constexpr const char* kNodeKinds[] = {"server", "client", "other"};

std::string hostile_depth(std::string_view text) {
  int depth = 0;
  bool in_text = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (in_text) {
      if (c == '\\') ++i;
      if (c == '"') in_text = false;
    } else if (c == '"') {
      in_text = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) return cat("it is nested deeper than ", kMaxDepth, " levels");
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return "";
}

Node parse_node(const Json& json, std::string& problem) {
  Node node;
  Fields fields(json, "cluster.nodes", problem);
  std::string kind = "server";
  fields.text("name", node.name);
  fields.text("kind", kind);
  fields.text("address", node.address);
  fields.texts("roles", node.roles);
  fields.text("reach", node.reach);
  fields.texts("disks", node.disks);
  fields.texts("nics", node.nics);
  fields.texts("daemons", node.daemons);
  fields.texts("storage", node.storage);
  fields.text("sampler", node.sampler);
  if (node.name.empty()) fields.fail("name", "a name");
  if (kind == kNodeKinds[1]) {
    node.kind = NodeKind::client;
  } else if (kind != kNodeKinds[0]) {
    node.kind = NodeKind::other;  // also a kind of a newer version: it is no server to us
  }
  return node;
}

void parse_cluster_fields(const Json& json, Cluster& cluster, std::string& problem) {
  Fields fields(json, "cluster", problem);
  fields.text("name", cluster.name);
  fields.text("fs", cluster.fs);
  for (const Json& range : fields.array("data_ports")) {
    int64_t first = 0;
    int64_t last = 0;
    Fields port(range, "cluster.data_ports", problem);
    port.integer("first", first, 0, 65535);
    port.integer("last", last, 0, 65535);
    cluster.data_ports.push_back({static_cast<int>(first), static_cast<int>(last)});
  }
  const Json& nodes = fields.array("nodes");
  if (nodes.size() > kMaxNodes) return fields.fail("nodes", cat("a list of at most ", kMaxNodes, " nodes"));
  for (const Json& node : nodes) {
    cluster.nodes.push_back(parse_node(node, problem));
    if (!problem.empty()) return;
  }
}

NodeReport parse_report(const Json& json, std::string& problem) {
  NodeReport report;
  Fields fields(json, "nodes", problem);
  fields.text("name", report.name);
  fields.integer("clock_offset_ns", report.clock_offset_ns, -kMaxOffsetNs, kMaxOffsetNs);
  fields.integer("clock_uncertainty_ns", report.clock_uncertainty_ns, 0, kMaxOffsetNs);
  fields.integer("samples", report.samples, 0, INT64_MAX);
  fields.integer("skipped", report.skipped, 0, INT64_MAX);
  fields.integer("gaps", report.gaps, 0, INT64_MAX);
  fields.text_map("environment", report.environment);
  return report;
}

void parse_fields(const Json& json, Manifest& m, std::string& problem) {
  Fields fields(json, "manifest", problem);
  fields.text("tool", m.tool);
  fields.text("origin", m.origin);
  fields.text("source", m.source);
  fields.integer("start_ns", m.start_ns, 0, kMaxTimeNs);
  fields.integer("end_ns", m.end_ns, 0, kMaxTimeNs);
  fields.integer("interval_ns", m.interval_ns, 0, kMaxTimeNs);
  fields.boolean("complete", m.complete);
  fields.text("stopped", m.stopped);
  parse_cluster_fields(fields.object("cluster"), m.cluster, problem);
  for (const Json& report : fields.array("nodes")) {
    m.nodes.push_back(parse_report(report, problem));
    if (!problem.empty()) return;
  }
  fields.texts("notes", m.notes);
  fields.real("own_cpu_seconds", m.own_cpu_seconds);
  fields.integer("own_rss_bytes", m.own_rss_bytes, 0, INT64_MAX);
  fields.text("checksum", m.checksum);
  fields.text_map("truth", m.truth);
}

std::string duplicate_node(const Manifest& m) {
  std::unordered_set<std::string_view> names;
  for (const Node& node : m.cluster.nodes)
    if (!names.insert(node.name).second) return cat("two nodes have the name ", printable(node.name));
  std::unordered_set<std::string_view> reports;
  for (const NodeReport& report : m.nodes)
    if (!reports.insert(report.name).second) return cat("it reports twice on node ", printable(report.name));
  return "";
}

Json node_json(const Node& node) {
  return Json{{"name", node.name},       {"kind", kNodeKinds[static_cast<int>(node.kind)]},
              {"address", node.address}, {"roles", node.roles},
              {"reach", node.reach},     {"disks", node.disks},
              {"nics", node.nics},       {"daemons", node.daemons},
              {"storage", node.storage}, {"sampler", node.sampler}};
}

Json report_json(const NodeReport& report) {
  return Json{{"name", report.name},
              {"clock_offset_ns", report.clock_offset_ns},
              {"clock_uncertainty_ns", report.clock_uncertainty_ns},
              {"samples", report.samples},
              {"skipped", report.skipped},
              {"gaps", report.gaps},
              {"environment", report.environment}};
}

Json cluster_json(const Cluster& cluster) {
  Json nodes = Json::array();
  for (const Node& node : cluster.nodes) nodes.push_back(node_json(node));
  Json ports = Json::array();
  for (const PortRange& range : cluster.data_ports) ports.push_back(Json{{"first", range.first}, {"last", range.last}});
  return Json{{"name", cluster.name}, {"fs", cluster.fs}, {"data_ports", ports}, {"nodes", nodes}};
}

}  // namespace

std::string format_manifest(const Manifest& m) {
  Json reports = Json::array();
  for (const NodeReport& report : m.nodes) reports.push_back(report_json(report));
  Json json{{"version", m.version},
            {"tool", m.tool},
            {"origin", m.origin},
            {"source", m.source},
            {"start_ns", m.start_ns},
            {"end_ns", m.end_ns},
            {"interval_ns", m.interval_ns},
            {"complete", m.complete},
            {"stopped", m.stopped},
            {"cluster", cluster_json(m.cluster)},
            {"nodes", reports},
            {"notes", m.notes},
            {"own_cpu_seconds", m.own_cpu_seconds},
            {"own_rss_bytes", m.own_rss_bytes},
            {"checksum", m.checksum},
            {"truth", m.truth}};
  // Host names and paths need not be UTF-8; a manifest must be.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Manifest> parse_manifest(std::string_view text, const std::string& name) {
  const char* hint = "the run is damaged or was not written by culprit";
  std::string problem = hostile_depth(text);
  if (!problem.empty()) return input_error(cat(name, " cannot be read: ", problem), hint);
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return input_error(cat(name, " is not valid JSON"), hint);
  Manifest m;
  int64_t version = 0;
  Fields(json, "manifest", problem).integer("version", version, 1, INT64_MAX);
  if (problem.empty() && version == 0) problem = "manifest.version is missing";
  if (problem.empty() && version > kRunVersion)
    return unsupported_error(cat(name, " has run version ", version, ", this culprit reads up to ", kRunVersion),
                             "use the version of culprit that wrote the run, or a newer one");
  m.version = static_cast<int>(version);
  if (problem.empty()) parse_fields(json, m, problem);
  if (problem.empty()) problem = duplicate_node(m);
  if (!problem.empty()) return input_error(cat(name, " cannot be used: ", problem), hint);
  return m;
}

Result<Manifest> read_manifest(const std::string& run_directory) {
  std::string path = run_directory + "/" + kManifestFile;
  ASSIGN_OR_RETURN(std::string text, read_file(path, kMaxBytes));
  return parse_manifest(text, path);
}

Status write_manifest(const std::string& run_directory, const Manifest& manifest) {
  return write_file_atomically(run_directory + "/" + kManifestFile, format_manifest(manifest));
}

}  // namespace culprit
