// Which records of a log are shown. All conditions that are given must hold.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "calls/call.h"

namespace culprit {

constexpr int kAnyError = -1;

struct CallFilter {
  std::set<int32_t> processes = {};  // empty sets: all
  std::set<int32_t> threads = {};
  std::set<int32_t> calls = {};  // numbers
  std::set<FdClass> classes = {};
  std::set<CallKind> kinds = {};
  std::string path = "";      // a part of the target's name
  std::set<int> errors = {};  // kAnyError: all of them
  int64_t longer_ns = 0;
  std::optional<int64_t> since_ns = {};  // wall clock: it had not ended before
  std::optional<int64_t> until_ns = {};  // it began before

  // `target` is what the record is about; nullptr: not known.
  bool keeps(const Call& call, const FdRecord* target) const;
  bool keeps(const CallSum& sum) const;  // by class, call and time; the rest is in no sum
  bool needs_records() const;            // a condition that sums cannot answer
  bool only_moments() const;             // signals and ends alone are wanted, which are beside sums, too
};

// "openat,pwrite64" into numbers, "storage,fuse", "call,signal"; a wrong word gets "did you mean".
Result<std::set<int32_t>> parse_call_names(std::string_view text);
Result<std::set<FdClass>> parse_classes(std::string_view text);
Result<std::set<CallKind>> parse_kinds(std::string_view text);
Result<std::set<int>> parse_errnos(std::string_view text);  // "ENOSPC,EIO", "28", "any"
// A time, or how long after the begin of the capture: "2026-11-15T22:40:01Z", "1763312345.25", "+90s".
Result<int64_t> parse_moment(std::string_view text, int64_t start_ns);

}  // namespace culprit
