// cluster.toml -> Cluster and back. Every key is known: a slip of the pen must not silently leave a server out.
// toml++ is included here only, because it is a second or more of compile time per file.
#include "store/cluster_file.h"

#include <arpa/inet.h>

#include <algorithm>
#include <set>
#include <vector>

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ASSERT(condition) static_cast<void>(0)  // a hostile file must end in an error value, never in abort()
#include <toml++/toml.h>

#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "model/reach.h"
#include "store/toml_value.h"

namespace culprit {

namespace {

constexpr int64_t kMaxFileBytes = 1'000'000;  // ten thousand nodes need less
constexpr size_t kMaxNameBytes = 200;         // leaves room for a suffix in a file name of 255 bytes
constexpr size_t kMaxPortRanges = 1000;

struct KindRow {
  std::string_view key;
  NodeKind kind;
};
constexpr KindRow kKinds[] = {{"server", NodeKind::server}, {"client", NodeKind::client}, {"other", NodeKind::other}};

struct TextKey {
  std::string_view key;
  std::string Node::*member;
};
constexpr TextKey kTexts[] = {
    {"name", &Node::name}, {"address", &Node::address}, {"reach", &Node::reach}, {"sampler", &Node::sampler}};

struct ListKey {
  std::string_view key;
  std::vector<std::string> Node::*member;
};
constexpr ListKey kLists[] = {{"roles", &Node::roles},
                              {"disks", &Node::disks},
                              {"nics", &Node::nics},
                              {"daemons", &Node::daemons},
                              {"storage", &Node::storage}};

const std::vector<std::string> kRoles = {"io", "meta", "management"};
const std::vector<std::string> kTopKeys = {"name", "fs", "data_ports", "server", "client", "other"};

bool has_control(std::string_view text) {
  for (char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return true;
  return false;
}

bool has_blank(std::string_view text) {
  return text.find_first_of(" \t") != std::string_view::npos;
}

// A word that can stand in a command line or file name without being something else there.
bool plain_word(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes && !has_control(text) && !has_blank(text) &&
         text.find('/') == std::string_view::npos && text[0] != '-' && text[0] != '.';
}

bool is_address(const std::string& text) {
  unsigned char bytes[sizeof(in6_addr)];
  return inet_pton(AF_INET, text.c_str(), bytes) == 1 || inet_pton(AF_INET6, text.c_str(), bytes) == 1;
}

std::string hint_for(std::string_view word, const std::vector<std::string>& known) {
  std::string near = did_you_mean(word, known);
  if (!near.empty()) return cat("did you mean '", near, "'?");
  return cat("known are ", join(known, ", "));
}

std::vector<std::string> node_keys() {
  std::vector<std::string> keys;
  for (const TextKey& row : kTexts) keys.emplace_back(row.key);
  for (const ListKey& row : kLists) keys.emplace_back(row.key);
  return keys;
}

// Carries the file's name, so that every error can name the line.
class Parser {
 public:
  explicit Parser(const std::string& file) : file_(file) {}
  Result<Cluster> parse(const toml::table& top);

 private:
  Error at(const toml::source_region& where, std::string_view what, std::string hint) const {
    return input_error(cat(file_, ", line ", where.begin.line, ": ", what), std::move(hint));
  }
  Error at(const toml::node& node, std::string_view what, std::string hint = "") const {
    return at(node.source(), what, std::move(hint));
  }

  Status read_text(const toml::node& value, std::string_view key, std::string& out) const;
  Status read_list(const toml::node& value, std::string_view key, std::vector<std::string>& out) const;
  Status read_ports(const toml::node& value, std::vector<PortRange>& out) const;
  Result<PortRange> read_port(const toml::node& value) const;
  Status read_nodes(const toml::node& value, const KindRow& kind, Cluster& cluster) const;
  Result<Node> read_node(const toml::table& table, NodeKind kind) const;
  Status read_node_key(const toml::key& key, const toml::node& value, Node& node) const;
  Status read_top_key(const toml::key& key, const toml::node& value, Cluster& cluster) const;
  Status check_node(const toml::table& table, Node& node) const;
  Status check_lists(const toml::table& table, Node& node) const;

  const std::string& file_;
};

Status Parser::read_text(const toml::node& value, std::string_view key, std::string& out) const {
  const auto* text = value.as_string();
  if (!text) return at(value, cat("'", key, "' must be a text"), cat("write ", key, " = \"...\""));
  out = text->get();
  if (has_control(out) || out.size() > 4096)
    return at(value, cat("'", key, "' holds control characters or is too long"));
  return Ok{};
}

Status Parser::read_list(const toml::node& value, std::string_view key, std::vector<std::string>& out) const {
  const auto* list = value.as_array();
  if (!list) return at(value, cat("'", key, "' must be a list of texts"), cat("write ", key, " = [\"...\", \"...\"]"));
  for (const toml::node& item : *list) {
    std::string text;
    RETURN_IF_ERROR(read_text(item, key, text));
    if (text.empty()) return at(item, cat("'", key, "' holds an empty text"), "leave the list out to mean all");
    out.push_back(std::move(text));
  }
  return Ok{};
}

Result<PortRange> Parser::read_port(const toml::node& value) const {
  int64_t first = 0, last = 0;
  if (const auto* number = value.as_integer()) {
    first = last = number->get();
  } else if (const auto* text = value.as_string()) {
    std::string_view range = text->get();
    size_t dash = range.find('-');
    auto low = parse_int(trim(range.substr(0, dash)));
    auto high = dash == std::string_view::npos ? low : parse_int(trim(range.substr(dash + 1)));
    first = low.value_or(0);
    last = high.value_or(0);
  }
  if (first < 1 || last > 65535 || first > last)
    return at(value, "'data_ports' holds something that is no port or range of ports",
              "write it like data_ports = [49152, \"49153-49160\"]; ports go from 1 to 65535");
  return PortRange{static_cast<int>(first), static_cast<int>(last)};
}

Status Parser::read_ports(const toml::node& value, std::vector<PortRange>& out) const {
  const auto* list = value.as_array();
  if (!list) return at(value, "'data_ports' must be a list", "write it like data_ports = [49152, \"49153-49160\"]");
  if (list->size() > kMaxPortRanges) return at(value, "'data_ports' is too long", "join neighbours into ranges");
  for (const toml::node& item : *list) {
    ASSIGN_OR_RETURN(PortRange range, read_port(item));
    out.push_back(range);
  }
  return Ok{};
}

Status Parser::read_node_key(const toml::key& key, const toml::node& value, Node& node) const {
  for (const TextKey& row : kTexts)
    if (row.key == key.str()) return read_text(value, row.key, node.*row.member);
  for (const ListKey& row : kLists)
    if (row.key == key.str()) return read_list(value, row.key, node.*row.member);
  return at(key.source(), cat("unknown key '", printable(key.str()), "'"), hint_for(key.str(), node_keys()));
}

Status Parser::check_lists(const toml::table& table, Node& node) const {
  for (const std::string& role : node.roles)
    if (std::find(kRoles.begin(), kRoles.end(), role) == kRoles.end())
      return at(*table.get("roles"), cat("unknown role '", printable(role), "'"), hint_for(role, kRoles));
  for (std::string& disk : node.disks) {
    if (disk.starts_with("/dev/")) disk.erase(0, 5);
    if (disk.empty() || has_blank(disk) || disk.starts_with("/") || disk.starts_with("mapper/") ||
        disk.starts_with("disk/"))
      return at(*table.get("disks"), cat("'", printable(disk), "' is not a disk's name in /proc/diskstats"),
                "write sdb, nvme0n1 or dm-3; lsblk shows what is behind a link");
  }
  for (const std::string& nic : node.nics)
    if (!plain_word(nic))
      return at(*table.get("nics"), cat("'", printable(nic), "' is not a network interface's name"),
                "ip link lists them");
  for (const std::string& folder : node.storage)
    if (!folder.starts_with('/'))
      return at(*table.get("storage"), cat("'", printable(folder), "' is not an absolute path"),
                "name the folder as the node sees it, like /data/brick1");
  return Ok{};
}

Status Parser::check_node(const toml::table& table, Node& node) const {
  if (!table.get("name")) return at(table, "a node has no name", "add name = \"...\"");
  if (Status good = check_node_name(node.name); !good)
    return at(*table.get("name"), good.error().what, good.error().hint);
  if (Status good = check_reach(node.reach); !good)
    return at(*table.get("reach"), good.error().what, good.error().hint);
  if (!node.address.empty() && !is_address(node.address))
    return at(*table.get("address"), cat("'", printable(node.address), "' is not an IP address"),
              "the address in the data network, by which sockets are recognised; host names belong into reach");
  return check_lists(table, node);
}

Result<Node> Parser::read_node(const toml::table& table, NodeKind kind) const {
  Node node;
  node.kind = kind;
  for (auto&& [key, value] : table) RETURN_IF_ERROR(read_node_key(key, value, node));
  RETURN_IF_ERROR(check_node(table, node));
  return node;
}

Status Parser::read_nodes(const toml::node& value, const KindRow& kind, Cluster& cluster) const {
  const auto* list = value.as_array();
  if (!list)
    return at(value, cat("'", kind.key, "' must be an array of tables"),
              cat("write [[", kind.key, "]] with two brackets, once per node"));
  for (const toml::node& item : *list) {
    const auto* table = item.as_table();
    if (!table)
      return at(item, cat("'", kind.key, "' must be an array of tables"),
                cat("write [[", kind.key, "]] once per node"));
    ASSIGN_OR_RETURN(Node node, read_node(*table, kind.kind));
    cluster.nodes.push_back(std::move(node));
  }
  return Ok{};
}

Status Parser::read_top_key(const toml::key& key, const toml::node& value, Cluster& cluster) const {
  if (key == "name") return read_text(value, "name", cluster.name);
  if (key == "fs") return read_text(value, "fs", cluster.fs);
  if (key == "data_ports") return read_ports(value, cluster.data_ports);
  for (const KindRow& row : kKinds)
    if (row.key == key.str()) return Ok{};  // read in the order of kKinds, not of the alphabet
  return at(key.source(), cat("unknown key '", printable(key.str()), "'"), hint_for(key.str(), kTopKeys));
}

Result<Cluster> Parser::parse(const toml::table& top) {
  Cluster cluster;
  for (auto&& [key, value] : top) RETURN_IF_ERROR(read_top_key(key, value, cluster));
  std::set<std::string> names;
  for (const KindRow& row : kKinds) {
    const toml::node* value = top.get(row.key);
    if (!value) continue;
    size_t before = cluster.nodes.size();
    RETURN_IF_ERROR(read_nodes(*value, row, cluster));
    for (size_t i = before; i < cluster.nodes.size(); ++i)
      if (!names.insert(cluster.nodes[i].name).second)
        return at(*value->as_array()->get(i - before), cat("two nodes are named '", cluster.nodes[i].name, "'"),
                  "every node needs a name of its own");
  }
  if (cluster.nodes.empty() || cluster.nodes[0].kind != NodeKind::server)
    return input_error(cat(file_, " names no server"), "add a [[server]] table with name and reach for each of them");
  return cluster;
}

// One character of UTF-8, taken off the front; U+FFFD for a byte that is none.
char32_t next_character(std::string_view& text) {
  unsigned char first = static_cast<unsigned char>(text.front());
  size_t length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  char32_t character = length == 1 ? first : first & (0xffu >> (length + 1));
  bool good = length > 0 && first < 0xf5 && length <= text.size();
  for (size_t i = 1; good && i < length; ++i) {
    unsigned char byte = static_cast<unsigned char>(text[i]);
    good = (byte & 0xc0) == 0x80;
    character = character << 6 | (byte & 0x3fu);
  }
  text.remove_prefix(good ? length : 1);
  return good && character <= 0x10ffff && (character < 0xd800 || character > 0xdfff) ? character : 0xfffd;
}

void append_text(std::string& out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  while (!text.empty()) {
    char32_t c = next_character(text);
    if (c >= 0x20 && c < 0x7f) {
      if (c == '"' || c == '\\') out += '\\';
      out += static_cast<char>(c);
      continue;
    }
    out += c > 0xffff ? "\\U" : "\\u";
    for (int shift = c > 0xffff ? 28 : 12; shift >= 0; shift -= 4) out += kHex[(c >> shift) & 15];
  }
  out += '"';
}

void append_list(std::string& out, std::string_view key, const std::vector<std::string>& list) {
  if (list.empty()) return;
  out += cat(key, " = [");
  for (size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out += ", ";
    append_text(out, list[i]);
  }
  out += "]\n";
}

void append_node(std::string& out, std::string_view kind, const Node& node) {
  out += cat("\n[[", kind, "]]\n");
  for (const TextKey& row : kTexts) {
    const std::string& text = node.*row.member;
    if (text.empty()) continue;
    out += cat(row.key, " = ");
    append_text(out, text);
    out += '\n';
  }
  for (const ListKey& row : kLists) append_list(out, row.key, node.*row.member);
}

void append_ports(std::string& out, const std::vector<PortRange>& ports) {
  if (ports.empty()) return;
  out += "data_ports = [";
  for (size_t i = 0; i < ports.size(); ++i) {
    if (i > 0) out += ", ";
    if (ports[i].first == ports[i].last)
      out += cat(ports[i].first);
    else
      out += cat('"', ports[i].first, '-', ports[i].last, '"');
  }
  out += "]\n";
}

}  // namespace

Status check_node_name(std::string_view name) {
  if (name.empty()) return input_error("a node's name is empty", "give every node a name");
  if (plain_word(name)) return Ok{};
  return input_error(cat("'", printable(name), "' cannot be a node's name"),
                     "no blanks, slashes or control characters, no - or dot in front, at most 200 bytes");
}

Status check_reach(std::string_view reach) {
  if (auto parsed = parse_reach(reach); !parsed) return std::move(parsed).error();
  return Ok{};
}

Result<Cluster> parse_cluster(std::string_view text, const std::string& name_for_errors) {
  if (static_cast<int64_t>(text.size()) > kMaxFileBytes)
    return input_error(cat(name_for_errors, " is larger than ", format_bytes(kMaxFileBytes)), "is it the right file?");
  if (trim(text).empty())
    return input_error(cat(name_for_errors, " is empty"), "it should name the servers: see docs/formats/cluster.md");
  std::string ascii(text);
  if (int64_t line = make_toml_ascii(ascii); line > 0)
    return input_error(cat(name_for_errors, ", line ", line, ": a character beyond ASCII is not in a comment"),
                       "in a text write it by its number, like \\u00e9");
  toml::parse_result parsed = toml::parse(ascii);
  if (parsed.failed())
    return input_error(cat(name_for_errors, ", line ", parsed.error().source().begin.line, ": ",
                           printable(parsed.error().description(), 200)),
                       "the file must be TOML: see docs/formats/cluster.md");
  return Parser(name_for_errors).parse(parsed.table());
}

Result<Cluster> read_cluster(const std::string& path) {
  ASSIGN_OR_RETURN(std::string text, read_file(path, kMaxFileBytes));
  return parse_cluster(text, path);
}

std::string format_cluster(const Cluster& cluster) {
  std::string out;
  if (!cluster.name.empty()) {
    out += "name = ";
    append_text(out, cluster.name);
    out += '\n';
  }
  if (!cluster.fs.empty()) {
    out += "fs = ";
    append_text(out, cluster.fs);
    out += '\n';
  }
  append_ports(out, cluster.data_ports);
  for (const KindRow& row : kKinds)
    for (const Node& node : cluster.nodes)
      if (node.kind == row.kind) append_node(out, row.key, node);
  return out;
}

}  // namespace culprit
