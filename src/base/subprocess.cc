// fork and exec instead of posix_spawn, because a child must ask for its parent's death signal itself.
// A pipe that closes on exec carries back the errno of an exec that failed.
#include "base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"

namespace culprit {

namespace {

constexpr size_t kMaxOutput = size_t{64} << 20;   // of a command that is run to its end: more is a mistake
constexpr int64_t kStopGrace = 2 * kNsPerSecond;  // for a child whose object dies

struct Pipe {
  Fd read;
  Fd write;
};

// Above the three standard streams, so that dup2 onto those never hits a pipe's own end (when we were started without).
Status move_up(Fd& fd) {
  if (fd.get() > 2) return Ok{};
  Fd moved(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3));
  if (!moved.valid()) return system_error("cannot duplicate a descriptor", errno);
  fd = std::move(moved);
  return Ok{};
}

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe", errno);
  Pipe made{Fd(ends[0]), Fd(ends[1])};
  RETURN_IF_ERROR(move_up(made.read));
  RETURN_IF_ERROR(move_up(made.write));
  return made;
}

void set_nonblocking(const Fd& fd) {
  ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

void default_signals() {
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGCHLD}) ::sigaction(number, &standard, nullptr);
}

// In the child, between fork and exec: only calls that are safe there.
[[noreturn]] void become(char* const* argv, int in, int out, int err, int report, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);  // the parent died before the line above
  default_signals();
  ::dup2(in, 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  ::syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);  // what a library opened without the flag
  ::execvp(argv[0], argv);
  int error = errno;
  while (::write(report, &error, sizeof error) < 0 && errno == EINTR) {
  }
  ::_exit(127);
}

struct Spawned {
  pid_t pid;
  Fd in, out, err;
};

Result<Spawned> spawn(const std::vector<std::string>& argv) {
  if (argv.empty()) return usage_error("no command to run");
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ASSIGN_OR_RETURN(Pipe in, make_pipe());
  ASSIGN_OR_RETURN(Pipe out, make_pipe());
  ASSIGN_OR_RETURN(Pipe err, make_pipe());
  ASSIGN_OR_RETURN(Pipe report, make_pipe());
  pid_t parent = ::getpid();
  pid_t pid = ::fork();
  if (pid < 0) return system_error(cat("cannot start ", argv[0]), errno);
  if (pid == 0) become(words.data(), in.read.get(), out.write.get(), err.write.get(), report.write.get(), parent);
  ::setpgid(pid, pid);  // also here: whoever comes first, the group exists before we use it
  report.write.reset();
  int error = 0;
  ssize_t n = 0;
  while ((n = ::read(report.read.get(), &error, sizeof error)) < 0 && errno == EINTR) {
  }
  if (n == static_cast<ssize_t>(sizeof error)) {
    ::waitpid(pid, nullptr, 0);
    return system_error(cat("cannot run ", argv[0]), error, error == ENOENT ? cat("is ", argv[0], " installed?") : "");
  }
  for (const Fd* fd : {&in.write, &out.read, &err.read}) set_nonblocking(*fd);
  return Spawned{pid, std::move(in.write), std::move(out.read), std::move(err.read)};
}

