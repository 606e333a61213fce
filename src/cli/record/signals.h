// The wish to stop: SIGINT, SIGTERM and SIGHUP are blocked, except while the loop waits, so none is ever missed and
// none interrupts a write.
#pragma once

#include <poll.h>
#include <signal.h>

#include <cstdint>
#include <vector>

namespace culprit {

class StopSignals {
 public:
  StopSignals();
  ~StopSignals();  // as it was before
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  bool asked() const;
  void wait(std::vector<pollfd>& fds,
            int64_t wait_ns) const;  // until a descriptor is ready, a signal comes or the time is over

 private:
  sigset_t before_;
  struct sigaction old_[3];
};

}  // namespace culprit
