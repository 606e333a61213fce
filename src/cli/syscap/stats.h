// A log in a table: for each class of descriptor and each call how many, how many failed and how long they took.
// Times go into a histogram of 16 steps per doubling, so that the percentiles are right to 6 % whatever the log's size.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "calls/call.h"

namespace culprit {

class TimeHistogram {
 public:
  void add(int64_t ns, uint64_t count = 1);
  int64_t percentile(double share) const;  // 0 when it is empty
  uint64_t count() const { return count_; }

 private:
  static constexpr size_t kSteps = 16;
  std::array<uint64_t, 64 * kSteps> counts_{};
  uint64_t count_ = 0;
};

struct StatsRow {
  uint64_t count = 0;
  uint64_t failed = 0;
  uint64_t unfinished = 0;
  double sum_ns = 0;
  int64_t max_ns = 0;
  TimeHistogram times;
  std::map<int, uint64_t> errors;
};

class CallStats {
 public:
  void add(const std::string& node, const Call& call, const FdRecord* target);  // signals and ends are counted only
  void add(const std::string& node, const CallSum& sum);
  bool empty() const { return rows_.empty(); }
  std::string text() const;  // sorted by node and class, within them by the time they took together
  std::string json() const;

 private:
  struct Key {
    std::string node;
    FdClass fd_class = FdClass::other;
    std::string call;
    auto operator<=>(const Key&) const = default;
  };
  using Entry = std::pair<const Key, StatsRow>;
  std::vector<const Entry*> sorted() const;

  std::map<Key, StatsRow> rows_;
};

}  // namespace culprit
