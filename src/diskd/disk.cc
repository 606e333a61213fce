#include "diskd/disk.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"

namespace culprit {

namespace {

// A disk that fails at once makes callers that retry spin: an error takes as long as a seek.
constexpr int64_t kErrorNs = 4 * kNsPerMs;
constexpr size_t kMaxTransfer = 1 << 20;  // what the kernel sends in one request

int read_image(int fd, char* to, int64_t offset, int64_t& bytes) {
  int64_t done = 0;
  while (done < bytes) {
    ssize_t n = ::pread(fd, to + done, static_cast<size_t>(bytes - done), offset + done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) break;
    done += n;
  }
  bytes = done;
  return 0;
}

int write_image(int fd, const char* from, int64_t offset, int64_t bytes) {
  for (int64_t done = 0; done < bytes;) {
    ssize_t n = ::pwrite(fd, from + done, static_cast<size_t>(bytes - done), offset + done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    done += n;
  }
  return 0;
}

// Punching a hole is also how zeros are written: tmpfs cannot zero a range otherwise, and both read back as zeros.
int trim_image(int fd, int mode, int64_t offset, int64_t bytes) {
  if ((mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) == 0) return EOPNOTSUPP;
  if ((mode & ~(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE)) != 0) return EOPNOTSUPP;
  return ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes) == 0 ? 0 : errno;
}

bool transfers(DiskOp op) {
  return op == DiskOp::read || op == DiskOp::write;
}

}  // namespace

Disk::Disk(std::string name, uint64_t inode, Fd image, int64_t size, const DiskModel& model, DiskReplies& replies)
    : name_(std::move(name)),
      inode_(inode),
      image_(std::move(image)),
      size_(size),
      replies_(replies),
      spindle_(model),
      buffer_(new char[kMaxTransfer]),
      thread_([this] { run(); }) {}

Disk::~Disk() {
  Lock lock(mutex_);
  ending_ = true;
  arrived_.notify_all();
  changed_.notify_all();
}

bool Disk::straight(int64_t now) const {
  return !spindle_.model().modelled() && queue_.empty() && !serving_ && !paused_ && !hangs(now) &&
         !effects_.active(Effect::fail, now) && !effects_.active(Effect::flaky, now);
}

void Disk::submit(DiskRequest request) {
  request.arrival_ns = monotonic_now_ns();
  Lock lock(mutex_);
  if (straight(request.arrival_ns)) return serve_straight(std::move(request), lock);
  if (request.op == DiskOp::write) {  // its bytes must outlive this call; no need to hold others up meanwhile
    lock.unlock();
    request.kept.reset(new char[static_cast<size_t>(request.bytes)]);
    std::memcpy(request.kept.get(), request.source, static_cast<size_t>(request.bytes));
    request.source = request.kept.get();
    lock.lock();
  }
  queue_.push_back(std::move(request));
  if (queue_.size() == 1) arrived_.notify_one();
}

void Disk::serve_straight(DiskRequest request, Lock& lock) {
  static thread_local std::unique_ptr<char[]> buffer(new char[kMaxTransfer]);
  ++in_image_;
  lock.unlock();
  int64_t bytes = request.bytes;
  int error = touch_image(request, buffer.get(), bytes);
  lock.lock();
  leave_image();
  count(request, error, bytes, 0);
  lock.unlock();
  replies_.reply(request.tag, request.op, error, buffer.get(), bytes);
}

int Disk::touch_image(const DiskRequest& request, char* buffer, int64_t& bytes) const {
  switch (request.op) {
    case DiskOp::read:
      bytes = std::min<int64_t>(bytes, kMaxTransfer);
      return read_image(image(), buffer, request.offset, bytes);
    case DiskOp::write:
      if (request.offset < 0 || request.offset > size_ - request.bytes) return ENOSPC;  // an image never grows
      return write_image(image(), request.source, request.offset, request.bytes);
    case DiskOp::flush:
      return ::fdatasync(image()) == 0 ? 0 : errno;
    case DiskOp::trim:
      return trim_image(image(), request.trim_mode, request.offset, request.bytes);
  }
  return EINVAL;
}

void Disk::leave_image() {
  if (--in_image_ == 0) quiet_.notify_all();
}

void Disk::count(const DiskRequest& request, int error, int64_t bytes, int64_t busy_ns) {
  if (error != 0) ++counters_.errors;
  if (!transfers(request.op)) {
    if (error == 0) ++(request.op == DiskOp::flush ? counters_.flushes : counters_.trims);
    return;
  }
  DirectionCounters& direction = request.op == DiskOp::read ? counters_.read : counters_.write;
  direction.busy_ns += busy_ns;
  if (error != 0) return;
  ++direction.requests;
  direction.bytes += bytes;
}

void Disk::run() {
  Lock lock(mutex_);
  while (!ending_) {
    if (queue_.empty()) {
      arrived_.wait(lock);
    } else if (paused_) {
      changed_.wait(lock);
    } else if (int64_t now = monotonic_now_ns(); hangs(now)) {
      wait_while_hung(lock);
    } else {
      const DiskRequest& oldest = queue_.front();
      int64_t moved = transfers(oldest.op) ? oldest.bytes : 0;
      if (spindle_.begin(oldest.offset, moved, oldest.arrival_ns, now))
        serve_oldest(lock);
      else
        sleep_until(lock, spindle_.busy_until());
    }
  }
}

// The image is touched first, so that the answer can leave the moment its time has come.
void Disk::serve_oldest(Lock& lock) {
  DiskRequest request = std::move(queue_.front());
  queue_.pop_front();
  serving_ = true;
  int64_t bytes = request.bytes;
  int64_t now = monotonic_now_ns();
  int error = EIO;
  int64_t not_before = now;
  if (effects_.fails(now)) {
    if (!spindle_.model().modelled() || !transfers(request.op)) not_before = now + kErrorNs;
  } else {
    ++in_image_;
    lock.unlock();
    error = touch_image(request, buffer_.get(), bytes);
    lock.lock();
    leave_image();
  }
  await_answer_time(lock, not_before);
  serving_ = false;
  if (ending_) return;
  count(request, error, bytes, spindle_.request_end() - spindle_.request_start());
  lock.unlock();
  replies_.reply(request.tag, request.op, error, buffer_.get(), bytes);
  lock.lock();
}

void Disk::await_answer_time(Lock& lock, int64_t not_before) {
  while (!ending_) {
    int64_t now = monotonic_now_ns();
    int64_t end = std::max(not_before, spindle_.request_end());
    if (now < end)
      sleep_until(lock, end);
    else if (hangs(now))
      wait_while_hung(lock);
    else
      return;
  }
}

void Disk::wait_while_hung(Lock& lock) {
  while (!ending_ && hangs(monotonic_now_ns())) sleep_until(lock, effects_.until(Effect::hang));
  spindle_.stalled(monotonic_now_ns());
}

// Absolute, so that waking up late does not add up. Ends early when anything changed.
void Disk::sleep_until(Lock& lock, int64_t t) {
  using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC, as monotonic_now_ns
  changed_.wait_until(lock, Clock::time_point(std::chrono::nanoseconds(t)));
}

Status Disk::set_model(const DiskModel& model) {
  Lock lock(mutex_);
  int64_t now = monotonic_now_ns();
  for (Effect effect : {Effect::hidden, Effect::slow})
    if (!model.modelled() && effects_.active(effect, now))
      return input_error(cat(name_, " is under ", effect_name(effect), ", which needs a model"),
                         cat("heal ", name_, " first"));
  spindle_.set_model(model, now);
  changed_.notify_all();
  return Ok{};
}

Status Disk::apply(const DiskCommand& command) {
  Lock lock(mutex_);
  Effect effect = command.effect.value();
  bool needs_model = effect == Effect::hidden || effect == Effect::slow;
  if (needs_model && !spindle_.model().modelled())
    return input_error(cat(name_, " has no model, so ", effect_name(effect), " means nothing"),
                       cat("give it one: model ", name_, " barracuda7200"));
  int64_t now = monotonic_now_ns();
  int64_t until = now + command.for_ns;
  if (effect == Effect::hidden) spindle_.set_hidden(hidden_ = command.hidden, until, now);
  if (effect == Effect::slow) spindle_.set_slow(factor_ = command.factor, until, now);
  if (effect == Effect::flaky) effects_.set_flaky(command.probability, command.seed, until, now);
  effects_.set(effect, until);
  changed_.notify_all();
  return Ok{};
}

void Disk::heal(std::optional<Effect> which) {
  Lock lock(mutex_);
  int64_t now = monotonic_now_ns();
  for (Effect effect : kAllEffects) {
    if (which && *which != effect) continue;
    if (effect == Effect::hidden) spindle_.set_hidden({}, now, now);
    if (effect == Effect::slow) spindle_.set_slow(1, now, now);
    effects_.heal(effect);
  }
  changed_.notify_all();
}

DiskState Disk::state() {
  Lock lock(mutex_);
  int64_t now = monotonic_now_ns();
  DiskState state{.size = size_,
                  .model = spindle_.model(),
                  .queued = static_cast<int64_t>(queue_.size()) + (serving_ ? 1 : 0),
                  .opens = opens_,
                  .hidden = hidden_,
                  .factor = factor_,
                  .probability = effects_.probability()};
  for (Effect effect : kAllEffects) state.left_ns[static_cast<size_t>(effect)] = effects_.left_ns(effect, now);
  return state;
}

DiskCounters Disk::counters() {
  Lock lock(mutex_);
  counters_.hidden = spindle_.hidden(monotonic_now_ns());
  return counters_;
}

Status Disk::exclusively(bool if_idle, const std::function<Status()>& work) {
  Lock lock(mutex_);
  if (paused_) return input_error(cat(name_, " is being copied already"), "wait until that is done");
  if (if_idle && (!queue_.empty() || serving_ || in_image_ > 0))
    return input_error(cat(name_, " is serving requests"), "stop what uses it first");
  paused_ = true;
  quiet_.wait(lock, [&] { return in_image_ == 0; });
  lock.unlock();
  Status done = work();
  lock.lock();
  paused_ = false;
  spindle_.stalled(monotonic_now_ns());
  changed_.notify_all();
  return done;
}

}  // namespace culprit
