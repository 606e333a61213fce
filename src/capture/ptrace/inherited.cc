#include "capture/ptrace/inherited.h"

#include <signal.h>
#include <sys/resource.h>

#include <initializer_list>

namespace culprit {

namespace {

struct Inherited {
  Inherited() {
    limited = ::getrlimit(RLIMIT_NOFILE, &descriptors) == 0;
    ::sigaction(SIGPIPE, nullptr, &on_pipe);
    ::sigaction(SIGCHLD, nullptr, &on_child);
    ::sigprocmask(SIG_SETMASK, nullptr, &mask);
  }

  rlimit descriptors{};
  bool limited = false;
  struct sigaction on_pipe {};
  struct sigaction on_child {};
  sigset_t mask{};
};

const Inherited inherited;  // made before main, which takes SIGPIPE for itself

void drop_handlers() {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
    struct sigaction action {};
    bool ignored = ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
    if (!ignored) ::sigaction(number, &standard, nullptr);
  }
}

}  // namespace

void quiet_sigchld() {
  struct sigaction action {};
  ::sigaction(SIGCHLD, nullptr, &action);
  if (action.sa_handler == SIG_IGN) action.sa_handler = SIG_DFL;
  action.sa_flags = (action.sa_flags & ~SA_NOCLDWAIT) | SA_NOCLDSTOP;
  ::sigaction(SIGCHLD, &action, nullptr);
}

void give_back_inherited() {
  if (inherited.limited) ::setrlimit(RLIMIT_NOFILE, &inherited.descriptors);
  drop_handlers();
  ::sigaction(SIGPIPE, &inherited.on_pipe, nullptr);
  ::sigaction(SIGCHLD, &inherited.on_child, nullptr);
  ::sigprocmask(SIG_SETMASK, &inherited.mask, nullptr);
}

}  // namespace culprit
