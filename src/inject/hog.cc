#include "inject/hog.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "base/clock.h"
#include "base/process.h"
#include "base/text.h"
#include "base/units.h"

namespace culprit {

namespace {

constexpr std::string_view kNote = "hogs";
constexpr int64_t kKillLimit = 5 * kNsPerSecond;
constexpr int64_t kLongestRest = 10 * kNsPerSecond;  // a share of nearly nothing still shows up
constexpr int64_t kPaceSlack = 50 * kNsPerMs;        // how much of a pause may be made up for

void sleep_ns(int64_t ns) {
  timespec time{ns / kNsPerSecond, ns % kNsPerSecond};
  ::nanosleep(&time, nullptr);
}

void close_all_but(int keep) {
  int null = ::open("/dev/null", O_RDWR);
  for (int stream : {0, 1, 2}) ::dup2(null, stream);
  if (keep >= 3) {
    ::syscall(SYS_close_range, 3U, static_cast<unsigned>(keep) - 1U, 0U);
    ::syscall(SYS_close_range, static_cast<unsigned>(keep) + 1U, ~0U, 0U);
  } else {
    ::syscall(SYS_close_range, 3U, ~0U, 0U);
  }
}

void default_signals() {
  for (int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGALRM, SIGCHLD}) ::signal(number, SIG_DFL);
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void become_hog(const FaultPart& part, const std::function<void()>& body, int keep, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it died before the line above
  default_signals();
  ::alarm(static_cast<unsigned>((part.duration_ns + part.lease_ns) / kNsPerSecond + 1));
  ::prctl(PR_SET_NAME, "culprit-hog");
  close_all_but(keep);
  body();
  ::_exit(0);
}

std::vector<ProcessId> hogs_of(const FaultWork& work) {
  std::vector<ProcessId> hogs;
  auto note = work.notes.find(kNote);
  if (note == work.notes.end()) return hogs;
  for (std::string_view word : split(note->second, ',')) {
    if (auto hog = parse_process(word)) hogs.push_back(*hog);
  }
  return hogs;
}

}  // namespace

Status start_hog(FaultWork& work, const std::function<void()>& body, int keep) {
  pid_t parent = ::getpid();
  pid_t pid = ::fork();
  if (pid < 0) return system_error("cannot start a hog", errno);
  if (pid == 0) become_hog(work.part, body, keep, parent);
  ASSIGN_OR_RETURN(ProcessId hog, identify_process(pid));
  std::string& note = work.notes[std::string(kNote)];
  note += cat(note.empty() ? "" : ",", format_process(hog));
  return Ok{};
}

Status kill_hogs(const FaultWork& work) {
  std::vector<ProcessId> hogs = hogs_of(work);
  for (const ProcessId& hog : hogs) signal_process(hog, SIGKILL);
  for (const ProcessId& hog : hogs) {
    if (!wait_gone(hog, kKillLimit))
      return system_error(cat("process ", hog.pid, " does not die"), 0, "it waits for a device that does not answer");
    ::waitpid(hog.pid, nullptr, WNOHANG);  // when it is our child, which it is unless the guard is a later one
  }
  return Ok{};
}

Result<bool> hogs_alive(const FaultWork& work) {
  for (const ProcessId& hog : hogs_of(work)) {
    if (is_alive(hog, work.proc)) return true;
  }
  return false;
}

void rest_after(int64_t busy_ns, double share) {
  if (share >= 1) return;
  double rest = static_cast<double>(busy_ns) * (1 - share) / share;
  sleep_ns(std::min(static_cast<int64_t>(rest), kLongestRest));
}

void Pace::used(int64_t bytes) {
  if (rate_ <= 0) return;
  int64_t now = monotonic_now_ns();
  free_ns_ = std::max(free_ns_, now - kPaceSlack) + bytes * kNsPerSecond / rate_;
  if (free_ns_ > now) sleep_ns(free_ns_ - now);
}

}  // namespace culprit
