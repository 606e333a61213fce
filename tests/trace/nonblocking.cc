// Sockets that never wait: EAGAIN while nothing is there, EINPROGRESS while a connection is being made.
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "expect.h"

namespace {

// The kernel works on a connection after connect() has let go of the socket, so this is EINPROGRESS on loopback, too.
void connection() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  long listener = CALL(socket, AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  CALL(bind, listener, &address, sizeof address);
  CALL(listen, listener, 1);
  CALL(getsockname, listener, &address, &length);
  CALL(accept4, listener, nullptr, nullptr, 0);  // EAGAIN
  long here = CALL(socket, AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  CALL(connect, here, &address, sizeof address);  // EINPROGRESS
  pollfd connected{static_cast<int>(here), POLLOUT, 0};
  CALL(poll, &connected, 1, 1000);
  int error = -1;
  socklen_t size = sizeof error;
  CALL(getsockopt, here, SOL_SOCKET, SO_ERROR, &error, &size);
  pollfd arrived{static_cast<int>(listener), POLLIN, 0};
  CALL(poll, &arrived, 1, 1000);
  long there = CALL(accept4, listener, nullptr, nullptr, SOCK_NONBLOCK);
  char text[16];
  trace::asks(16);
  CALL(recvfrom, here, text, sizeof text, 0, nullptr, nullptr);  // EAGAIN
  CALL(close, there);
  CALL(close, here);
  CALL(close, listener);
}

void full_pipe() {
  int ends[2];
  static char page[65536];
  CALL(pipe2, ends, O_NONBLOCK);
  trace::asks(10);
  CALL(read, ends[0], page, 10);  // EAGAIN
  trace::asks(65536);
  CALL(write, ends[1], page, sizeof page);  // as much as a pipe takes
  trace::asks(65536);
  CALL(write, ends[1], page, sizeof page);  // EAGAIN
  trace::asks(100);
  CALL(read, ends[0], page, 100);
  CALL(close, ends[0]);
  CALL(close, ends[1]);
}

}  // namespace

int main(int argc, char** argv) {
  trace::begin(argc, argv);
  connection();
  full_pipe();
  return trace::finish();
}
