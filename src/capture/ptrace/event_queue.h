// From the tracing thread to whoever writes the logs. The tracer must not wait for a disk: while it does, what it
// traces stands still, and the disk may be served by just that. So it waits for room a second at most, then events are
// lost and counted.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "calls/call.h"
#include "capture/backend.h"
#include "capture/call_sums.h"

namespace culprit {

class EventQueue {
 public:
  explicit EventQueue(size_t most_bytes) : most_bytes_(most_bytes) {}

  // The tracer's side.
  void add(size_t node, const Call& call);
  void add(size_t node, FdRecord record);
  void add_to_sums(size_t node, FdClass fd_class, const Call& call);
  void end();  // nothing comes after it

  // The other side. Waits until there is a good deal, the end, or the time is over, then hands over what there is.
  // False when the end has come and everything was handed over.
  bool hand_over(CaptureSink& sink, int64_t wait_ns);
  int64_t lost() const;

 private:
  // Both kinds in one order; a row without call is the next of the records.
  struct Row {
    Call call;
    uint32_t node = 0;
    bool is_record = false;
  };
  struct Batch {
    std::vector<Row> rows;
    std::vector<FdRecord> records;
    size_t bytes = 0;
    void clear();
  };

  bool wait_for_room(std::unique_lock<std::mutex>& lock, size_t bytes);
  void hand_over_sums(CaptureSink& sink, bool ended);

  const size_t most_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable filled_;
  std::condition_variable emptied_;
  Batch incoming_;
  Batch outgoing_;  // only of the other side; kept for its memory
  CallSums sums_;
  int64_t lost_ = 0;
  bool full_ = false;  // it did not get room in time: no more waiting until it was emptied
  bool ended_ = false;
};

}  // namespace culprit
