// One spindle: when does a request that arrived now begin and end? Pure: time is a parameter, nothing sleeps here.
//
// The spindle serves one request at a time. The device's requests are served in the order of their arrival; one that
// begins where the device's last one ended costs no seek. Hidden load (a third party that the device's own counters
// never show) is a second flow that is fair in *time*: each of its requests has a start tag, one service time divided
// by its share after the tag before it, and goes first once its tag is reached. So it gets its share of the spindle's
// time and never more: with a deep queue of the device, with one request at a time (plain start-time fair queueing
// would give away the gaps between them, 13/87 instead of 50/50), and alone. Its seeks, there and back, are in its own
// time.
//
// Ends are absolute: the next request begins at the end of the one before, not when somebody woke up to notice it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "vdisk/disk_model.h"

namespace culprit {

struct HiddenLoad {
  double share = 0;         // of the spindle's time
  int64_t bytes = 1000000;  // of each of its requests
  bool operator==(const HiddenLoad&) const = default;
};

struct HiddenCounters {
  int64_t requests = 0;  // begun
  int64_t bytes = 0;
  int64_t busy_ns = 0;
};

class Spindle {
 public:
  explicit Spindle(const DiskModel& model = {}) : model_(model) {}

  const DiskModel& model() const { return model_; }
  // Each change holds from `now` on; a request in service goes on with what remains of it.
  void set_model(const DiskModel& model, int64_t now);
  void set_slow(double factor, int64_t until, int64_t now);
  void set_hidden(const HiddenLoad& load, int64_t until, int64_t now);
  // The spindle stood still until now: nothing is made up for.
  void stalled(int64_t now);

  // Begins the device's oldest request if the spindle is free for it at `now`; it is in service until request_end().
  // False: try again at busy_until(). `bytes` 0 (a flush, a discard) costs no time and moves no head.
  bool begin(int64_t offset, int64_t bytes, int64_t arrival, int64_t now);
  int64_t busy_until() const { return free_at_; }
  // Of the device's last request. The end moves when the disk is slowed or healed while the request is in service.
  int64_t request_start() const { return request_start_; }
  int64_t request_end() const { return request_end_; }

  // What the hidden load has had by `now`.
  const HiddenCounters& hidden(int64_t now);

 private:
  int64_t work(int64_t bytes, bool seek) const;          // service time on a disk that is not slowed
  int64_t finish(int64_t start, int64_t work) const;     // when it ends, slowed or not
  int64_t done_between(int64_t from, int64_t to) const;  // the work the spindle does in that time
  void take(int64_t start, int64_t work);
  void rebase(int64_t now);
  bool hidden_first(int64_t device_start) const;
  int64_t hidden_cost(int64_t start) const;   // what the next hidden request takes
  int64_t hidden_period(int64_t cost) const;  // from its start tag to the next one
  void serve_hidden(int64_t last_start);
  void catch_up(int64_t now);

  static constexpr int64_t kNever = std::numeric_limits<int64_t>::min();

  DiskModel model_;
  double factor_ = 1;
  int64_t slow_until_ = kNever;
  HiddenLoad load_;
  int64_t hidden_until_ = kNever;
  int64_t hidden_tag_ = kNever;
  HiddenCounters hidden_;
  int64_t next_offset_ = -1;  // where the device's last request ended
  int64_t begun_ = 0;         // the request in service: `left_` of its work was to be done at `begun_`
  int64_t left_ = 0;
  int64_t free_at_ = 0;
  bool serves_device_ = false;
  int64_t request_start_ = 0;
  int64_t request_end_ = 0;
};

}  // namespace culprit
