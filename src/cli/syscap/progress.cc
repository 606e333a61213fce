#include "cli/syscap/progress.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/command.h"

namespace culprit {

namespace {

constexpr int64_t kPlainPeriod = 10 * kNsPerSecond;

void put(std::string_view text) {
  static_cast<void>(write_all(STDERR_FILENO, text, "the standard error"));
}

}  // namespace

CaptureProgress::CaptureProgress(bool quiet, int64_t for_ns)
    : quiet_(quiet),
      terminal_(::isatty(STDERR_FILENO) == 1),
      for_ns_(for_ns),
      start_ns_(monotonic_now_ns()),
      next_ns_(start_ns_ + (terminal_ ? 0 : kPlainPeriod)) {}

void CaptureProgress::show(int64_t calls, int64_t lost) {
  int64_t now = monotonic_now_ns();
  if (quiet_ || now < next_ns_) return;
  int64_t seconds = (now - start_ns_) / kNsPerSecond;
  std::string text = cat("capturing: ", seconds, " s", for_ns_ > 0 ? cat(" of ", format_duration(for_ns_)) : "", ", ",
                         calls, " calls, ", lost, " lost");
  if (!terminal_) {
    say(text);
    next_ns_ = now + kPlainPeriod;
    return;
  }
  put(cat("\r", text, "\033[K"));
  drawn_ = true;
}

void CaptureProgress::line(std::string_view text) {
  clear();
  say(text);
}

void CaptureProgress::clear() {
  if (drawn_) put("\r\033[K");
  drawn_ = false;
}

}  // namespace culprit
