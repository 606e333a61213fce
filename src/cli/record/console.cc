#include "cli/record/console.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/command.h"

namespace culprit {

namespace {

constexpr int64_t kTerminalPeriod = 500 * kNsPerMs;
constexpr int64_t kPlainPeriod = 10 * kNsPerSecond;
constexpr size_t kMaxNames = 5;  // of silent nodes; then only their number

void put(std::string_view text) {
  static_cast<void>(write_all(STDERR_FILENO, text, "the standard error"));
}

std::string elapsed_text(int64_t ns) {
  return ns < kNsPerSecond ? "0s" : format_duration(ns / kNsPerSecond * kNsPerSecond);
}

std::string plural(int64_t count, std::string_view noun) {
  return cat(count, " ", noun, count == 1 ? "" : "s");
}

}  // namespace

std::string progress_text(const Progress& progress) {
  std::string text = cat("recording: ", elapsed_text(progress.elapsed_ns));
  if (progress.for_ns > 0) text += cat(" of ", format_duration(progress.for_ns));
  text += cat(", ", plural(static_cast<int64_t>(progress.nodes), "node"), ", ", plural(progress.samples, "sample"),
              ", ", format_bytes(progress.size_bytes));
  if (progress.silent.empty()) return text;
  std::vector<std::string> names(
      progress.silent.begin(),
      progress.silent.begin() + static_cast<long>(std::min(progress.silent.size(), kMaxNames)));
  text += cat(", silent: ", join(names, " "));
  if (progress.silent.size() > kMaxNames) text += cat(" and ", progress.silent.size() - kMaxNames, " more");
  return text;
}

Console::Console(bool quiet) : quiet_(quiet), terminal_(::isatty(STDERR_FILENO) == 1) {
  if (quiet_) next_ns_ = std::numeric_limits<int64_t>::max();
}

void Console::clear() {
  if (drawn_) put("\r\033[K");
  drawn_ = false;
}

void Console::line(std::string_view text) {
  clear();
  say(text);
}

void Console::progress(const Progress& progress, int64_t mono_ns) {
  if (quiet_ || mono_ns < next_ns_) return;
  bool first = next_ns_ == 0;
  next_ns_ = mono_ns + (terminal_ ? kTerminalPeriod : kPlainPeriod);
  if (!terminal_) {
    if (!first) say(progress_text(progress));
    return;
  }
  put(cat("\r", progress_text(progress), "\033[K"));
  drawn_ = true;
}

}  // namespace culprit
