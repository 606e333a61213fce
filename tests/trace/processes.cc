// Children by fork and vfork, other programs by exec, and which descriptors they keep.
#include <sys/wait.h>

#include "expect.h"

namespace {

constexpr int kKept = 20;    // numbers that the program after exec finds again without being told
constexpr int kClosed = 21;  // close-on-exec

// What exec starts: this program again, with a second word.
int second(const char* word) {
  char text[16];
  trace::on("kept"), trace::asks(4);
  CALL(pread64, kKept, text, 4, 0);
  trace::asks(4);
  CALL(pread64, kClosed, text, 4, 0);  // EBADF
  CALL(fcntl, kClosed, F_GETFD);
  return trace::finish(word[0] == 'v' ? 4 : 3);
}

void wait_for(long child) {
  int status = 0;
  CALL(wait4, child, &status, 0, nullptr);
  trace::note_exit(child, status);
}

void by_fork() {
  long child = CALL(fork);
  if (child == 0) {
    CALL(getppid);
    long grandchild = CALL(fork);
    if (grandchild == 0) LAST_CALL(exit_group, 1);
    wait_for(grandchild);
    LAST_CALL(exit_group, 7);
  }
  wait_for(child);
}

// The words of the next exec. Not on the stack: nothing there may be needed on both sides of a vfork.
char* words[4];
long exec_args[3];

void choose(const char* second_word) {
  words[2] = const_cast<char*>(second_word);
  exec_args[0] = trace::reg(words[0]);
  exec_args[1] = trace::reg(words);
}

void fork_and_exec() {
  choose("fork");
  long child = CALL(fork);
  if (child == 0) {
    trace::fails_on("no-such-program");
    CALL(execve, "no-such-program", words, nullptr);
    trace::tell();  // before the program that follows tells its part
    trace::raw(SYS_execve, exec_args[0], exec_args[1], exec_args[2]);
    trace::die("processes: exec failed");
  }
  wait_for(child);
}

// The child borrows the parent's memory until its exec, and the parent waits for that. libc's vfork, because a function
// that returns twice on one stack cannot be written in C++.
void vfork_and_exec() {
  choose("vfork");
  pid_t child = vfork();
  if (child == 0) {
    trace::raw(SYS_execve, exec_args[0], exec_args[1], exec_args[2]);
    trace::raw(SYS_exit_group, 99);
  }
  trace::note_call(trace::thread_id(), "vfork", nullptr, 0, child);
  wait_for(child);
}

void vfork_and_exit() {
  pid_t child = vfork();
  if (child == 0) trace::raw(SYS_exit_group, 5);
  trace::note_call(trace::thread_id(), "vfork", nullptr, 0, child);
  wait_for(child);
}

void keep_descriptors() {
  long fd = CALL(openat, AT_FDCWD, "kept", O_RDWR | O_CREAT, 0600);
  CALL(write, fd, "data", 4);
  CALL(dup2, fd, kKept);
  CALL(dup3, fd, kClosed, O_CLOEXEC);
  CALL(close, fd);
}

}  // namespace

int main(int argc, char** argv) {
  trace::begin(argc, argv);
  if (argc > 2) return second(argv[2]);
  words[0] = argv[0];
  words[1] = argv[1];
  by_fork();
  vfork_and_exit();
  keep_descriptors();
  fork_and_exec();
  vfork_and_exec();
  CALL(wait4, -1, nullptr, 0, nullptr);  // ECHILD
  return trace::finish();
}
