// The backend on real processes. What every kind of call looks like is for the programs of tests/trace; here are the
// beginnings and ends, where a tracer does harm.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <set>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "capture/backend.h"
#include "capture/call_sets.h"
#include "capture/processes.h"
#include "capture/ptrace/task_status.h"

namespace culprit {
namespace {

using testing::Contains;
using testing::HasSubstr;

// Before any capture has raised it.
const rlimit started_with = [] {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit;
}();

struct Seen : CaptureSink {
  void on_call(size_t, const Call& call) override { calls.push_back(call); }
  void on_fd(size_t, FdRecord record) override { fds.push_back(std::move(record)); }
  void on_sum(size_t, const CallSum& sum) override { sums.push_back(sum); }

  std::vector<Call> of(CallKind kind, int number) const {
    std::vector<Call> found;
    for (const Call& call : calls)
      if (call.kind == kind && call.number == number) found.push_back(call);
    return found;
  }

  std::vector<Call> calls;
  std::vector<FdRecord> fds;
  std::vector<CallSum> sums;
};

CaptureOptions a_node(const char* set = "all") {
  CaptureOptions options;
  options.nodes.resize(1);
  options.nodes[0].name = "here";
  auto calls = parse_call_set(set);
  EXPECT_TRUE(calls);
  options.calls = *calls;
  return options;
}

CaptureOptions command(std::vector<std::string> argv, const char* set = "all") {
  CaptureOptions options = a_node(set);
  options.command = std::move(argv);
  return options;
}

std::unique_ptr<Backend> make() {
  auto info = find_backend("ptrace");
  EXPECT_TRUE(info);
  return (*info)->make();
}

// Turns until `done` says so, the capture ends or the time is over.
template <typename Done>
void turn_until(Backend& backend, Seen& seen, Done done, int64_t ns = 30 * kNsPerSecond) {
  int64_t end = monotonic_now_ns() + ns;
  while (!done() && monotonic_now_ns() < end) {
    auto goes_on = backend.turn(seen, 10 * kNsPerMs);
    ASSERT_TRUE(goes_on);
    if (!*goes_on) return;
  }
}

void turn_for(Backend& backend, Seen& seen, int64_t ns) {
  turn_until(
      backend, seen, [] { return false; }, ns);
}

CaptureReport run_to_end(const CaptureOptions& options, Seen& seen) {
  std::unique_ptr<Backend> backend = make();
  Status started = backend->start(options);
  EXPECT_TRUE(started) << started.error().message();
  turn_for(*backend, seen, 30 * kNsPerSecond);
  EXPECT_EQ(backend->processes_alive(), 0u);
  auto report = backend->stop(seen);
  EXPECT_TRUE(report);
  return report ? *report : CaptureReport{};
}

// A child that reads /dev/zero, and tries to connect where nobody listens, about once a millisecond.
class Busy {
 public:
  Busy() {
    pid_ = fork();
    if (pid_ == 0) work();
    auto process = identify_process(pid_);
    EXPECT_TRUE(process);
    process_ = *process;
  }
  ~Busy() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  const ProcessId& process() const { return process_; }

