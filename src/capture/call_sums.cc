#include "capture/call_sums.h"

#include <algorithm>
#include <bit>

#include "base/units.h"

namespace culprit {

void add_to_sum(CallSum& sum, const Call& call) {
  auto ns = static_cast<uint64_t>(std::max<int64_t>(call.duration_ns, 0));
  ++sum.count;
  sum.sum_ns += ns;
  size_t slot = ns == 0 ? 0 : static_cast<size_t>(std::bit_width(ns)) - 1;
  ++sum.histogram[std::min(slot, sum.histogram.size() - 1)];
  if (call.failed() && call.errno_value() < kFirstRestart) ++sum.errors[call.errno_value()];
}

void CallSums::add(size_t node, FdClass fd_class, const Call& call) {
  int64_t second = call.end_ns() / kNsPerSecond;
  CallSum& sum = sums_[Key(second, node, fd_class, call.number)];
  sum.second = second;
  sum.fd_class = fd_class;
  sum.number = call.number;
  add_to_sum(sum, call);
}

void CallSums::take_before(int64_t second, const std::function<void(size_t node, const CallSum& sum)>& fn) {
  auto it = sums_.begin();
  for (; it != sums_.end() && it->second.second < second; ++it) fn(std::get<1>(it->first), it->second);
  sums_.erase(sums_.begin(), it);
}

}  // namespace culprit
