#include "calls/strace_threads.h"

#include <algorithm>
#include <limits>

namespace culprit {

namespace {

constexpr size_t kMostThreads = 1 << 20;  // alive at a time; Linux allows 4 million, no server has this many
constexpr size_t kMostCloning = 1024;     // a thread makes one at a time

}  // namespace

void StraceThreads::add(int32_t thread, int32_t process) {
  if (processes_.size() >= kMostThreads) return;
  processes_[thread] = process;
  ++alive_[process];
}

int32_t StraceThreads::process_of(int32_t thread) {
  if (auto it = processes_.find(thread); it != processes_.end()) return it->second;
  int32_t process = thread;
  if (!cloning_.empty()) {  // most likely the child of the oldest; clone_ends corrects it
    Cloning oldest = cloning_.front();
    cloning_.erase(cloning_.begin());
    auto parent = processes_.find(oldest.parent);
    if (oldest.shares && parent != processes_.end()) process = parent->second;
  }
  add(thread, process);
  return process;
}

void StraceThreads::clone_begins(int32_t parent, bool shares) {
  if (cloning_.size() < kMostCloning) cloning_.push_back({parent, shares});
}

void StraceThreads::clone_ends(int32_t parent, bool shares, int64_t child) {
  std::erase_if(cloning_, [&](const Cloning& one) { return one.parent == parent; });
  if (child <= 0 || child > std::numeric_limits<int32_t>::max()) return;
  int32_t thread = static_cast<int32_t>(child);
  int32_t process = shares ? process_of(parent) : thread;
  auto it = processes_.find(thread);
  if (it == processes_.end()) return add(thread, process);
  if (it->second == process) return;
  ++mistaken_;
  if (--alive_[it->second] <= 0) alive_.erase(it->second);
  it->second = process;
  ++alive_[process];
}

bool StraceThreads::ends(int32_t thread) {
  int32_t process = process_of(thread);
  processes_.erase(thread);
  auto it = alive_.find(process);
  if (it == alive_.end()) return true;
  if (--it->second > 0) return false;
  alive_.erase(it);
  return true;
}

}  // namespace culprit
