// Sockets of every family, in one thread: the loopback interface keeps what was sent until it is read.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "expect.h"

namespace {

using trace::asks;
using trace::on;

// Text that outlives the call it belongs to: the kernel chooses ports, which have five digits.
const char* endpoint(const char* host, in_port_t port) {
  static char texts[8][64];
  static int used = 0;
  char* text = texts[used++ % 8];
  snprintf(text, sizeof texts[0], "%s:%d", host, ntohs(port));
  return text;
}

void talk(long here, long there, const char* name) {
  char text[32];
  iovec vector[] = {{text, 4}, {text + 8, 4}};
  msghdr message{};
  message.msg_iov = vector;
  message.msg_iovlen = 2;
  on(name), asks(5);
  CALL(sendto, here, "hello", 5, 0, nullptr, 0);
  on(name), asks(32);
  CALL(recvfrom, there, text, sizeof text, 0, nullptr, nullptr);
  on(name), asks(8);
  CALL(sendmsg, there, &message, 0);
  on(name), asks(8);
  CALL(recvmsg, here, &message, MSG_WAITALL);
  on(name), asks(8);
  CALL(writev, here, vector, 2);
  on(name), asks(8);
  CALL(readv, there, vector, 2);
  on(name), asks(3);
  CALL(write, here, "end", 3);
  on(name), asks(32);
  CALL(read, there, text, sizeof text);
  CALL(shutdown, here, SHUT_WR);
  on(name), asks(32);
  CALL(read, there, text, sizeof text);  // 0: the other end has said its last word
}

void tcp(int family, const char* host, sockaddr* address, socklen_t size, const in_port_t& port) {
  long listener = CALL(socket, family, SOCK_STREAM, 0);
  if (listener < 0 || CALL(bind, listener, address, size) < 0) return;  // a machine without IPv6
  CALL(listen, listener, 4);
  socklen_t length = size;
  CALL(getsockname, listener, address, &length);
  const char* name = endpoint(host, port);
  long here = CALL(socket, family, SOCK_STREAM, 0);
  on(name);
  CALL(connect, here, address, size);
  on(name);
  long there = CALL(accept4, listener, nullptr, nullptr, 0);
  int one = 1;
  on(name);
  CALL(setsockopt, here, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
  talk(here, there, name);
  CALL(close, there);
  CALL(close, here);
  CALL(close, listener);
  long late = CALL(socket, family, SOCK_STREAM, 0);
  on(name);
  CALL(connect, late, address, size);  // ECONNREFUSED
  CALL(close, late);
}

void tcp4() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  tcp(AF_INET, "127.0.0.1", reinterpret_cast<sockaddr*>(&address), sizeof address, address.sin_port);
}

void tcp6() {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  tcp(AF_INET6, "[::1]", reinterpret_cast<sockaddr*>(&address), sizeof address, address.sin6_port);
}

void udp() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  long there = CALL(socket, AF_INET, SOCK_DGRAM, 0);
  CALL(bind, there, &address, sizeof address);
  socklen_t length = sizeof address;
  CALL(getsockname, there, &address, &length);
  const char* name = endpoint("127.0.0.1", address.sin_port);
  char text[32];
  long here = CALL(socket, AF_INET, SOCK_DGRAM, 0);
  asks(4);
  CALL(sendto, here, "ping", 4, 0, &address, sizeof address);
  on(name), asks(32);
  CALL(recvfrom, there, text, sizeof text, 0, nullptr, nullptr);
  CALL(connect, here, &address, sizeof address);
  on(name), asks(4);
  CALL(sendto, here, "pong", 4, 0, nullptr, 0);
  on(name), asks(2);
  CALL(recvfrom, there, text, 2, 0, nullptr, nullptr);  // the rest of the datagram is lost
  CALL(close, here);
  CALL(close, there);
}

void unix_sockets() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  strcpy(address.sun_path, "door");
  long listener = CALL(socket, AF_UNIX, SOCK_STREAM, 0);
  CALL(bind, listener, &address, sizeof address);
  CALL(listen, listener, 1);
  long here = CALL(socket, AF_UNIX, SOCK_STREAM, 0);
  CALL(connect, here, &address, sizeof address);
  long there = CALL(accept, listener, nullptr, nullptr);
  talk(here, there, nullptr);
  CALL(close, listener);
  CALL(close, here);
  CALL(close, there);
  int pair[2];
  CALL(socketpair, AF_UNIX, SOCK_STREAM, 0, pair);
  talk(pair[0], pair[1], nullptr);
  CALL(close, pair[1]);
  CALL(sendto, pair[0], "x", 1, MSG_NOSIGNAL, nullptr, 0);  // EPIPE
  CALL(close, pair[0]);
}

void wait_for_one(const int* pair) {
  pollfd one{pair[0], POLLIN, 0};
  CALL(poll, &one, 1, 0);  // 0: nothing yet
  CALL(write, pair[1], "x", 1);
  CALL(poll, &one, 1, 1000);
  timespec second{1, 0};
  CALL(ppoll, &one, 1, &second, nullptr, 8);
  fd_set set;
  FD_ZERO(&set);
  FD_SET(pair[0], &set);
  timeval limit{1, 0};
  CALL(select, pair[0] + 1, &set, nullptr, nullptr, &limit);
  second = {1, 0};
  CALL(pselect6, pair[0] + 1, &set, nullptr, nullptr, &second, nullptr);
}

void waiting() {
  int pair[2];
  CALL(socketpair, AF_UNIX, SOCK_STREAM, 0, pair);
  wait_for_one(pair);
  long poller = CALL(epoll_create1, 0);
  epoll_event event{};
  event.events = EPOLLIN;
  CALL(epoll_ctl, poller, EPOLL_CTL_ADD, pair[0], &event);
  CALL(epoll_ctl, poller, EPOLL_CTL_ADD, pair[0], &event);  // EEXIST
  CALL(epoll_wait, poller, &event, 1, 1000);
  char byte[1];
  CALL(read, pair[0], byte, 1);
  trace::takes(20'000'000);
  CALL(epoll_pwait, poller, &event, 1, 20, nullptr, 8);  // nothing comes
  CALL(close, poller);
  CALL(close, pair[0]);
  CALL(close, pair[1]);
}

}  // namespace

int main(int argc, char** argv) {
  trace::begin(argc, argv);
  tcp4();
  tcp6();
  udp();
  unix_sockets();
  waiting();
  return trace::finish();
}
