// Hogs: children of the guard that use up a resource. They die with the guard (the kernel's parent-death signal), and
// at the latest by an alarm of their own, so that nothing has to remember them.
#pragma once

#include <functional>

#include "base/fd.h"
#include "inject/fault.h"

namespace culprit {

// Starts one; its number goes into the notes. `body` runs in the child until it is killed; returning ends the child.
// The descriptor `keep` stays open in the child as it is here; all others but /dev/null as stdin, stdout and stderr do
// not.
Status start_hog(FaultWork& work, const std::function<void()>& body, int keep = -1);
Status kill_hogs(const FaultWork& work);
Result<bool> hogs_alive(const FaultWork& work);  // any of them

// Sleeps so that a hog that worked for `busy_ns` just now works for `share` of the time.
void rest_after(int64_t busy_ns, double share);

// Keeps a stream of bytes below a rate by sleeping; what was not used does not pile up.
class Pace {
 public:
  explicit Pace(int64_t bytes_per_second) : rate_(bytes_per_second) {}  // 0: no limit
  void used(int64_t bytes);

 private:
  int64_t rate_;
  int64_t free_ns_ = 0;  // monotonic time from which on more may be used
};

}  // namespace culprit
