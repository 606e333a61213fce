#include "capture/ptrace/event_queue.h"

#include <chrono>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "base/units.h"

namespace culprit {

namespace {

constexpr size_t kGoodDeal = 4096;            // rows: worth waking the other side before its time
constexpr std::chrono::seconds kPatience{1};  // for room
constexpr int64_t kLate = 1;                  // seconds in which a call may still be added to a past second's sum

size_t bytes_of(const FdRecord& record) {
  return sizeof record + record.name.size() + record.protocol.size() + record.local.size() + record.peer.size();
}

}  // namespace

void EventQueue::Batch::clear() {
  rows.clear();
  records.clear();
  bytes = 0;
}

bool EventQueue::wait_for_room(std::unique_lock<std::mutex>& lock, size_t bytes) {
  auto has_room = [&] { return incoming_.bytes + bytes <= most_bytes_ || incoming_.rows.empty(); };
  if (has_room()) return true;
  filled_.notify_one();
  if (!full_ && emptied_.wait_for(lock, kPatience, has_room)) return true;
  full_ = true;
  ++lost_;
  return false;
}

void EventQueue::add(size_t node, const Call& call) {
  std::unique_lock lock(mutex_);
  if (!wait_for_room(lock, sizeof(Row))) return;
  incoming_.rows.push_back({call, static_cast<uint32_t>(node), false});
  incoming_.bytes += sizeof(Row);
  if (incoming_.rows.size() == kGoodDeal) filled_.notify_one();
}

void EventQueue::add(size_t node, FdRecord record) {
  std::unique_lock lock(mutex_);
  size_t bytes = sizeof(Row) + bytes_of(record);
  if (!wait_for_room(lock, bytes)) return;
  incoming_.rows.push_back({{}, static_cast<uint32_t>(node), true});
  incoming_.records.push_back(std::move(record));
  incoming_.bytes += bytes;
}

void EventQueue::add_to_sums(size_t node, FdClass fd_class, const Call& call) {
  std::unique_lock lock(mutex_);
  sums_.add(node, fd_class, call);
}

void EventQueue::end() {
  std::unique_lock lock(mutex_);
  ended_ = true;
  filled_.notify_one();
}

bool EventQueue::hand_over(CaptureSink& sink, int64_t wait_ns) {
  bool ended = false;
  {
    std::unique_lock lock(mutex_);
    filled_.wait_for(lock, std::chrono::nanoseconds(wait_ns),
                     [&] { return ended_ || incoming_.rows.size() >= kGoodDeal || incoming_.bytes > most_bytes_ / 2; });
    std::swap(incoming_, outgoing_);
    full_ = false;
    ended = ended_;
  }
  emptied_.notify_one();
  size_t record = 0;
  for (const Row& row : outgoing_.rows) {
    if (row.is_record)
      sink.on_fd(row.node, std::move(outgoing_.records[record++]));
    else
      sink.on_call(row.node, row.call);
  }
  outgoing_.clear();
  hand_over_sums(sink, ended);
  return !ended;
}

void EventQueue::hand_over_sums(CaptureSink& sink, bool ended) {
  struct Taken {
    size_t node;
    CallSum sum;
  };
  std::vector<Taken> taken;
  int64_t before = ended ? std::numeric_limits<int64_t>::max() : wall_now_ns() / kNsPerSecond - kLate;
  {
    std::unique_lock lock(mutex_);
    sums_.take_before(before, [&](size_t node, const CallSum& sum) { taken.push_back({node, sum}); });
  }
  for (const Taken& one : taken) sink.on_sum(one.node, one.sum);
}

int64_t EventQueue::lost() const {
  std::unique_lock lock(mutex_);
  return lost_;
}

}  // namespace culprit
