#include "calls/fd_class.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace culprit {

namespace {

constexpr int kLargestPort = 65535;
constexpr size_t kLongestAddress = INET6_ADDRSTRLEN;  // with its zero byte; no address is longer

constexpr unsigned char kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};  // before an IPv4 address

std::string text_of(int family, const void* address) {
  char text[INET6_ADDRSTRLEN];
  return ::inet_ntop(family, address, text, sizeof text) ? text : "";
}

// An address has many spellings; this is the one that all are compared in. "" when it is none.
std::string usual_address(std::string_view text) {
  if (text.size() >= kLongestAddress) return "";
  std::string address(text);
  in_addr four{};
  if (::inet_pton(AF_INET, address.c_str(), &four) == 1) return text_of(AF_INET, &four);
  in6_addr six{};
  if (::inet_pton(AF_INET6, address.c_str(), &six) != 1) return "";
  if (std::memcmp(six.s6_addr, kMapped, sizeof kMapped) != 0) return text_of(AF_INET6, &six);
  std::memcpy(&four, six.s6_addr + sizeof kMapped, sizeof four);
  return text_of(AF_INET, &four);
}

int parse_port(std::string_view text) {
  bool digits = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  auto port = digits ? parse_int(text) : std::nullopt;
  return port && *port <= kLargestPort ? static_cast<int>(*port) : -1;
}

bool is_loopback(std::string_view address) {
  return address == "::1" || address.starts_with("127.");
}

bool is_data_port(int port, const Surroundings& around) {
  return port >= 0 && std::any_of(around.data_ports.begin(), around.data_ports.end(),
                                  [&](const PortRange& range) { return range.contains(port); });
}

bool is_server(const Endpoint& endpoint, const Surroundings& around) {
  if (around.peers.empty()) return true;  // nobody's address is known: the port has to do
  if (is_loopback(endpoint.address)) return around.server;
  for (const Surroundings::Peer& peer : around.peers)
    if (peer.kind == NodeKind::server && usual_address(peer.address) == endpoint.address) return true;
  return false;
}

FdClass class_of_socket(const FdRecord& record, const Surroundings& around) {
  if (around.server && is_data_port(parse_endpoint(record.local).port, around)) return FdClass::to_client;
  Endpoint peer = parse_endpoint(record.peer);
  if (is_data_port(peer.port, around) && is_server(peer, around)) return FdClass::to_server;
  return FdClass::other;
}

bool is_below(std::string_view path, std::string_view folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
  if (folder.empty() || !path.starts_with(folder)) return false;
  return path.size() == folder.size() || folder == "/" || path[folder.size()] == '/';
}

bool is_storage(const FdRecord& record, const Surroundings& around) {
  if (!around.storage.empty())
    return std::any_of(around.storage.begin(), around.storage.end(),
                       [&](const std::string& folder) { return is_below(record.name, folder); });
  const std::vector<uint64_t>& devices = around.devices;
  return record.device != 0 && std::find(devices.begin(), devices.end(), record.device) != devices.end();
}

}  // namespace

Endpoint parse_endpoint(std::string_view text) {
  size_t colon = text.rfind(':');
  if (colon == text.npos) return {};
  std::string_view address = text.substr(0, colon);
  bool bracketed = address.size() > 2 && address.front() == '[' && address.back() == ']';
  if (bracketed) address = address.substr(1, address.size() - 2);
  if (!bracketed && address.find(':') != address.npos) return {};  // where such an address ends nobody can tell
  Endpoint endpoint{usual_address(address), parse_port(text.substr(colon + 1))};
  if (endpoint.address.empty() || endpoint.port < 0) return {};
  return endpoint;
}

const Surroundings::Peer* Surroundings::peer_at(std::string_view endpoint) const {
  std::string address = parse_endpoint(endpoint).address;
  if (address.empty()) return nullptr;
  for (const Peer& peer : peers)
    if (usual_address(peer.address) == address) return &peer;
  return nullptr;
}

std::string path_in(const std::string& folder, std::string path) {
  if (path.empty() || path.front() == '/' || !folder.starts_with('/')) return path;
  return cat(folder, folder.ends_with('/') ? "" : "/", path);
}

FdClass classify(const FdRecord& record, const Surroundings& around) {
  if (record.kind == FdKind::socket) return class_of_socket(record, around);
  if (record.name == "/dev/fuse") return FdClass::fuse;
  bool on_disk = record.kind == FdKind::file || record.kind == FdKind::folder || record.kind == FdKind::path;
  return on_disk && is_storage(record, around) ? FdClass::storage : FdClass::other;
}

}  // namespace culprit
