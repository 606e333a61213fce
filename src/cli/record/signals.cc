#include "cli/record/signals.h"

#include <ctime>

#include "base/units.h"

namespace culprit {

namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
volatile sig_atomic_t asked_to_stop = 0;

void on_signal(int) {
  asked_to_stop = 1;
}

}  // namespace

StopSignals::StopSignals() {
  asked_to_stop = 0;
  sigset_t set;
  sigemptyset(&set);
  struct sigaction action {};
  action.sa_handler = on_signal;
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    sigaddset(&set, kSignals[i]);
    ::sigaction(kSignals[i], &action, &old_[i]);
    if (old_[i].sa_handler == SIG_IGN) ::sigaction(kSignals[i], &old_[i], nullptr);  // nohup stays nohup
  }
  ::sigprocmask(SIG_BLOCK, &set, &before_);
}

StopSignals::~StopSignals() {
  for (size_t i = 0; i < std::size(kSignals); ++i) ::sigaction(kSignals[i], &old_[i], nullptr);
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

bool StopSignals::asked() const {
  return asked_to_stop != 0;
}

void StopSignals::wait(std::vector<pollfd>& fds, int64_t wait_ns) const {
  timespec time{wait_ns / kNsPerSecond, wait_ns % kNsPerSecond};
  ::ppoll(fds.data(), fds.size(), &time, &before_);
}

}  // namespace culprit
