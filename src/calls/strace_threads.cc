#include "calls/strace_threads.h"

#include <algorithm>
#include <limits>

namespace culprit {

namespace {

constexpr size_t kMostThreads = 1 << 20;  // alive at a time; Linux allows 4 million, no server has this many
constexpr size_t kMostCloning = 1024;     // a thread makes one at a time
constexpr size_t kMostEnded = 1 << 16;    // while a clone is under way; most take less than a millisecond

}  // namespace

void StraceThreads::add(int32_t thread, int32_t process) {
  if (processes_.size() >= kMostThreads) return;
  processes_[thread] = process;
  ++alive_[process];
}

bool StraceThreads::lose_one(int32_t process) {
  auto it = alive_.find(process);
  if (it == alive_.end()) return true;
  if (--it->second > 0) return false;
  alive_.erase(it);
  return true;
}

bool StraceThreads::move(int32_t thread, int32_t process) {
  auto it = processes_.find(thread);
  if (it == processes_.end() || it->second == process) return false;
  lose_one(it->second);
  it->second = process;
  ++alive_[process];
  return true;
}

int32_t StraceThreads::process_of(int32_t thread) {
  if (auto it = processes_.find(thread); it != processes_.end()) return it->second;
  int32_t process = thread;
  auto oldest = std::find_if(cloning_.begin(), cloning_.end(), [](const Cloning& one) { return one.child == 0; });
  if (oldest != cloning_.end()) {  // most likely its child; clone_ends corrects it
    oldest->child = thread;
    auto parent = processes_.find(oldest->parent);
    if (oldest->shares && parent != processes_.end()) process = parent->second;
  } else if (attached_) {
    if (before_++ == 0) first_ = thread;
    process = first_;
  }
  add(thread, process);
  return process;
}

void StraceThreads::clone_begins(int32_t parent, bool shares) {
  if (cloning_.size() < kMostCloning) cloning_.push_back({parent, shares, 0});
}

void StraceThreads::clone_is_lost(int32_t parent) {
  std::erase_if(cloning_, [&](const Cloning& one) { return one.parent == parent; });
  if (cloning_.empty()) ended_.clear();
}

void StraceThreads::clone_ends(int32_t parent, bool shares, int64_t child) {
  bool made = child > 0 && child <= std::numeric_limits<int32_t>::max();
  int32_t thread = made ? static_cast<int32_t>(child) : 0;
  for (Cloning& one : cloning_) {
    if (one.parent != parent && one.child == thread) one.child = 0;
    // Who was wrongly taken for the child is somebody else's, which that clone will tell, or was there before.
    bool wrong = one.parent == parent && one.child != 0 && one.child != thread;
    if (wrong && before_ > 0 && move(one.child, first_)) ++mistaken_;
  }
  bool has_ended = ended_.count(thread) > 0;
  clone_is_lost(parent);
  if (!made) return;
  int32_t process = shares ? process_of(parent) : thread;
  if (processes_.count(thread) > 0) {
    if (move(thread, process)) ++mistaken_;
  } else if (!has_ended) {  // or it would count as alive for ever
    add(thread, process);
  }
}

StraceThreads::End StraceThreads::ends(int32_t thread) {
  // Of those that were there before, one that shows nothing but its end gives nobody its number: the others live on.
  if (attached_ && before_ == 0 && cloning_.empty() && processes_.count(thread) == 0) return {thread, true};
  int32_t process = process_of(thread);
  processes_.erase(thread);
  if (!cloning_.empty() && ended_.size() < kMostEnded) ended_.insert(thread);
  return {process, lose_one(process)};
}

void StraceThreads::leaves(int32_t thread) {
  auto it = processes_.find(thread);
  if (it == processes_.end()) return;
  lose_one(it->second);
  processes_.erase(it);
}

}  // namespace culprit
