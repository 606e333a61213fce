// How results reach stdout and everything else stderr. Written with write(2) instead of stdio: a full disk and a
// reader that went away are told apart, and nothing is lost in a buffer that nobody checks.
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"
#include "base/text.h"
#include "cli/command.h"

namespace culprit {
namespace {

constexpr size_t kBufferBytes = 1 << 16;  // one write per 64 KiB of an export

struct Stdout {
  std::string buffer;
  bool terminal = isatty(STDOUT_FILENO) == 1;
  bool reader_gone = false;
  int failed_errno = 0;
};

Stdout& out() {
  static Stdout instance;
  return instance;
}

}  // namespace

Status flush_output() {
  Stdout& o = out();
  std::string text;
  text.swap(o.buffer);
  if (!text.empty() && !o.reader_gone && o.failed_errno == 0) {
    Status written = write_all(STDOUT_FILENO, text, "the standard output");
    if (!written && written.error().errno_value == EPIPE) {
      o.reader_gone = true;
    } else if (!written) {
      o.failed_errno = written.error().errno_value == 0 ? EIO : written.error().errno_value;
    }
  }
  if (o.failed_errno != 0) return system_error("cannot write the result to the standard output", o.failed_errno);
  return Ok{};
}

void print(std::string_view text) {
  Stdout& o = out();
  o.buffer += text;
  // A failure is remembered and reported once, when main flushes for the last time.
  if (o.terminal || o.buffer.size() >= kBufferBytes) static_cast<void>(flush_output());
}

void say(std::string_view text) {
  static_cast<void>(flush_output());  // keeps the order of what a person sees
  static_cast<void>(write_all(STDERR_FILENO, cat(text, "\n"), "the standard error"));
}

namespace {

// Where the code had nothing better to say.
std::string_view usual_hint(const Error& error) {
  switch (error.errno_value) {
    case ENOENT:
      return "is the path right?";
    case EACCES:
    case EPERM:
    case EROFS:
      return "run as root or as the owner, or choose another place";
    case ENOSPC:
    case EDQUOT:
      return "make room, or choose another place";
    default:
      return error.kind == ErrorKind::usage ? "culprit help COMMAND shows what there is" : "";
  }
}

}  // namespace

void print_error(const Error& error) {
  const std::string_view hint = error.hint.empty() ? usual_hint(error) : std::string_view(error.hint);
  say(cat("culprit: ", error.message(), hint.empty() ? "" : "\nhint: ", hint));
}

}  // namespace culprit
