#include "sample/sock_diag.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace culprit {

namespace {

constexpr size_t kReceiveBytes = 32768;  // the most the kernel puts into one piece of a dump
constexpr int kMostPieces = 100'000;     // a dump that does not end is a bug somewhere; ours must end

// TCP states as bits; the numbers are the kernel's (include/net/tcp_states.h), which has no header for programs.
constexpr uint32_t kEstablished = 1u << 1, kFinWait1 = 1u << 4, kFinWait2 = 1u << 5, kCloseWait = 1u << 8,
                   kListen = 1u << 10;

constexpr std::string_view kHint = "the kernel needs CONFIG_INET_DIAG (module tcp_diag)";

template <class Body>
struct Request {
  nlmsghdr head;
  Body body;
};

template <class T>
bool copy_head(std::string_view bytes, T& out) {
  if (bytes.size() < sizeof(T)) return false;
  std::memcpy(&out, bytes.data(), sizeof(T));
  return true;
}

size_t aligned(size_t length) {
  return (length + 3) & ~size_t{3};
}

std::string_view find_info(std::string_view attributes) {
  rtattr attribute{};
  while (copy_head(attributes, attribute)) {
    size_t length = attribute.rta_len;
    if (length < sizeof attribute || length > attributes.size()) return {};
    if (attribute.rta_type == INET_DIAG_INFO) return attributes.substr(sizeof attribute, length - sizeof attribute);
    attributes.remove_prefix(std::min(aligned(length), attributes.size()));
  }
  return {};
}

int error_of(std::string_view payload) {
  int32_t code = 0;
  if (!copy_head(payload, code)) return EPROTO;
  return code < 0 && code > -4096 ? -code : EPROTO;
}

}  // namespace

DumpPiece parse_dump(std::string_view bytes, uint32_t sequence, const SocketVisitor& visit) {
  DumpPiece piece;
  nlmsghdr head{};
  while (copy_head(bytes, head)) {
    size_t length = head.nlmsg_len;
    if (length < sizeof head || length > bytes.size()) {
      piece.error = EPROTO;
      return piece;
    }
    std::string_view payload = bytes.substr(sizeof head, length - sizeof head);
    bytes.remove_prefix(std::min(aligned(length), bytes.size()));
    if (head.nlmsg_seq != sequence) continue;  // the rest of a dump that was given up
    if (head.nlmsg_flags & NLM_F_DUMP_INTR) piece.interrupted = true;
    if (head.nlmsg_type == NLMSG_DONE) piece.done = true;
    if (head.nlmsg_type == NLMSG_ERROR) piece.error = error_of(payload);
    if (piece.done || piece.error) return piece;
    SocketInfo socket{};
    bool is_socket = head.nlmsg_type == SOCK_DIAG_BY_FAMILY || head.nlmsg_type == TCPDIAG_GETSOCK;
    if (!is_socket || !copy_head(payload, socket.head)) continue;
    payload.remove_prefix(std::min(aligned(sizeof socket.head), payload.size()));
    socket.info = find_info(payload);
    visit(socket);
  }
  return piece;
}

Status SockDiag::open() {
  if (socket_.valid()) return Ok{};
  Fd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!fd.valid()) return system_error("cannot list sockets", errno, std::string(kHint));
  timeval limit{1, 0};  // dumps are answered at once; a kernel that does not must not stop the sampler
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  socket_ = std::move(fd);
  buffer_.resize(kReceiveBytes);
  return Ok{};
}

// The request of old kernels answers for IPv4 and IPv6 in one walk through the kernel's table of connections. That walk
// is what a dump costs (0.2 ms for the usual 262,144 buckets, however few sockets), so two of them are the second
// choice.
Status SockDiag::request(int family, uint32_t states, bool with_info) {
  uint8_t extensions = with_info ? 1u << (INET_DIAG_INFO - 1) : 0;
  constexpr uint16_t kFlags = NLM_F_REQUEST | NLM_F_DUMP;
  ssize_t sent = 0;
  ++sequence_;
  if (family == AF_UNSPEC) {
    Request<inet_diag_req> request{};
    request.head = {sizeof request, TCPDIAG_GETSOCK, kFlags, sequence_, 0};
    request.body.idiag_family = AF_INET;
    request.body.idiag_states = states;
    request.body.idiag_ext = extensions;
    sent = ::send(socket_.get(), &request, sizeof request, 0);
  } else {
    Request<inet_diag_req_v2> request{};
    request.head = {sizeof request, SOCK_DIAG_BY_FAMILY, kFlags, sequence_, 0};
    request.body.sdiag_family = static_cast<uint8_t>(family);
    request.body.sdiag_protocol = IPPROTO_TCP;
    request.body.idiag_states = states;
    request.body.idiag_ext = extensions;
    sent = ::send(socket_.get(), &request, sizeof request, 0);
  }
  if (sent < 0) return system_error("cannot list sockets", errno, std::string(kHint));
  return Ok{};
}

Result<bool> SockDiag::dump_family(int family, uint32_t states, bool with_info, const SocketVisitor& visit) {
  RETURN_IF_ERROR(request(family, states, with_info));
  bool whole = true;
  for (int piece = 0; piece < kMostPieces; ++piece) {
    ssize_t n = ::recv(socket_.get(), buffer_.data(), buffer_.size(), MSG_TRUNC);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("cannot list sockets", errno);
    if (static_cast<size_t>(n) > buffer_.size()) return system_error("cannot list sockets", EMSGSIZE);
    DumpPiece got = parse_dump(std::string_view(buffer_.data(), static_cast<size_t>(n)), sequence_, visit);
    if (got.error) return system_error("cannot list sockets", got.error, std::string(kHint));
    if (got.interrupted) whole = false;
    if (got.done) return whole;
  }
  return system_error("cannot list sockets", EPROTO);
}

Result<bool> SockDiag::dump(SocketStates states, const SocketVisitor& visit) {
  bool connected = states == SocketStates::connected;
  uint32_t bits = connected ? kEstablished | kFinWait1 | kFinWait2 | kCloseWait : kListen;
  if (one_walk_) {
    RETURN_IF_ERROR(open());
    auto whole = dump_family(AF_UNSPEC, bits, connected, visit);
    if (whole) return whole;
    one_walk_ = false;
    socket_.reset();
  }
  RETURN_IF_ERROR(open());
  bool whole = true;
  for (int family : {AF_INET, AF_INET6}) {
    auto result = dump_family(family, bits, connected, visit);
    if (!result && family == AF_INET6 && result.error().errno_value == ENOENT) continue;  // a kernel without IPv6
    if (!result) {
      socket_.reset();  // a fresh one next time, without the rest of this dump
      return result;
    }
    whole = whole && *result;
  }
  return whole;
}

std::string format_endpoint(int family, const uint32_t (&address)[4], int port) {
  bool mapped = family == AF_INET6 && address[0] == 0 && address[1] == 0 && address[2] == htonl(0xffff);
  char text[INET6_ADDRSTRLEN] = "?";
  if (family == AF_INET || mapped) {
    ::inet_ntop(AF_INET, mapped ? &address[3] : &address[0], text, sizeof text);
    return cat(std::string_view(text), ":", port);
  }
  ::inet_ntop(AF_INET6, address, text, sizeof text);
  return cat("[", std::string_view(text), "]:", port);
}

}  // namespace culprit