 private:
  [[noreturn]] static void work() {
    int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    sockaddr_in nobody{};
    nobody.sin_family = AF_INET;
    nobody.sin_port = htons(1);
    nobody.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    while (true) {
      char bytes[16];
      if (pread(zero, bytes, sizeof bytes, 5'000'000'000) < 0) _exit(1);
      int socket_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      static_cast<void>(connect(socket_fd, reinterpret_cast<sockaddr*>(&nobody), sizeof nobody));
      close(socket_fd);
      usleep(1000);
    }
  }

  pid_t pid_ = -1;
  ProcessId process_;
};

bool comes_to(const ProcessId& process, char state) {
  for (int look = 0; look < 2000 && process_state(process) != state; ++look) usleep(1000);
  return process_state(process) == state;
}

bool is_traced(pid_t pid) {
  auto status = task_status(pid);
  return status && status->tracer != 0;
}

// A command `sleep` has begun to.
bool sleeps(const Seen& seen) {
  if (seen.calls.empty()) return false;
  pid_t pid = seen.calls.front().process;
  auto status = task_status(pid);
  auto call = read_file(cat("/proc/", pid, "/syscall"));
  return status && status->state == 'S' && call && call->starts_with(cat(SYS_clock_nanosleep, " "));
}

void expect_order(const Seen& seen) {
  std::set<uint64_t> sequences;
  std::map<pid_t, int64_t> last_end;
  for (const Call& call : seen.calls) {
    EXPECT_TRUE(sequences.insert(call.sequence).second) << call.sequence;
    if (!call.finished()) continue;
    EXPECT_GE(call.end_ns(), last_end[call.thread]);
    last_end[call.thread] = call.end_ns();
  }
}

TEST(PtraceTest, ACommandFromItsExecToItsEnd) {
  Seen seen;
  CaptureReport report = run_to_end(command({"test", "-e", "/culprit-no-such-file"}), seen);
  ASSERT_FALSE(seen.calls.empty());
  EXPECT_EQ(seen.calls.front().number, SYS_execve);
  EXPECT_EQ(seen.calls.front().result, 0);
  expect_order(seen);
  auto path = std::find_if(seen.fds.begin(), seen.fds.end(),
                           [](const FdRecord& record) { return record.name == "/culprit-no-such-file"; });
  ASSERT_NE(path, seen.fds.end());
  EXPECT_EQ(path->kind, FdKind::path);
  auto failed = std::find_if(seen.calls.begin(), seen.calls.end(),
                             [&](const Call& call) { return call.sequence == path->sequence; });
  ASSERT_NE(failed, seen.calls.end());
  EXPECT_EQ(failed->errno_value(), ENOENT);
  EXPECT_FALSE(seen.of(CallKind::call, SYS_exit_group).at(0).finished());
  ASSERT_EQ(seen.of(CallKind::exit, 1).size(), 1u);
  EXPECT_EQ(seen.of(CallKind::exit, 1)[0].result, 256);
  ASSERT_TRUE(WIFEXITED(report.command_status));
  EXPECT_EQ(WEXITSTATUS(report.command_status), 1);
}

TEST(PtraceTest, WithAFilterOnlyTheWantedCallsAreRecorded) {
  Seen seen;
  CaptureOptions options = command({"cat", "/dev/null"}, "openat,read");
  CaptureReport report = run_to_end(options, seen);
  EXPECT_EQ(report.command_status, 0);
  for (const Call& call : seen.calls) {
    bool wanted = call.kind != CallKind::call || options.calls.test(static_cast<size_t>(call.number));
    EXPECT_TRUE(wanted) << call.number;
  }
  std::vector<Call> reads = seen.of(CallKind::call, SYS_read);
  ASSERT_FALSE(reads.empty());
  EXPECT_EQ(reads.back().result, 0);  // /dev/null is empty
  auto fd = static_cast<int32_t>(reads.back().args[0]);
  auto record = std::find_if(seen.fds.rbegin(), seen.fds.rend(), [&](const FdRecord& one) { return one.fd == fd; });
  ASSERT_NE(record, seen.fds.rend());
  EXPECT_EQ(record->name, "/dev/null");
  EXPECT_LE(record->t_ns, reads.back().start_ns);
}

TEST(PtraceTest, ChildrenAreFollowedAndEachEndsOnce) {
  for (const char* set : {"all", "process"}) {
    Seen seen;
    CaptureReport report = run_to_end(command({"sh", "-c", "test a = a; cat </dev/null | cat; exit 3"}, set), seen);
    EXPECT_EQ(WEXITSTATUS(report.command_status), 3);
    std::set<int32_t> processes;
    for (const Call& call : seen.calls) processes.insert(call.process);
    EXPECT_EQ(processes.size(), 3u) << set;
    EXPECT_EQ(seen.of(CallKind::exit, 1).size(), 3u) << set;
    std::vector<Call> execs = seen.of(CallKind::call, SYS_execve);
    EXPECT_EQ(std::count_if(execs.begin(), execs.end(), [](const Call& call) { return call.result == 0; }), 3) << set;
    expect_order(seen);
  }
}

TEST(PtraceTest, SignalsArriveAndKill) {
  Seen seen;
  CaptureReport report = run_to_end(command({"sh", "-c", "kill -TERM $$; sleep 10"}), seen);
  std::vector<Call> signals = seen.of(CallKind::signal, SIGTERM);
  ASSERT_EQ(signals.size(), 1u);
  EXPECT_EQ(signals[0].args[1], static_cast<uint64_t>(signals[0].process));  // it sent it itself
  ASSERT_TRUE(WIFSIGNALED(report.command_status));
  EXPECT_EQ(WTERMSIG(report.command_status), SIGTERM);
  EXPECT_EQ(seen.of(CallKind::exit, 1).at(0).result, SIGTERM);
}

TEST(PtraceTest, AttachingAndLeavingDoesNoHarm) {
  Busy busy;
  CaptureOptions options = a_node();
  options.nodes[0].processes = {busy.process()};
  for (int turn = 0; turn < 5; ++turn) {
    Seen seen;
    std::unique_ptr<Backend> backend = make();
    ASSERT_TRUE(backend->start(options));
    EXPECT_TRUE(is_traced(busy.process().pid));
    EXPECT_EQ(backend->processes_alive(), 1u);
    turn_until(*backend, seen, [&] { return !seen.of(CallKind::call, SYS_pread64).empty(); });
    ASSERT_TRUE(backend->stop(seen));
    EXPECT_TRUE(is_alive(busy.process()));
    EXPECT_FALSE(is_traced(busy.process().pid));
    std::vector<Call> reads = seen.of(CallKind::call, SYS_pread64);
    ASSERT_FALSE(reads.empty());
    EXPECT_EQ(reads[0].args[3], 5'000'000'000u);
    EXPECT_EQ(reads[0].args[4], 0u);  // a register that pread64 does not use
    EXPECT_TRUE(std::any_of(seen.fds.begin(), seen.fds.end(), [](const FdRecord& record) {
      return record.name == "/dev/zero" && record.kind == FdKind::device;
    }));
    expect_order(seen);
  }
}

TEST(PtraceTest, WhoRefusedAConnectionIsKnown) {
  Busy busy;
  CaptureOptions options = a_node("network");
  options.nodes[0].processes = {busy.process()};
  Seen seen;
  std::unique_ptr<Backend> backend = make();
  ASSERT_TRUE(backend->start(options));
  turn_until(*backend, seen, [&] { return !seen.of(CallKind::call, SYS_connect).empty(); });
  ASSERT_TRUE(backend->stop(seen));
  std::vector<Call> refused = seen.of(CallKind::call, SYS_connect);
  ASSERT_FALSE(refused.empty());
  EXPECT_EQ(refused[0].errno_value(), ECONNREFUSED);
  auto record = std::find_if(seen.fds.begin(), seen.fds.end(),
                             [&](const FdRecord& one) { return one.t_ns == refused[0].start_ns; });
  ASSERT_NE(record, seen.fds.end());
  EXPECT_EQ(record->peer, "127.0.0.1:1");
  EXPECT_EQ(record->protocol, "TCP");
}

TEST(PtraceTest, AStoppedProcessStaysStopped) {
  Busy busy;
  ASSERT_TRUE(signal_process(busy.process(), SIGSTOP));
  ASSERT_TRUE(comes_to(busy.process(), 'T'));
  CaptureOptions options = a_node();
  options.nodes[0].processes = {busy.process()};
  Seen seen;
  std::unique_ptr<Backend> backend = make();
  ASSERT_TRUE(backend->start(options));
  turn_for(*backend, seen, 50 * kNsPerMs);
  EXPECT_TRUE(seen.of(CallKind::call, SYS_pread64).empty());
  ASSERT_TRUE(signal_process(busy.process(), SIGCONT));
  turn_until(*backend, seen, [&] { return !seen.of(CallKind::call, SYS_pread64).empty(); });
  EXPECT_FALSE(seen.of(CallKind::call, SYS_pread64).empty());
  ASSERT_TRUE(signal_process(busy.process(), SIGSTOP));
  turn_for(*backend, seen, 50 * kNsPerMs);
  ASSERT_TRUE(backend->stop(seen));
  EXPECT_TRUE(comes_to(busy.process(), 'T'));
  ASSERT_TRUE(signal_process(busy.process(), SIGCONT));
  EXPECT_TRUE(comes_to(busy.process(), 'S'));
}

TEST(PtraceTest, AFilteredCommandEndsWithItsTracerAndAnotherGoesOn) {
  for (const char* set : {"io", "all"}) {
    Seen seen;
    std::unique_ptr<Backend> backend = make();
    ASSERT_TRUE(backend->start(command({"sleep", "100"}, set)));
    turn_until(*backend, seen, [&] { return sleeps(seen); });
    auto report = backend->stop(seen);
    ASSERT_TRUE(report);
    ASSERT_FALSE(seen.calls.empty());
    pid_t pid = seen.calls.front().process;
    if (std::string_view(set) == "io") {
      EXPECT_TRUE(WIFSIGNALED(report->command_status));
      EXPECT_THAT(report->notes, Contains(HasSubstr("ended with the capture")));
      continue;
    }
    EXPECT_EQ(report->command_status, -1);
    EXPECT_FALSE(seen.calls.back().finished());  // the sleep
    EXPECT_EQ(kill(pid, SIGKILL), 0);
    EXPECT_EQ(waitpid(pid, nullptr, 0), pid);
  }
}

TEST(PtraceTest, ACommandOfWhichNothingCanBeKeptIsEnded) {
  Seen seen;
  std::unique_ptr<Backend> backend = make();
  ASSERT_TRUE(backend->start(command({"sleep", "100"})));
  turn_for(*backend, seen, 100 * kNsPerMs);
  backend->end_command();
  auto report = backend->stop(seen);
  ASSERT_TRUE(report);
  ASSERT_TRUE(WIFSIGNALED(report->command_status)) << report->command_status;
  EXPECT_EQ(WTERMSIG(report->command_status), SIGKILL);
}

TEST(PtraceTest, WhatCannotBeRunIsAnError) {
  for (const char* name : {"culprit-no-such-program", "/", "/etc/passwd", "/no/such/program"}) {
    Status started = make()->start(command({name}));
    ASSERT_FALSE(started) << name;
    EXPECT_THAT(started.error().what, HasSubstr(name));
  }
  std::string path = testing::TempDir() + "culprit-no-program";
  ASSERT_TRUE(write_file_atomically(path,
                                    "\x7f"
                                    "ELF of a kind that nobody knows"));
  ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  std::unique_ptr<Backend> backend = make();
  ASSERT_TRUE(backend->start(command({path})));
  Seen seen;
  Result<bool> goes_on = true;
  while (goes_on && *goes_on) goes_on = backend->turn(seen, 10 * kNsPerMs);
  ASSERT_FALSE(goes_on);
  EXPECT_EQ(goes_on.error().errno_value, ENOEXEC);
  unlink(path.c_str());
}

TEST(PtraceTest, ProcessesThatAreNotThereAndOurselves) {
  Busy busy;
  auto me = identify_process(getpid());
  ASSERT_TRUE(me);
  CaptureOptions options = a_node();
  options.nodes[0].processes = {{busy.process().pid, busy.process().start_ticks + 1}};
  Seen seen;
  CaptureReport report = run_to_end(options, seen);
  EXPECT_THAT(report.notes, Contains(HasSubstr("had ended before")));
  EXPECT_FALSE(is_traced(busy.process().pid));
  EXPECT_TRUE(seen.calls.empty());
  options.nodes[0].processes = {*me};  // our children are traced, we are not
  std::unique_ptr<Backend> backend = make();
  ASSERT_TRUE(backend->start(options));
  EXPECT_FALSE(is_traced(getpid()));
  EXPECT_TRUE(is_traced(busy.process().pid));
  auto last = backend->stop(seen);
  ASSERT_TRUE(last);
  EXPECT_THAT(last->notes, Contains(HasSubstr("itself")));
}

// A parent that sleeps, with a child that it traces itself.
TEST(PtraceTest, AChildThatSomebodyElseTracesIsANote) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  pid_t parent = fork();
  if (parent == 0) {
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      bool traced = ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0;
      if (write(ends[1], traced ? "y" : "n", 1) != 1) _exit(1);
    }
    while (true) pause();
  }
  char traced = 0;
  EXPECT_EQ(read(ends[0], &traced, 1), 1);
  EXPECT_EQ(traced, 'y');
  auto process = identify_process(parent);
  ASSERT_TRUE(process);
  CaptureOptions options = a_node();
  options.nodes[0].processes = {*process};
  Seen seen;
  std::unique_ptr<Backend> backend = make();
  Status started = backend->start(options);
  EXPECT_TRUE(started) << started.error().message();
  EXPECT_TRUE(is_traced(parent));
  auto report = backend->stop(seen);
  ASSERT_TRUE(report);
  EXPECT_THAT(report->notes, Contains(HasSubstr("already traced by process")));
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
}

TEST(PtraceTest, WhatIsIgnoredStaysIgnoredInACommand) {
  auto old = signal(SIGHUP, SIG_IGN);  // as nohup does
  Seen seen;
  CaptureReport report = run_to_end(command({"sh", "-c", "kill -HUP $$; exit 5"}), seen);
  signal(SIGHUP, old);
  ASSERT_TRUE(WIFEXITED(report.command_status)) << report.command_status;
  EXPECT_EQ(WEXITSTATUS(report.command_status), 5);
}

TEST(PtraceTest, ManyDescriptorsAreForUsAndNotForTheCommand) {
  std::string limit = started_with.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(started_with.rlim_cur);
  Seen seen;
  CaptureReport report = run_to_end(command({"sh", "-c", "test \"$(ulimit -Sn)\" = " + limit}), seen);
  EXPECT_EQ(report.command_status, 0) << limit;
  rlimit ours{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &ours), 0);
  EXPECT_EQ(ours.rlim_cur, ours.rlim_max);
}

TEST(PtraceTest, OtherChildrenAreNotReaped) {
  pid_t child = fork();
  if (child == 0) _exit(7);
  Seen seen;
  run_to_end(command({"true"}), seen);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(PtraceTest, NewcomersAreFound) {
  CaptureOptions options = a_node();
  options.nodes[0].network_namespace = network_namespace_of(getpid());
  options.nodes[0].newcomers = {"culprit-late"};
  std::string program = testing::TempDir() + "culprit-late";
  unlink(program.c_str());
  ASSERT_EQ(symlink("/bin/sleep", program.c_str()), 0);
  Seen seen;
  std::unique_ptr<Backend> backend = make();
  ASSERT_TRUE(backend->start(options));
  pid_t child = fork();
  if (child == 0) {
    execl(program.c_str(), "culprit-late", "3", nullptr);
    _exit(127);
  }
  auto ended = [&] {
    return std::any_of(seen.calls.begin(), seen.calls.end(),
                       [&](const Call& call) { return call.kind == CallKind::exit && call.process == child; });
  };
  turn_until(*backend, seen, ended);
  auto report = backend->stop(seen);
  ASSERT_TRUE(report);
  EXPECT_TRUE(ended());
  EXPECT_THAT(report->notes, Contains(HasSubstr("once a second")));
  waitpid(child, nullptr, 0);
  unlink(program.c_str());
}

TEST(PtraceTest, SumsInsteadOfCalls) {
  Seen seen;
  CaptureOptions options = command({"cat", "/dev/null"});
  options.sums = true;
  run_to_end(options, seen);
  EXPECT_TRUE(
      std::all_of(seen.calls.begin(), seen.calls.end(), [](const Call& call) { return call.kind == CallKind::exit; }));
  EXPECT_EQ(seen.of(CallKind::exit, 1).size(), 1u);
  auto reads =
      std::find_if(seen.sums.begin(), seen.sums.end(), [](const CallSum& sum) { return sum.number == SYS_read; });
  ASSERT_NE(reads, seen.sums.end());
  EXPECT_GT(reads->count, 0u);
  EXPECT_GT(reads->sum_ns, 0u);
  EXPECT_TRUE(seen.fds.empty());
}

}  // namespace
}  // namespace culprit
