#include "cli/syscap/filter.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "calls/call_export.h"
#include "calls/syscalls.h"
#include "cli/command.h"

namespace culprit {

namespace {

constexpr std::string_view kKindNames[kCallKinds] = {"call", "signal", "exit", "aio", "uring"};
constexpr int kMostErrno = 4095;                      // the kernel's own limit
constexpr int64_t kLatestBegin = int64_t{1} << 62;    // ns, the year 2116
constexpr int64_t kLongestOffset = int64_t{1} << 60;  // ns, 36 years

template <class T>
bool admits(const std::set<T>& wanted, const T& value) {
  return wanted.empty() || wanted.contains(value);
}

// Words separated by commas, each through `find`, which has the error.
template <class T>
Result<std::set<T>> parse_words(std::string_view text, const std::function<Result<T>(std::string_view)>& find) {
  std::set<T> found;
  for (std::string_view word : split(text, ',')) {
    ASSIGN_OR_RETURN(T value, find(trim(word)));
    found.insert(value);
  }
  return found;
}

Result<int32_t> call_number(std::string_view word) {
  if (const Syscall* call = find_syscall(word)) return int32_t{call->number};
  std::vector<std::string> known;
  for (const Syscall& call : syscalls()) known.emplace_back(call.name);
  return unknown_word("system call", word, known, "names as in man 2 syscalls, for example pwrite64,fsync");
}

Result<FdClass> fd_class(std::string_view word) {
  std::vector<std::string> known;
  for (int i = 0; i < kFdClasses; ++i) {
    known.emplace_back(name_of(static_cast<FdClass>(i)));
    if (known.back() == word) return static_cast<FdClass>(i);
  }
  return unknown_word("class", word, known, cat("classes are ", join(known, ", ")));
}

Result<CallKind> call_kind(std::string_view word) {
  std::vector<std::string> known;
  for (int i = 0; i < kCallKinds; ++i) {
    known.emplace_back(kKindNames[i]);
    if (known.back() == word) return static_cast<CallKind>(i);
  }
  return unknown_word("kind of record", word, known, cat("kinds are ", join(known, ", ")));
}

Result<int> one_errno(std::string_view word) {
  if (word == "any") return kAnyError;
  auto number = parse_int(word);
  if (number && *number > 0 && *number <= kMostErrno) return static_cast<int>(*number);
  if (int found = errno_number(word); found > 0) return found;
  return usage_error(cat("there is no errno \"", printable(word), "\""), "write ENOSPC, 28 or any");
}

}  // namespace

bool CallFilter::keeps(const Call& call, const FdRecord* target) const {
  if (!admits(processes, call.process) || !admits(threads, call.thread) || !admits(kinds, call.kind)) return false;
  if (!calls.empty() && (call.kind != CallKind::call || !calls.contains(call.number))) return false;
  if (!classes.empty() && !classes.contains(target ? target->fd_class : FdClass::other)) return false;
  if (!errors.empty()) {
    const int error = call.errno_value();
    const bool any = errors.contains(kAnyError) && error < kFirstRestart;
    if (!call.failed() || !(any || errors.contains(error))) return false;
  }
  // What had not returned when the capture ended is what somebody who looks for long calls wants to see.
  if (longer_ns > 0 && call.finished() && call.duration_ns < longer_ns) return false;
  if (longer_ns > 0 && (call.kind == CallKind::signal || call.kind == CallKind::exit)) return false;
  if (since_ns && call.finished() && call.end_ns() < *since_ns) return false;
  if (until_ns && call.start_ns >= *until_ns) return false;
  return path.empty() || (target != nullptr && target_name(*target).find(path) != std::string::npos);
}

bool CallFilter::keeps(const CallSum& sum) const {
  if (!admits(classes, sum.fd_class) || !admits(calls, sum.number)) return false;
  if (since_ns && sum.second < *since_ns / kNsPerSecond) return false;
  return !until_ns || sum.second <= (*until_ns - 1) / kNsPerSecond;  // the second that the last moment before it is in
}

bool CallFilter::needs_records() const {
  return !processes.empty() || !threads.empty() || !kinds.empty() || !path.empty() || !errors.empty() || longer_ns > 0;
}

bool CallFilter::only_moments() const {
  return !kinds.empty() && std::all_of(kinds.begin(), kinds.end(), [](CallKind kind) {
    return kind == CallKind::signal || kind == CallKind::exit;
  });
}

Result<std::set<int32_t>> parse_call_names(std::string_view text) {
  return parse_words<int32_t>(text, call_number);
}

Result<std::set<FdClass>> parse_classes(std::string_view text) {
  return parse_words<FdClass>(text, fd_class);
}

Result<std::set<CallKind>> parse_kinds(std::string_view text) {
  return parse_words<CallKind>(text, call_kind);
}

Result<std::set<int>> parse_errnos(std::string_view text) {
  return parse_words<int>(text, one_errno);
}

Result<int64_t> parse_moment(std::string_view text, int64_t start_ns) {
  if (!text.starts_with('+')) return parse_time(text);
  ASSIGN_OR_RETURN(int64_t offset, parse_duration(text.substr(1)));
  // A log may claim to have begun at any time.
  return std::clamp<int64_t>(start_ns, 0, kLatestBegin) + std::min(offset, kLongestOffset);
}

}  // namespace culprit
