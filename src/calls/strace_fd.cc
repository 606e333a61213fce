// What strace -yy writes behind a descriptor, as a record: "/brick/f", "/dev/fuse<char 10:229>", "pipe:[7]",
// "TCP:[10.0.0.1:49152->10.0.0.7:1023]", "UNIX-STREAM:[12->13,\"/run/s\"]", "anon_inode:[eventpoll]". And the address
// that a socket is to be connected with, which is not behind it yet.
#include <string>

#include "base/text.h"
#include "calls/call_text.h"
#include "calls/fd_class.h"
#include "calls/strace_args.h"

namespace culprit {

namespace {

constexpr size_t kMostPortDigits = 5;  // 65535

uint64_t number_of(std::string_view digits) {
  auto value = parse_int(digits);
  return value && *value > 0 ? static_cast<uint64_t>(*value) : 0;
}

// "7" of "pipe:[7]": what is between the first bracket and the last.
std::string_view within_brackets(std::string_view text) {
  size_t open = text.find('[');
  size_t close = text.rfind(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  return text.substr(open + 1, close - open - 1);
}

std::string name_text(std::string_view text) {
  return unescape_name(text).substr(0, kMostFdText);
}

void fill_path(std::string_view text, bool deleted, FdRecord& record) {
  for (std::string_view device : {"<char ", "<block "}) {
    size_t at = text.rfind(device);
    if (at == std::string_view::npos || !text.ends_with('>')) continue;
    record.kind = FdKind::device;
    text = text.substr(0, at);
  }
  record.name = cat(name_text(text), deleted ? " (deleted)" : "");
}

// Two ends with an arrow between them, one end, or only the inode's number.
void fill_ends(std::string_view text, FdRecord& record) {
  size_t arrow = text.find("->");
  std::string_view local = text.substr(0, arrow);
  if (local.find(':') == std::string_view::npos)
    record.inode = number_of(local);
  else
    record.local = name_text(local);
  if (arrow != std::string_view::npos) record.peer = name_text(text.substr(arrow + 2));
}

// "12->13,\"/run/s\"", "12", "12,@\"abstract\"".
void fill_unix(std::string_view text, FdRecord& record) {
  record.protocol = "UNIX";
  size_t comma = text.find(',');
  fill_ends(text.substr(0, comma), record);
  size_t quote = text.find('"');
  if (quote == std::string_view::npos || comma > quote) return;
  std::string name = name_text(text.substr(quote + 1, text.rfind('"') - quote - 1));
  record.name = text[quote - 1] == '@' ? "@" + name : name;
}

void fill_socket(std::string_view protocol, std::string_view text, FdRecord& record) {
  record.kind = FdKind::socket;
  if (protocol.starts_with("UNIX")) return fill_unix(text, record);
  if (protocol == "socket") return fill_ends(text, record);
  bool internet = protocol.starts_with("TCP") || protocol.starts_with("UDP");
  if (protocol.ends_with("v6")) protocol.remove_suffix(2);  // the addresses tell
  record.protocol = name_text(protocol.substr(0, 32));
  if (internet)
    fill_ends(text, record);
  else if (uint64_t inode = number_of(text))
    record.inode = inode;
  else
    record.name = name_text(text);  // "ROUTE:4711" is no address and no port
}

bool is_protocol(std::string_view text) {
  return text == "socket" || (!text.empty() && text[0] >= 'A' && text[0] <= 'Z' && text.find('/') == text.npos);
}

// What stands between `front` and the next `end`; "" when `front` is not there.
std::string_view text_after(std::string_view text, std::string_view front, char end) {
  size_t at = text.find(front);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + front.size());
  return text.substr(0, text.find(end));
}

}  // namespace

FdRecord parse_fd_annotation(std::string_view annotation, bool deleted) {
  FdRecord record;
  if (annotation.starts_with('/')) {
    fill_path(annotation, deleted, record);
    return record;
  }
  size_t colon = annotation.find(":[");
  std::string_view front = annotation.substr(0, colon);
  if (colon != std::string_view::npos && is_protocol(front)) {
    fill_socket(front, within_brackets(annotation.substr(colon)), record);
    return record;
  }
  record.kind = front == "pipe" ? FdKind::pipe : FdKind::anonymous;
  if (front == "pipe") record.inode = number_of(within_brackets(annotation));
  record.name = name_text(annotation);
  return record;
}

// {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("10.0.0.2")} or
// {sa_family=AF_INET6, sin6_port=htons(80), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "::1", &sin6_addr), ...}
std::string strace_peer(const StraceArgs& args) {
  if (args.list.size() < 2) return "";
  std::string_view text = args.list[1];
  bool six = text.starts_with("{sa_family=AF_INET6,");
  if (!six && !text.starts_with("{sa_family=AF_INET,")) return "";
  std::string_view port = text_after(text, six ? "sin6_port=htons(" : "sin_port=htons(", ')');
  std::string_view address = text_after(text, six ? "inet_pton(AF_INET6, \"" : "inet_addr(\"", '"');
  if (port.size() > kMostPortDigits) return "";
  std::string peer = six ? cat("[", address, "]:", port) : cat(address, ":", port);
  return parse_endpoint(peer).port < 0 ? "" : peer;
}

}  // namespace culprit
