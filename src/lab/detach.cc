#include "lab/detach.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"

namespace culprit {

namespace {

struct Report {
  pid_t pid = 0;
  int error = 0;
};

void default_signals() {
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGCHLD}) ::signal(number, SIG_DFL);
}

// The process itself, after two forks.
[[noreturn]] void become(char* const* argv, int out, int err) {
  ::setsid();
  default_signals();
  int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(null, 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  ::syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
  ::execv(argv[0], argv);
  ::_exit(127);
}

// Between the forks: a process that enters new namespaces, starts the first one in them, says its number and ends.
[[noreturn]] void launch(char* const* argv, int flags, int report, int out, int err) {
  Report result;
  if (::unshare(flags) != 0) {
    result.error = errno;
  } else {
    result.pid = ::fork();
    if (result.pid == 0) become(argv, out, err);
    if (result.pid < 0) result.error = errno;
  }
  ssize_t written = ::write(report, &result, sizeof result);
  ::_exit(written == sizeof result ? 0 : 1);
}

std::string last_words(const std::string& log) {
  auto text = read_file(log);
  if (!text) return "";
  std::string_view tail = trim(*text);
  if (tail.size() > 300) tail.remove_prefix(tail.size() - 300);
  return tail.empty() ? "" : cat(": ", printable(tail, 300));
}

Status wait_ready(int out, const std::string& name, const std::string& log, int64_t timeout_ns) {
  std::string text;
  int64_t end = monotonic_now_ns() + timeout_ns;
  while (text.find("ready\n") == std::string::npos) {
    int64_t left = end - monotonic_now_ns();
    pollfd poll{out, POLLIN, 0};
    if (left <= 0 || ::poll(&poll, 1, static_cast<int>(left / kNsPerMs) + 1) == 0)
      return system_error(cat(name, " was not ready after ", format_duration(timeout_ns), last_words(log)), 0);
    char block[256];
    ssize_t n = ::read(out, block, sizeof block);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return system_error(cat(name, " ended at once", last_words(log)), 0);
    text.append(block, static_cast<size_t>(n));
  }
  return Ok{};
}

}  // namespace

Result<ProcessId> start_detached(const std::vector<std::string>& argv, int unshare_flags, const std::string& log,
                                 int64_t timeout_ns) {
  int report[2];
  int out[2];
  if (::pipe2(report, O_CLOEXEC) != 0) return system_error("cannot make a pipe", errno);
  Fd report_read(report[0]), report_write(report[1]);
  if (::pipe2(out, O_CLOEXEC) != 0) return system_error("cannot make a pipe", errno);
  Fd out_read(out[0]), out_write(out[1]);
  Fd err(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!err.valid()) return system_error(cat("cannot write ", log), errno);
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);

  pid_t middle = ::fork();
  if (middle < 0) return system_error("cannot start a process", errno);
  if (middle == 0) launch(words.data(), unshare_flags, report_write.get(), out_write.get(), err.get());
  report_write.reset();
  out_write.reset();
  Report result;
  ssize_t n = ::read(report_read.get(), &result, sizeof result);
  ::waitpid(middle, nullptr, 0);
  if (n != sizeof result) return system_error(cat("cannot start ", argv[0]), 0);
  if (result.error != 0)
    return system_error("cannot make namespaces", result.error, ::geteuid() == 0 ? "" : "run as root");
  ASSIGN_OR_RETURN(ProcessId process, identify_process(result.pid));
  if (Status ready = wait_ready(out_read.get(), argv[0], log, timeout_ns); !ready) {
    signal_process(process, SIGKILL);
    return std::move(ready).error();
  }
  return process;
}

}  // namespace culprit
