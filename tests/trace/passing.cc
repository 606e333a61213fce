// A descriptor that comes through a socket: no open() tells the receiver's tracer what it is.
#include <sys/socket.h>
#include <sys/wait.h>

#include "expect.h"

namespace {

struct Letter {
  char byte = 'x';
  iovec vector{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};

  Letter() {
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
};

void hand_over(long socket, long fd) {
  Letter letter;
  cmsghdr* head = CMSG_FIRSTHDR(&letter.message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  int number = static_cast<int>(fd);
  memcpy(CMSG_DATA(head), &number, sizeof number);
  trace::asks(1);
  CALL(sendmsg, socket, &letter.message, 0);
}

long take(long socket) {
  Letter letter;
  trace::asks(1);
  CALL(recvmsg, socket, &letter.message, 0);
  const cmsghdr* head = CMSG_FIRSTHDR(&letter.message);
  if (!head) trace::die("passing: no descriptor came");
  int number = -1;
  memcpy(&number, CMSG_DATA(head), sizeof number);
  return number;
}

[[noreturn]] void child(long socket) {
  char text[16];
  long fd = take(socket);
  trace::on("passed"), trace::asks(16);
  CALL(pread64, fd, text, sizeof text, 0);
  CALL(close, fd);
  long other = CALL(openat, AT_FDCWD, "other", O_RDWR | O_CREAT, 0600);  // the same number, another file
  trace::on("other"), trace::asks(4);
  CALL(write, other, "more", 4);
  LAST_CALL(exit_group, 0);
}

}  // namespace

int main(int argc, char** argv) {
  trace::begin(argc, argv);
  int pair[2];
  CALL(socketpair, AF_UNIX, SOCK_STREAM, 0, pair);
  long process = CALL(fork);
  if (process == 0) child(pair[1]);
  long fd = CALL(openat, AT_FDCWD, "passed", O_RDWR | O_CREAT, 0600);
  trace::on("passed"), trace::asks(6);
  CALL(write, fd, "secret", 6);
  hand_over(pair[0], fd);
  int status = 0;
  CALL(wait4, process, &status, 0, nullptr);
  trace::note_exit(process, status);
  return trace::finish();
}
