// What the tests of this folder share: a scratch folder, and somebody who waits for answers.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "diskd/disk_set.h"

namespace culprit {

class ScratchFolder {
 public:
  ScratchFolder() {
    char name[] = "/tmp/culprit-diskd-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct TestAnswer {
  int error = 0;
  std::string data;
  int64_t bytes = 0;
};

// Answers by their number; the tag is the number.
class TestReplies : public DiskReplies {
 public:
  void reply(void* tag, DiskOp op, int error, const char* data, int64_t bytes) override {
    std::lock_guard lock(mutex_);
    std::string read = op == DiskOp::read && error == 0 ? std::string(data, static_cast<size_t>(bytes)) : "";
    auto number = reinterpret_cast<uintptr_t>(tag);
    order_.push_back(number);
    answers_[number] = {error, read, bytes};
    changed_.notify_all();
  }
  // nullopt: no answer within `seconds`.
  std::optional<TestAnswer> wait(uintptr_t number, double seconds = 20) {
    std::unique_lock lock(mutex_);
    bool there =
        changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return answers_.count(number) > 0; });
    if (!there) return std::nullopt;
    return answers_[number];
  }
  std::vector<uintptr_t> order() {
    std::lock_guard lock(mutex_);
    return order_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uintptr_t, TestAnswer> answers_;
  std::vector<uintptr_t> order_;
};

inline DiskRequest test_request(DiskOp op, uintptr_t number, int64_t offset, int64_t bytes, const char* source = "") {
  DiskRequest request;
  request.op = op;
  request.offset = offset;
  request.bytes = bytes;
  request.source = source;
  request.tag = reinterpret_cast<void*>(number);
  return request;
}

}  // namespace culprit
