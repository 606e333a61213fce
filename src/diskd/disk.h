// One virtual disk at work: requests come in, wait for the spindle, touch the image, and are answered when the model
// says so. Without a model and without effects they are served at once by the thread that brings them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/fd.h"
#include "diskd/small_thread.h"
#include "vdisk/control.h"
#include "vdisk/effects.h"
#include "vdisk/spindle.h"

namespace culprit {

enum class DiskOp { read, write, flush, trim };

struct DiskRequest {
  DiskOp op = DiskOp::read;
  int64_t offset = 0;
  int64_t bytes = 0;             // flush: 0
  int trim_mode = 0;             // of fallocate
  const char* source = nullptr;  // write: the bytes, valid during submit() only
  std::unique_ptr<char[]> kept;  // write: the bytes, once the request must wait
  void* tag = nullptr;           // whom to answer
  int64_t arrival_ns = 0;
};

// How requests are answered; any thread may call it. `data` is there for a read only; error is an errno or 0.
class DiskReplies {
 public:
  virtual ~DiskReplies() = default;
  virtual void reply(void* tag, DiskOp op, int error, const char* data, int64_t bytes) = 0;
};

struct DirectionCounters {
  int64_t requests = 0;
  int64_t bytes = 0;
  int64_t busy_ns = 0;  // spindle time; 0 without a model
};

struct DiskCounters {
  DirectionCounters read, write;
  int64_t flushes = 0;
  int64_t trims = 0;
  int64_t errors = 0;  // answered with an error, in whatever direction
  HiddenCounters hidden;
};

struct DiskState {
  int64_t size = 0;
  DiskModel model;
  int64_t queued = 0;  // waiting or in service
  int opens = 0;
  HiddenLoad hidden;
  double factor = 1;
  double probability = 0;
  int64_t left_ns[std::size(kAllEffects)] = {};  // 0: not active
};

class Disk {
 public:
  Disk(std::string name, uint64_t inode, Fd image, int64_t size, const DiskModel& model, DiskReplies& replies);
  ~Disk();
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  const std::string& name() const { return name_; }
  uint64_t inode() const { return inode_; }
  int64_t size() const { return size_; }
  int image() const { return image_.get(); }

  void submit(DiskRequest request);  // returns at once, also when the disk hangs

  Status set_model(const DiskModel& model);
  Status apply(const DiskCommand& effect);
  void heal(std::optional<Effect> effect);
  DiskState state();
  DiskCounters counters();
  void opened(int change) { opens_ += change; }
  int opens() const { return opens_; }

  // Runs `work` while no request touches the image. `if_idle`: only when none is waiting either.
  Status exclusively(bool if_idle, const std::function<Status()>& work);

 private:
  using Lock = std::unique_lock<std::mutex>;
  void run();
  bool straight(int64_t now) const;
  bool hangs(int64_t now) const { return effects_.active(Effect::hang, now); }
  void serve_straight(DiskRequest request, Lock& lock);
  void serve_oldest(Lock& lock);
  void await_answer_time(Lock& lock, int64_t not_before);
  void wait_while_hung(Lock& lock);
  void sleep_until(Lock& lock, int64_t t);
  void leave_image();
  int touch_image(const DiskRequest& request, char* buffer, int64_t& bytes) const;
  void count(const DiskRequest& request, int error, int64_t bytes, int64_t busy_ns);

  const std::string name_;
  const uint64_t inode_;
  const Fd image_;
  const int64_t size_;
  DiskReplies& replies_;
  std::atomic<int> opens_ = 0;

  std::mutex mutex_;
  std::condition_variable arrived_;  // a request came while there was none, or the disk ends
  std::condition_variable changed_;  // model, effects or pause: whoever sleeps looks again
  std::condition_variable quiet_;    // nobody touches the image any more
  std::deque<DiskRequest> queue_;
  Spindle spindle_;
  DiskEffects effects_;
  HiddenLoad hidden_;
  double factor_ = 1;
  DiskCounters counters_;
  int in_image_ = 0;      // threads that touch the image
  bool serving_ = false;  // a request is between the queue and its answer
  bool paused_ = false;
  bool ending_ = false;
  std::unique_ptr<char[]> buffer_;  // of the disk's own thread
  SmallThread thread_;
};

}  // namespace culprit
