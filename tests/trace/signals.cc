// Signals that are handled, ignored, waited for and deadly, and what they do to a call that waits.
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "expect.h"

namespace {

int ends[2];
volatile sig_atomic_t handled = 0;

void count(int) {
  handled = handled + 1;
}
void feed(int) {
  trace::raw(SYS_write, ends[1], trace::reg("x"), 1);
}

void handle(int number, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  if (sigaction(number, &action, nullptr) != 0) trace::die("signals: sigaction failed");
}

void alarm_soon() {
  itimerval soon{{0, 0}, {0, 300'000}};  // a tracer on a busy machine may take long until the read
  CALL(setitimer, ITIMER_REAL, &soon, nullptr);
}

void to_itself() {
  handle(SIGUSR1, count, 0);
  CALL(tgkill, trace::raw(SYS_getpid), trace::thread_id(), SIGUSR1);
  trace::note_signal(trace::thread_id(), "SIGUSR1");
  handle(SIGUSR2, SIG_IGN, 0);
  CALL(tgkill, trace::raw(SYS_getpid), trace::thread_id(), SIGUSR2);
  trace::note_ignored(trace::thread_id(), "SIGUSR2");
}

// EINTR for the program; what a tracer sees is ERESTARTSYS, before the kernel has decided which of both it will be.
void interrupted() {
  char byte[1];
  handle(SIGALRM, count, 0);
  alarm_soon();
  trace::asks(1);
  CALL(read, ends[0], byte, 1);
  trace::note_signal(trace::thread_id(), "SIGALRM");
  handle(SIGALRM, feed, SA_RESTART);
  alarm_soon();
  trace::asks(1);
  CALL(read, ends[0], byte, 1);  // restarted, and then there is what the handler wrote
}

// A blocked signal that is taken with a call is not delivered: no event, in no tracer.
void waited_for() {
  unsigned long set = 1UL << (SIGUSR1 - 1);
  CALL(rt_sigprocmask, SIG_BLOCK, &set, nullptr, 8);
  CALL(tgkill, trace::raw(SYS_getpid), trace::thread_id(), SIGUSR1);
  timespec second{1, 0};
  CALL(rt_sigtimedwait, &set, nullptr, &second, 8);
  CALL(rt_sigprocmask, SIG_UNBLOCK, &set, nullptr, 8);
}

void wait_for(long child) {
  int status = 0;
  CALL(wait4, child, &status, 0, nullptr);
  trace::note_exit(child, status);
}

void dies_of_a_fault() {
  long child = CALL(fork);
  if (child == 0) {
    rlimit none{0, 0};
    CALL(setrlimit, RLIMIT_CORE, &none);
    volatile int* volatile nowhere = nullptr;
    *nowhere = 1;
  }
  int status = 0;
  CALL(wait4, child, &status, 0, nullptr);
  trace::note_signal(child, "SIGSEGV");
  trace::note_exit(child, status);
}

// By a signal that nobody minds: the kernel ends the process before it would be delivered.
void dies_of_a_broken_pipe() {
  long child = CALL(fork);
  if (child == 0) {
    int broken[2];
    CALL(pipe2, broken, 0);
    CALL(close, broken[0]);
    CALL(write, broken[1], "x", 1);  // EPIPE
  }
  int status = 0;
  CALL(wait4, child, &status, 0, nullptr);
  trace::note_signal(child, "SIGPIPE", SI_USER, child);
  trace::note_exit(child, status);
}

void killed_while_it_waits() {
  int ready[2];
  static char byte[1];
  CALL(pipe2, ready, 0);
  const long args[] = {ends[0], trace::reg(byte), 1};
  long child = CALL(fork);
  if (child == 0) {
    CALL(write, ready[1], "r", 1);
    trace::raw(SYS_read, args[0], args[1], args[2]);
    trace::die("signals: nobody should have written");
  }
  CALL(read, ready[0], byte, 1);
  timespec pause{0, 300'000'000};  // until it waits
  CALL(nanosleep, &pause, nullptr);
  CALL(kill, child, SIGKILL);
  trace::asks(1);
  trace::note_open(child, "read", args, 3);
  wait_for(child);
}

}  // namespace

int main(int argc, char** argv) {
  trace::begin(argc, argv);
  CALL(pipe2, ends, 0);
  to_itself();
  interrupted();
  waited_for();
  dies_of_a_fault();
  dies_of_a_broken_pipe();
  killed_while_it_waits();
  return trace::finish(handled == 2 ? 0 : 98);
}
