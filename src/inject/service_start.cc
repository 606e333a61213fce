// Two forks, so that the daemon is nobody's child and its end is reaped by process 1 of the node. Everything that needs
// memory is made before the first of them. A pipe that closes on exec carries back the errno of what failed.
#include "inject/service_start.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/fd.h"
#include "base/text.h"

namespace culprit {

namespace {

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

// Its limits as they were; without the right to raise the hard one, the soft one as far as it goes.
void set_limits(const Service& service) {
  for (const auto& [resource, limit] : service.limits) {
    auto which = static_cast<__rlimit_resource>(resource);
    rlimit now{};
    if (::setrlimit(which, &limit) == 0 || ::getrlimit(which, &now) != 0) continue;
    now.rlim_cur = std::min(limit.rlim_cur, now.rlim_max);
    ::setrlimit(which, &now);
  }
}

bool take_identity(const Identity& identity) {
  if (::geteuid() != 0) return identity.uid == ::geteuid();  // we cannot be anybody else
  return ::setgroups(identity.groups.size(), identity.groups.data()) == 0 &&
         ::setresgid(identity.gid, identity.gid, identity.gid) == 0 &&
         ::setresuid(identity.uid, identity.uid, identity.uid) == 0;
}

void default_signals() {
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int number = 1; number < 32; ++number) ::sigaction(number, &standard, nullptr);
}

bool null_streams() {
  int null = ::open("/dev/null", O_RDWR);
  if (null < 0) return false;
  for (int stream : {0, 1, 2})
    if (null != stream && ::dup2(null, stream) < 0) return false;
  ::syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
  return true;
}

// In the grandchild. Returns only when something failed, with its errno.
int become(const Service& service, char* const* argv, char* const* environment) {
  default_signals();
  ::umask(service.umask);
  if (::chdir(service.cwd.c_str()) != 0) return errno;
  set_limits(service);
  if (!null_streams() || !take_identity(service.identity)) return errno ? errno : EPERM;
  ::execve(service.exe.c_str(), argv, environment);
  return errno;
}

[[noreturn]] void fork_again(const Service& service, char* const* argv, char* const* environment, int report) {
  ::setsid();
  pid_t pid = ::fork();
  if (pid > 0) ::_exit(0);
  int error = pid < 0 ? errno : become(service, argv, environment);
  while (::write(report, &error, sizeof error) < 0 && errno == EINTR) {
  }
  ::_exit(127);
}

}  // namespace

Status start_service(const Service& service) {
  std::vector<char*> argv = pointers(service.daemon.argv);
  std::vector<char*> environment = pointers(service.environment);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe", errno);
  Fd read_end(ends[0]), low_end(ends[1]);
  Fd write_end(::fcntl(low_end.get(), F_DUPFD_CLOEXEC, 3));  // above the streams, which the daemon gets new
  low_end.reset();
  if (!write_end.valid()) return system_error("cannot duplicate a descriptor", errno);
  pid_t pid = ::fork();
  if (pid < 0) return system_error(cat("cannot start ", service.exe), errno);
  if (pid == 0) fork_again(service, argv.data(), environment.data(), write_end.get());
  write_end.reset();
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  int error = 0;
  ssize_t n = 0;
  while ((n = ::read(read_end.get(), &error, sizeof error)) < 0 && errno == EINTR) {
  }
  if (n == static_cast<ssize_t>(sizeof error)) return system_error(cat("cannot start ", service.exe, " again"), error);
  return Ok{};
}

}  // namespace culprit
