// The kernel's list of TCP sockets with their tcp_info, by NETLINK_SOCK_DIAG: what `ss -ti` shows, without running it.
// One netlink socket stays open; a dump is received in pieces of bounded size.
#pragma once

#include <linux/inet_diag.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace culprit {

// One socket of a dump; `info` points into the receive buffer and may be shorter than today's tcp_info.
struct SocketInfo {
  inet_diag_msg head;
  std::string_view info;
  uint64_t cookie() const { return (uint64_t{head.id.idiag_cookie[1]} << 32) | head.id.idiag_cookie[0]; }
};

using SocketVisitor = std::function<void(const SocketInfo&)>;

struct DumpPiece {
  bool done = false;         // the last message of the dump was in it
  bool interrupted = false;  // the kernel says that the list changed under it: sockets may be missing
  int error = 0;             // errno of a refusal
};

// Goes through the netlink messages of one receive. Never reads outside `bytes`, whatever is in them.
DumpPiece parse_dump(std::string_view bytes, uint32_t sequence, const SocketVisitor& visit);

enum class SocketStates { connected, listening };

class SockDiag {
 public:
  // Visits all TCP sockets of the network namespace in which the first dump was made; false: some may be missing.
  Result<bool> dump(SocketStates states, const SocketVisitor& visit);

 private:
  Status open();
  Status request(int family, uint32_t states, bool with_info);
  Result<bool> dump_family(int family, uint32_t states, bool with_info, const SocketVisitor& visit);

  Fd socket_;
  uint32_t sequence_ = 0;
  bool one_walk_ = true;  // until the kernel refuses it
  std::string buffer_;
};

// "10.0.0.1:80", "[fe80::1]:80"; an IPv4 address mapped into IPv6 is shown as IPv4.
std::string format_endpoint(int family, const uint32_t (&address)[4], int port);

}  // namespace culprit
