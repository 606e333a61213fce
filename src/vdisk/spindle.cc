#include "vdisk/spindle.h"

#include <algorithm>
#include <cmath>

namespace culprit {

namespace {

// Far above every service time that the parsers let through, far below what int64 holds.
int64_t to_ns(double ns) {
  return static_cast<int64_t>(std::llround(std::min(ns, 1e18)));
}

}  // namespace

int64_t Spindle::work(int64_t bytes, bool seek) const {
  if (!model_.modelled() || bytes == 0) return 0;
  return (seek ? model_.seek_ns : 0) + to_ns(static_cast<double>(bytes) * 1e9 / static_cast<double>(model_.rate));
}

int64_t Spindle::done_between(int64_t from, int64_t to) const {
  int64_t slow_end = std::clamp(slow_until_, from, to);
  return to_ns(static_cast<double>(slow_end - from) / factor_) + (to - slow_end);
}

int64_t Spindle::finish(int64_t start, int64_t work) const {
  if (start >= slow_until_) return start + work;
  int64_t slowed_end = start + to_ns(static_cast<double>(work) * factor_);
  if (slowed_end <= slow_until_) return slowed_end;
  return slow_until_ + std::max<int64_t>(0, work - done_between(start, slow_until_));
}

void Spindle::take(int64_t start, int64_t work) {
  begun_ = start;
  left_ = work;
  free_at_ = finish(start, work);
}

void Spindle::rebase(int64_t now) {
  if (now <= begun_ || free_at_ <= now) return;
  left_ = std::max<int64_t>(0, left_ - done_between(begun_, now));
  begun_ = now;
}

// The hidden request goes first when its tag is reached by the time the device could begin.
bool Spindle::hidden_first(int64_t device_start) const {
  return hidden_tag_ != kNever && hidden_tag_ <= device_start && std::max(hidden_tag_, free_at_) < hidden_until_;
}

int64_t Spindle::hidden_cost(int64_t start) const {
  return finish(start, work(load_.bytes, true)) - start;
}

int64_t Spindle::hidden_period(int64_t cost) const {
  return std::max<int64_t>(1, to_ns(static_cast<double>(cost) / load_.share));
}

// Serves hidden requests that begin at `last_start` at the latest: one if it is late, else all of them at once, because
// an idle disk with small hidden requests would otherwise be millions of turns behind when somebody looks.
void Spindle::serve_hidden(int64_t last_start) {
  int64_t start = std::max(hidden_tag_, free_at_);
  int64_t cost = hidden_cost(start);
  int64_t period = hidden_period(cost);
  int64_t count = 1;
  if (hidden_tag_ >= free_at_) {
    int64_t last = std::min(last_start, hidden_until_ - 1);
    if (start < slow_until_) last = std::min(last, slow_until_ - cost);  // from there on they take less
    if (last > start) count += (last - start) / period;
  }
  hidden_.requests += count;
  hidden_.bytes += count * load_.bytes;
  hidden_.busy_ns += count * cost;
  hidden_tag_ += count * period;
  take(start + (count - 1) * period, work(load_.bytes, true));
  serves_device_ = false;
}

void Spindle::catch_up(int64_t now) {
  while (free_at_ <= now && hidden_first(now)) serve_hidden(now);
}

void Spindle::set_model(const DiskModel& model, int64_t now) {
  catch_up(now);
  model_ = model;
}

void Spindle::set_slow(double factor, int64_t until, int64_t now) {
  catch_up(now);
  rebase(now);
  factor_ = factor;
  slow_until_ = until;
  if (free_at_ <= now) return;
  free_at_ = finish(begun_, left_);
  if (serves_device_) request_end_ = free_at_;
}

void Spindle::set_hidden(const HiddenLoad& load, int64_t until, int64_t now) {
  catch_up(now);
  bool goes_on = now < hidden_until_ && load == load_;
  load_ = load;
  hidden_until_ = load.share > 0 ? until : kNever;
  // What it has had already counts: asking again and again for something else gives no more than the share.
  if (!goes_on && load.share > 0) hidden_tag_ = std::clamp(hidden_tag_, now, now + hidden_period(hidden_cost(now)));
}

void Spindle::stalled(int64_t now) {
  free_at_ = std::max(free_at_, now);
  hidden_tag_ = std::max(hidden_tag_, now);
}

bool Spindle::begin(int64_t offset, int64_t bytes, int64_t arrival, int64_t now) {
  while (true) {
    if (free_at_ > now) return false;
    int64_t start = std::max(free_at_, arrival);
    if (!hidden_first(start)) break;
    serve_hidden(start);
  }
  int64_t start = std::max(free_at_, arrival);
  take(start, work(bytes, offset != next_offset_));
  serves_device_ = true;
  request_start_ = start;
  request_end_ = free_at_;
  if (bytes > 0) next_offset_ = offset + bytes;
  return true;
}

const HiddenCounters& Spindle::hidden(int64_t now) {
  catch_up(now);
  return hidden_;
}

}  // namespace culprit
