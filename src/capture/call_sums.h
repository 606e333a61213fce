// Calls summed per second, class and call, for backends that cannot do it in the kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>

#include "calls/call.h"

namespace culprit {

// Into the sum of its second and call: count, time, histogram, errno. The second is the one in which it ended.
void add_to_sum(CallSum& sum, const Call& call);

class CallSums {
 public:
  void add(size_t node, FdClass fd_class, const Call& call);  // a finished call
  // Hands over and forgets the sums of all seconds before `second`, in the order of time.
  void take_before(int64_t second, const std::function<void(size_t node, const CallSum& sum)>& fn);

 private:
  using Key = std::tuple<int64_t, size_t, FdClass, int32_t>;  // second, node, class, number
  std::map<Key, CallSum> sums_;
};

}  // namespace culprit
