#include "calls/log_json.h"

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace culprit {

namespace {

using Json = nlohmann::json;

constexpr const char* kNodeKinds[] = {"server", "client", "other"};
constexpr int64_t kLargestPort = 65535;
constexpr size_t kMostNodeName = 200;  // bytes, as in cluster.toml

// Typed members of an object. The first one that is wrong is remembered; what is absent keeps its default.
class Members {
 public:
  Members(const Json& object, std::string& problem) : object_(object), problem_(problem) {
    if (!object_.is_object()) problem_ = "it is not an object";
  }

  void text(const char* name, std::string& out) {
    if (const Json* member = find(name)) take_text(*member, name, out);
  }
  void texts(const char* name, std::vector<std::string>& out) {
    for (const Json& item : list(name)) take_text(item, name, out.emplace_back());
  }
  void number(const char* name, int64_t& out) {
    if (const Json* member = find(name)) take_number(*member, name, out);
  }
  void numbers(const char* name, std::vector<int64_t>& out) {
    for (const Json& item : list(name)) take_number(item, name, out.emplace_back());
  }
  void flag(const char* name, bool& out) {
    const Json* member = find(name);
    if (!member) return;
    if (!member->is_boolean()) return fail(name);
    out = member->get<bool>();
  }
  const Json& list(const char* name) {
    static const Json kNothing = Json::array();
    const Json* member = find(name);
    if (!member) return kNothing;
    if (member->is_array()) return *member;
    fail(name);
    return kNothing;
  }
  const Json& object(const char* name) {
    static const Json kNothing = Json::object();
    const Json* member = find(name);
    return member ? *member : kNothing;
  }
  void fail(const char* name) {
    if (problem_.empty()) problem_ = cat("its '", name, "' is wrong");
  }

 private:
  const Json* find(const char* name) const {
    if (!object_.is_object()) return nullptr;
    auto it = object_.find(name);
    return it == object_.end() ? nullptr : &*it;
  }
  void take_text(const Json& json, const char* name, std::string& out) {
    if (!json.is_string()) return fail(name);
    out = json.get_ref<const std::string&>();
  }
  void take_number(const Json& json, const char* name, int64_t& out) {
    if (!json.is_number_integer()) return fail(name);
    if (json.is_number_unsigned() && json.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) return fail(name);
    out = json.get<int64_t>();
  }

  const Json& object_;
  std::string& problem_;
};

// Paths and host names need not be UTF-8, JSON must be.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json around_json(const Surroundings& around) {
  Json ports = Json::array();
  for (const PortRange& range : around.data_ports) ports.push_back(Json::array({range.first, range.last}));
  Json peers = Json::array();  // arrays: there may be thousands
  for (const Surroundings::Peer& peer : around.peers)
    peers.push_back(Json::array({peer.node, peer.address, kNodeKinds[static_cast<size_t>(peer.kind)]}));
  return Json{{"server", around.server},
              {"storage", around.storage},
              {"devices", around.devices},
              {"data_ports", ports},
              {"peers", peers}};
}

NodeKind node_kind(const std::string& name) {
  if (name == kNodeKinds[0]) return NodeKind::server;
  return name == kNodeKinds[1] ? NodeKind::client : NodeKind::other;  // also one of a later culprit: no server to us
}

bool read_ports(const Json& json, std::vector<PortRange>& out) {
  if (!json.is_array() || json.size() != 2) return false;
  for (const Json& port : json)
    if (!port.is_number_unsigned() || port.get<uint64_t>() > static_cast<uint64_t>(kLargestPort)) return false;
  out.push_back({json[0].get<int>(), json[1].get<int>()});
  return true;
}

bool read_peer(const Json& json, std::vector<Surroundings::Peer>& out) {
  if (!json.is_array() || json.size() != 3) return false;
  for (const Json& text : json)
    if (!text.is_string()) return false;
  out.push_back({json[0].get<std::string>(), json[1].get<std::string>(), node_kind(json[2].get<std::string>())});
  return true;
}

void read_around(const Json& json, Surroundings& around, std::string& problem) {
  Members members(json, problem);
  members.flag("server", around.server);
  members.texts("storage", around.storage);
  for (const Json& device : members.list("devices")) {
    if (!device.is_number_unsigned()) return members.fail("devices");
    around.devices.push_back(device.get<uint64_t>());
  }
  for (const Json& range : members.list("data_ports"))
    if (!read_ports(range, around.data_ports)) return members.fail("data_ports");
  for (const Json& peer : members.list("peers"))
    if (!read_peer(peer, around.peers)) return members.fail("peers");
}

Status parse_json(std::string_view text, const std::string& name, Json& json) {
  json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return input_error(cat(name, " has a part that should be JSON and is not"));
  return Ok{};
}

}  // namespace

std::string format_log_header(const LogHeader& header) {
  return dump(Json{{"version", header.version},
                   {"node", header.node},
                   {"backend", header.backend},
                   {"tool", header.tool},
                   {"machine", header.machine},
                   {"kernel", header.kernel},
                   {"what", header.what},
                   {"start_ns", header.start_ns},
                   {"calls", header.calls},
                   {"sums", header.sums},
                   {"hashed", header.hashed},
                   {"around", around_json(header.around)}});
}

Result<LogHeader> parse_log_header(std::string_view text, const std::string& name) {
  Json json;
  RETURN_IF_ERROR(parse_json(text, name, json));
  std::string problem;
  Members members(json, problem);
  int64_t version = 0;
  members.number("version", version);
  if (problem.empty() && version > kCallLogVersion)
    return unsupported_error(cat(name, " has version ", version, ", this culprit reads up to ", kCallLogVersion),
                             "use the version of culprit that wrote it, or a newer one");
  if (version < 1) members.fail("version");
  LogHeader header;
  members.text("node", header.node);
  members.text("backend", header.backend);
  members.text("tool", header.tool);
  members.text("machine", header.machine);
  members.text("kernel", header.kernel);
  members.text("what", header.what);
  members.number("start_ns", header.start_ns);
  members.text("calls", header.calls);
  members.flag("sums", header.sums);
  members.flag("hashed", header.hashed);
  read_around(members.object("around"), header.around, problem);
  header.node = printable(header.node, kMostNodeName);  // it becomes a word of every line about the log
  if (!problem.empty()) return input_error(cat(name, " has a header that cannot be used: ", problem));
  return Result<LogHeader>(std::move(header));
}

std::string format_log_end(const LogEnd& end) {
  return dump(Json{{"end_ns", end.end_ns},
                   {"calls", end.calls},
                   {"fds", end.fds},
                   {"lost", end.lost},
                   {"unseen", end.unseen},
                   {"stopped", end.stopped},
                   {"notes", end.notes}});
}

Result<LogEnd> parse_log_end(std::string_view text, const std::string& name) {
  Json json;
  RETURN_IF_ERROR(parse_json(text, name, json));
  std::string problem;
  Members members(json, problem);
  LogEnd end;
  members.number("end_ns", end.end_ns);
  members.number("calls", end.calls);
  members.number("fds", end.fds);
  members.numbers("lost", end.lost);
  members.number("unseen", end.unseen);
  members.text("stopped", end.stopped);
  members.texts("notes", end.notes);
  if (!problem.empty()) return input_error(cat(name, " has an end that cannot be used: ", problem));
  return Result<LogEnd>(std::move(end));
}

}  // namespace culprit
