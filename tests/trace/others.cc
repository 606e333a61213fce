// Families that no other program here has: System V IPC, pipes without copies, descriptors that are events, messages in
// bulk, and the younger ways to open and to know processes.
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>

#include "expect.h"

namespace {

void system_v() {
  long memory = CALL(shmget, IPC_PRIVATE, 4096, IPC_CREAT | 0600);
  long at = CALL(shmat, memory, nullptr, 0);
  CALL(shmctl, memory, IPC_RMID, nullptr);
  CALL(shmdt, at);
  long locks = CALL(semget, IPC_PRIVATE, 1, IPC_CREAT | 0600);
  sembuf up{0, 1, 0};
  sembuf down{0, -5, IPC_NOWAIT};
  CALL(semop, locks, &up, 1);
  CALL(semop, locks, &down, 1);  // EAGAIN
  CALL(semctl, locks, 0, IPC_RMID, 0);
  long queue = CALL(msgget, IPC_PRIVATE, IPC_CREAT | 0600);
  struct {
    long type;
    char text[8];
  } message{1, "hello"};
  CALL(msgsnd, queue, &message, 6, 0);
  CALL(msgrcv, queue, &message, 8, 0, IPC_NOWAIT);
  CALL(msgrcv, queue, &message, 8, 0, IPC_NOWAIT);  // ENOMSG
  CALL(msgctl, queue, IPC_RMID, nullptr);
}

void without_copies() {
  int one[2], other[2];
  long stale[4];  // the pipes get their numbers
  for (long& fd : stale) fd = CALL(openat, AT_FDCWD, "stale", O_RDWR | O_CREAT, 0600);
  for (long fd : stale) CALL(close, fd);
  CALL(pipe2, one, 0);
  CALL(pipe2, other, 0);
  CALL(write, one[1], "abc", 3);
  CALL(tee, one[0], other[1], 3, 0);
  char more[] = "de";
  iovec piece{more, 2};
  CALL(vmsplice, other[1], &piece, 1, 0);
  long file = CALL(openat, AT_FDCWD, "spliced", O_RDWR | O_CREAT, 0600);
  CALL(splice, other[0], nullptr, file, nullptr, 5, 0);
  long copy = CALL(openat, AT_FDCWD, "copied", O_RDWR | O_CREAT, 0600);
  long long from = 1;
  CALL(copy_file_range, file, &from, copy, nullptr, 4, 0);
  for (long fd : {long{one[0]}, long{one[1]}, long{other[0]}, long{other[1]}, file, copy}) CALL(close, fd);
}

void events() {
  long counter = CALL(eventfd2, 3, EFD_NONBLOCK);
  unsigned long value = 0;
  CALL(read, counter, &value, 8);
  CALL(read, counter, &value, 8);  // EAGAIN
  CALL(close, counter);
  long timer = CALL(timerfd_create, CLOCK_MONOTONIC, TFD_NONBLOCK);
  itimerspec far{{0, 0}, {3600, 0}};
  CALL(timerfd_settime, timer, 0, &far, nullptr);
  CALL(read, timer, &value, 8);  // EAGAIN
  CALL(close, timer);
  unsigned long mask = 1UL << (SIGUSR1 - 1);
  long signals = CALL(signalfd4, -1, &mask, sizeof mask, SFD_NONBLOCK);
  CALL(close, signals);
  long watcher = CALL(inotify_init1, IN_NONBLOCK);
  long watch = CALL(inotify_add_watch, watcher, ".", IN_CREATE);
  CALL(inotify_rm_watch, watcher, watch);
  pollfd ready{static_cast<int>(watcher), POLLIN, 0};
  timespec now{0, 0};
  CALL(ppoll, &ready, 1, &now, nullptr, 0);
  CALL(close, watcher);
}

void in_bulk() {
  int ends[2];
  CALL(socketpair, AF_UNIX, SOCK_DGRAM, 0, ends);
  char text[] = "hello";
  iovec pieces[2] = {{text, 2}, {text, 3}};
  mmsghdr messages[2] = {};
  for (size_t i = 0; i < 2; ++i) {
    messages[i].msg_hdr.msg_iov = &pieces[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  CALL(sendmmsg, ends[0], messages, 2, 0);
  CALL(recvmmsg, ends[1], messages, 2, MSG_DONTWAIT, nullptr);
  CALL(recvmmsg, ends[1], messages, 2, MSG_DONTWAIT, nullptr);  // EAGAIN
  CALL(close, ends[0]);
  CALL(close, ends[1]);
}

void younger() {
  open_how how{};
  how.flags = O_RDWR | O_CREAT;
  how.mode = 0600;
  long file = CALL(openat2, AT_FDCWD, "by-openat2", &how, sizeof how);
  trace::on("by-openat2"), trace::asks(3);
  CALL(write, file, "abc", 3);
  CALL(close, file);
  how.flags = O_RDONLY;
  how.mode = 0;
  trace::fails_on("not-there");
  CALL(openat2, AT_FDCWD, "not-there", &how, sizeof how);
  long self = CALL(pidfd_open, trace::raw(SYS_getpid), 0);
  CALL(pidfd_send_signal, self, 0, nullptr, 0);
  long copy = CALL(pidfd_getfd, self, self, 0);
  CALL(close, copy);
  CALL(close, self);
}

}  // namespace

int main(int argc, char** argv) {
  trace::begin(argc, argv);
  system_v();
  without_copies();
  events();
  in_bulk();
  younger();
  return trace::finish();
}
