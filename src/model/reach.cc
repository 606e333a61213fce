#include "model/reach.h"

#include "base/text.h"

namespace culprit {

namespace {

constexpr std::string_view kForms = "write local, ns:NAME or ssh:USER@HOST, with :PORT behind it where it is not 22";
constexpr size_t kMaxNameBytes = 255;  // of a file and of a host

// What may stand in a host, user or namespace name. A leading '-' would be an option to ssh or nsenter.
bool plain_name(std::string_view name, std::string_view also) {
  if (name.empty() || name.size() > kMaxNameBytes || name[0] == '-') return false;
  for (char c : name) {
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && also.find(c) == std::string_view::npos) return false;
  }
  return true;
}

Error bad_reach(std::string_view text) {
  return input_error(cat("'", printable(text), "' is not a way to reach a node"), std::string(kForms));
}

// HOST, HOST:PORT, [ADDRESS] or [ADDRESS]:PORT; an address with several colons and no brackets has no port.
bool split_port(std::string_view text, std::string_view& host, std::string_view& port) {
  if (!text.empty() && text[0] == '[') {
    size_t close = text.find(']');
    if (close == std::string_view::npos) return false;
    host = text.substr(1, close - 1);
    text.remove_prefix(close + 1);
    if (!text.empty() && text[0] != ':') return false;
    port = text.empty() ? text : text.substr(1);
    return text != ":";
  }
  size_t colon = text.find(':');
  bool one = colon != std::string_view::npos && text.find(':', colon + 1) == std::string_view::npos;
  host = one ? text.substr(0, colon) : text;
  port = one ? text.substr(colon + 1) : "";
  return !(one && port.empty());
}

Result<Reach> parse_ssh(std::string_view whole, std::string_view text) {
  Reach reach{ReachKind::ssh, "", "", "", 0};
  if (size_t at = text.rfind('@'); at != std::string_view::npos) {
    if (!plain_name(text.substr(0, at), "._-")) return bad_reach(whole);
    reach.user = text.substr(0, at);
    text.remove_prefix(at + 1);
  }
  std::string_view host, port;
  if (!split_port(text, host, port) || !plain_name(host, "._-:%")) return bad_reach(whole);
  reach.host = host;
  if (port.empty()) return reach;
  auto number = parse_int(port);
  if (!number || *number < 1 || *number > 65535) return bad_reach(whole);
  reach.port = static_cast<int>(*number);
  return reach;
}

}  // namespace

Result<Reach> parse_reach(std::string_view text) {
  if (text == "local") return Reach{};
  if (text.starts_with("ns:")) {
    std::string_view name = text.substr(3);
    if (!plain_name(name, "._-") || name == "." || name == "..") return bad_reach(text);
    return Reach{ReachKind::ns, std::string(name), "", "", 0};
  }
  if (text.starts_with("ssh:")) return parse_ssh(text, text.substr(4));
  return bad_reach(text);
}

}  // namespace culprit
