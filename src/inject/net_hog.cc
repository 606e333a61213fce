#include "inject/net_hog.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "inject/hog.h"

namespace culprit {

namespace {

constexpr size_t kBlock = 65536;
constexpr size_t kMostConnections = 64;
constexpr int64_t kConnectLimit = 5 * kNsPerSecond;
constexpr useconds_t kRetryPause = 200'000;

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  sockaddr* raw() { return reinterpret_cast<sockaddr*>(&storage); }
};

Result<Address> make_address(const std::string& text, int port) {
  Address address;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (::inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(static_cast<uint16_t>(port));
    address.size = sizeof *v4;
  } else if (::inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(static_cast<uint16_t>(port));
    address.size = sizeof *v6;
  } else {
    return input_error(cat("'", printable(text), "' is not an IP address"), "correct `address` in cluster.toml");
  }
  return address;
}

Result<int> port_of(const FaultPart& part) {
  ASSIGN_OR_RETURN(double port, number_param(part, "port", 1, 65535));
  return static_cast<int>(std::lround(port));
}

Result<int64_t> rate_of(const FaultPart& part) {
  return bytes_param(part, "rate", 1'000, 100'000'000'000);
}

Result<Fd> listen_at(const FaultPart& part) {
  ASSIGN_OR_RETURN(int port, port_of(part));
  ASSIGN_OR_RETURN(Address address, make_address(part.address, port));
  Fd socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return system_error("cannot make a socket", errno);
  int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket.get(), address.raw(), address.size) != 0 || ::listen(socket.get(), 16) != 0)
    return system_error(cat("cannot listen at ", part.address, " port ", port, " on ", part.node), errno,
                        "choose another port with --param port=N");
  return socket;
}

bool wait_for(int fd, short events, int64_t limit_ns) {
  pollfd poll{fd, events, 0};
  return ::poll(&poll, 1, static_cast<int>(limit_ns / kNsPerMs)) == 1;
}

Result<Fd> connect_to(const std::string& peer, int port) {
  ASSIGN_OR_RETURN(Address address, make_address(peer, port));
  Fd socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return system_error("cannot make a socket", errno);
  int error = ::connect(socket.get(), address.raw(), address.size) == 0 ? 0 : errno;
  socklen_t size = sizeof error;
  if (error == EINPROGRESS) {
    error = ETIMEDOUT;
    if (wait_for(socket.get(), POLLOUT, kConnectLimit)) ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error != 0) return system_error(cat("cannot connect to ", peer, " port ", port), error);
  ::fcntl(socket.get(), F_SETFL, 0);  // from here on it may block
  return socket;
}

// Until it is killed; a connection that breaks is made again.
void send_zeros(Fd socket, const std::string& peer, int port, int64_t rate) {
  static const char zeros[kBlock] = {};
  Pace pace(rate);
  while (true) {
    ssize_t n = socket.valid() ? ::send(socket.get(), zeros, sizeof zeros, MSG_NOSIGNAL) : -1;
    if (n > 0) {
      pace.used(n);
    } else if (!(n < 0 && errno == EINTR)) {
      ::usleep(kRetryPause);
      auto again = connect_to(peer, port);
      socket = again ? std::move(*again) : Fd();
    }
  }
}

void take_everything(Fd listener) {
  std::vector<Fd> connections;
  static char block[kBlock * 4];
  while (true) {
    std::vector<pollfd> fds = {{connections.size() < kMostConnections ? listener.get() : -1, POLLIN, 0}};
    for (const Fd& each : connections) fds.push_back({each.get(), POLLIN, 0});
    ::poll(fds.data(), fds.size(), 1000);
    for (size_t i = connections.size(); i > 0; --i) {
      if (!fds[i].revents) continue;
      ssize_t n = ::recv(connections[i - 1].get(), block, sizeof block, MSG_DONTWAIT);
      bool over = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
      if (over) connections.erase(connections.begin() + static_cast<ptrdiff_t>(i - 1));
    }
    if (!fds[0].revents) continue;
    Fd fresh(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (fresh.valid()) connections.push_back(std::move(fresh));
  }
}

// The node that has no part in the file system: --from, or the only one of its kind, as the lab's x1.
Result<const Node*> third_party(const FaultPlan& plan, std::string_view fault) {
  if (plan.from) return plan.from;
  std::vector<const Node*> idle;
  for (const Node& node : plan.cluster->nodes) {
    if (node.kind == NodeKind::other && node.roles.empty()) idle.push_back(&node);
  }
  if (idle.size() == 1) return idle[0];
  if (!idle.empty())
    return usage_error(cat(fault, " needs one third party, and the cluster has ", idle.size()), "say --from NODE");
  return usage_error(cat(fault, " needs a node at the other end, and the cluster names no third party"),
                     "say --from NODE, a node that may send or take the traffic");
}

Status check_ends(const FaultPlan& plan, const Node& from, std::string_view fault) {
  std::vector<const Node*> ends = plan.targets;
  ends.push_back(&from);
  for (const Node* node : ends) {
    if (node->address.empty())
      return input_error(cat(fault, " needs the address of ", node->name), "add `address` to it in cluster.toml");
  }
  if (std::find(plan.targets.begin(), plan.targets.end(), &from) != plan.targets.end())
    return usage_error(cat(from.name, " cannot be both ends of ", fault), "--from names another node than --on");
  return Ok{};
}

}  // namespace

Result<std::vector<Participant>> plan_hog(const FaultPlan& plan, std::string_view fault, bool target_is_sink) {
  ASSIGN_OR_RETURN(const Node* from, third_party(plan, fault));
  RETURN_IF_ERROR(check_ends(plan, *from, fault));
  std::vector<Participant> participants;
  std::vector<std::string> targets;
  for (const Node* target : plan.targets) {
    participants.push_back(
        {target, "target", target_is_sink ? std::vector<std::string>{} : std::vector{from->address}});
    targets.push_back(target->address);
  }
  if (target_is_sink) {
    participants.push_back({from, "sender", targets});
  } else {
    participants.insert(participants.begin(), Participant{from, "receiver", {}});
  }
  return participants;
}

Status prepare_sink(const FaultWork& work) {
  RETURN_IF_ERROR(rate_of(work.part));
  ASSIGN_OR_RETURN(Fd socket, listen_at(work.part));
  return Ok{};
}

Status prepare_source(const FaultWork& work) {
  RETURN_IF_ERROR(rate_of(work.part));
  ASSIGN_OR_RETURN(int port, port_of(work.part));
  if (work.part.peers.empty()) return input_error("a network hog needs somebody to send to");
  for (const std::string& peer : work.part.peers) RETURN_IF_ERROR(make_address(peer, port));
  return Ok{};
}

Status start_sink(FaultWork& work) {
  ASSIGN_OR_RETURN(Fd listener, listen_at(work.part));
  int fd = listener.get();
  return start_hog(
      work, [fd] { take_everything(Fd(fd)); }, fd);
}

Status start_sources(FaultWork& work) {
  ASSIGN_OR_RETURN(int64_t rate, rate_of(work.part));
  ASSIGN_OR_RETURN(int port, port_of(work.part));
  for (const std::string& peer : work.part.peers) {
    ASSIGN_OR_RETURN(Fd socket, connect_to(peer, port));
    int fd = socket.get();
    RETURN_IF_ERROR(start_hog(
        work, [=] { send_zeros(Fd(fd), peer, port, rate); }, fd));
  }
  return Ok{};
}

}  // namespace culprit
