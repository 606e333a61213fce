// Which class a descriptor has: from what the file system's adapter and cluster.toml say about the node it is on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calls/call.h"
#include "model/cluster.h"

namespace culprit {

// What is known of a node and its cluster when its calls are captured; kept in the log's header, so that a log explains
// itself.
struct Surroundings {
  bool server = true;                // the node serves the file system
  std::vector<std::string> storage;  // folders on the node that hold the file system's data
  std::vector<uint64_t> devices;     // the devices they are on; used where `storage` is empty
  std::vector<PortRange> data_ports;
  struct Peer {
    std::string node;
    std::string address;
    NodeKind kind = NodeKind::server;
    bool operator==(const Peer&) const = default;
  };
  std::vector<Peer> peers;  // all nodes that have an address

  const Peer* peer_at(std::string_view endpoint) const;  // "10.0.0.7:1023", "[::ffff:10.0.0.7]:1023"
};

// Address and port of an endpoint, without brackets; an IPv4 address in IPv6 clothes is the IPv4 address. Port -1: it
// is no endpoint.
struct Endpoint {
  std::string address;
  int port = -1;
};
Endpoint parse_endpoint(std::string_view text);

// A socket whose local port is a data port (on a server) is to_client; one whose peer's port is a data port is
// to_server (with addresses known: and the peer is a server). A file or folder below `storage` (or on `devices`) is
// storage.
// A path as a program gave it, relative to this folder unless it begins at the root.
std::string path_in(const std::string& folder, std::string path);

FdClass classify(const FdRecord& record, const Surroundings& around);

}  // namespace culprit