int decode(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Whether the child has ended; it stays a zombie, so that its number (and its group's) cannot be given to another.
bool has_ended(pid_t pid) {
  siginfo_t info{};
  int rc = ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
  return rc != 0 || info.si_pid == pid;
}

int reap(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return decode(status);
}

int kill_group(pid_t pid) {
  ::kill(-pid, SIGKILL);
  return reap(pid);
}

// One turn of run_command: waits for the streams or the end, moves what can be moved. False once the command has ended.
class Conversation {
 public:
  Conversation(Spawned child, std::string_view input) : child_(std::move(child)), input_(input) {
    exit_watch_.reset(static_cast<int>(::syscall(SYS_pidfd_open, child_.pid, 0)));
    if (input_.empty()) child_.in.reset();
  }

  bool turn(int64_t left_ns) {
    pollfd fds[4] = {{child_.in.get(), POLLOUT, 0},
                     {child_.out.get(), POLLIN, 0},
                     {child_.err.get(), POLLIN, 0},
                     {exit_watch_.get(), POLLIN, 0}};
    int64_t wait_ms = std::clamp<int64_t>(left_ns / kNsPerMs + 1, 1,
                                          exit_watch_.valid() ? 60'000 : 20);  // 20 ms: a kernel before 5.3
    ::poll(fds, 4, static_cast<int>(wait_ms));
    bool ended = has_ended(child_.pid);
    if (fds[0].revents) feed();
    if (child_.out.valid() && read_available(child_.out.get(), output.out, kMaxOutput) == ReadState::ended)
      child_.out.reset();
    if (child_.err.valid() && read_available(child_.err.get(), output.err, kMaxOutput) == ReadState::ended)
      child_.err.reset();
    return !ended;
  }

  bool too_much() const { return output.out.size() >= kMaxOutput || output.err.size() >= kMaxOutput; }
  pid_t pid() const { return child_.pid; }
  Output output;

 private:
  void feed() {
    auto n = write_some(child_.in.get(), input_);
    if (n) input_.remove_prefix(*n);
    if (!n || input_.empty()) child_.in.reset();  // a command that does not want its input may still succeed
  }

  Spawned child_;
  Fd exit_watch_;
  std::string_view input_;
};

}  // namespace

Result<size_t> write_some(int fd, std::string_view bytes) {
  sigset_t pipe_signal, before;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  ssize_t n = 0;
  while ((n = ::write(fd, bytes.data(), bytes.size())) < 0 && errno == EINTR) {
  }
  int error = n < 0 ? errno : 0;
  timespec now{};
  if (error == EPIPE && !sigismember(&before, SIGPIPE)) ::sigtimedwait(&pipe_signal, nullptr, &now);  // take ours away
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error == EAGAIN) return size_t{0};
  if (error) return system_error("cannot write to a child process", error);
  return static_cast<size_t>(n);
}

ReadState read_available(int fd, std::string& out, size_t limit) {
  char block[65536];
  while (out.size() < limit) {
    ssize_t n = ::read(fd, block, std::min(sizeof block, limit - out.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN ? ReadState::open : ReadState::ended;
    if (n == 0) return ReadState::ended;
    out.append(block, static_cast<size_t>(n));
  }
  return ReadState::open;
}

Result<Output> run_command(const std::vector<std::string>& argv, int64_t timeout_ns, std::string_view input) {
  ASSIGN_OR_RETURN(Spawned child, spawn(argv));
  Conversation talk(std::move(child), input);
  int64_t deadline = monotonic_now_ns() + timeout_ns;
  while (talk.turn(deadline - monotonic_now_ns())) {
    if (talk.too_much()) {
      kill_group(talk.pid());
      return input_error(cat(argv[0], " printed more than ", format_bytes(kMaxOutput)));
    }
    if (monotonic_now_ns() < deadline) continue;
    kill_group(talk.pid());
    return system_error(cat(argv[0], " took longer than ", format_duration(timeout_ns)), ETIMEDOUT);
  }
  talk.output.exit_code = reap(talk.pid());
  return std::move(talk.output);
}

Result<Child> Child::start(const std::vector<std::string>& argv) {
  ASSIGN_OR_RETURN(Spawned spawned, spawn(argv));
  Child child;
  child.pid_ = spawned.pid;
  child.in = std::move(spawned.in);
  child.out = std::move(spawned.out);
  child.err = std::move(spawned.err);
  return child;
}

Child::Child(Child&& other) noexcept
    : in(std::move(other.in)),
      out(std::move(other.out)),
      err(std::move(other.err)),
      pid_(std::exchange(other.pid_, -1)),
      exit_code_(other.exit_code_) {}

Child& Child::operator=(Child&& other) noexcept {
  if (this == &other) return *this;
  stop(kStopGrace);
  in = std::move(other.in);
  out = std::move(other.out);
  err = std::move(other.err);
  pid_ = std::exchange(other.pid_, -1);
  exit_code_ = other.exit_code_;
  return *this;
}

Child::~Child() {
  stop(kStopGrace);
}

bool Child::running() {
  if (pid_ < 0) return false;
  if (!has_ended(pid_)) return true;
  exit_code_ = reap(pid_);
  pid_ = -1;
  return false;
}

void Child::stop(int64_t grace_ns) {
  in.reset();
  if (pid_ < 0) return;
  if (grace_ns > 0) ::kill(-pid_, SIGTERM);
  int64_t deadline = monotonic_now_ns() + grace_ns;
  while (!has_ended(pid_) && monotonic_now_ns() < deadline) {
    timespec pause{0, 2'000'000};
    ::nanosleep(&pause, nullptr);
  }
  exit_code_ = kill_group(pid_);  // its own exit code if it has ended; the rest of its group goes with it
  pid_ = -1;
}

}  // namespace culprit
