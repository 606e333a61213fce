// Needs no rights beyond those over the traced processes, and costs two stops per call: for what a user may trace
// himself, and where ebpf is not allowed.
//
// What it starts gets a seccomp filter and stops at the wanted calls only (none when all are wanted); it dies with the
// tracer, because its filtered calls would fail for ever. What it attaches to stops at every call and outlives it.
// Attaching and leaving interrupts the calls in which threads wait: the kernel makes most of them again, a few
// (epoll_wait) return EINTR, as they do after SIGSTOP and SIGCONT. Signals that a program ignores are seen here, and by
// ebpf are not: only a tracer is told of those.
#include <pthread.h>
#include <signal.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdio>
#include <future>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "capture/backend.h"
#include "capture/processes.h"
#include "capture/ptrace/event_queue.h"
#include "capture/ptrace/inherited.h"
#include "capture/ptrace/tracer.h"

namespace culprit {

namespace {

constexpr int64_t kLookEvery = kNsPerSecond;      // for newcomers
constexpr int64_t kWakeEvery = 10 * kNsPerMs;     // the tracing thread, until it has noticed
constexpr size_t kLeastBuffer = size_t{1} << 20;  // some thousand events

// Wakes the tracing thread from waitpid. A real-time signal, because nobody else's default action hangs on it.
int wake_signal() {
  return SIGRTMIN + 6;
}

void only_wake(int) {}

void install_wake_handler() {
  struct sigaction action {};
  action.sa_handler = only_wake;  // without SA_RESTART: the interruption is the message
  sigemptyset(&action.sa_mask);
  ::sigaction(wake_signal(), &action, nullptr);
}

// The other signals are for the threads that know what to do with them. SIGCHLD stays: blocked it would be kept, and
// then wake another thread.
void block_other_signals() {
  sigset_t all;
  sigfillset(&all);
  sigdelset(&all, wake_signal());
  sigdelset(&all, SIGCHLD);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

class PtraceBackend : public Backend {
 public:
  ~PtraceBackend() override;
  Status start(const CaptureOptions& options) override;
  Result<bool> turn(CaptureSink& sink, int64_t wait_ns) override;
  Result<CaptureReport> stop(CaptureSink& sink) override;
  void end_command() override {
    if (tracer_) tracer_->end_command();
  }
  size_t processes_alive() const override { return tracer_ ? tracer_->processes_alive() : 0; }
  int64_t lost_so_far() const override { return queue_ ? queue_->lost() : 0; }

 private:
  using Offered = std::set<std::pair<pid_t, int64_t>>;  // number and start time

  void work(std::promise<Status> began);
  void wake();
  void look_for_newcomers();
  std::vector<ProcessId> candidates(const CaptureNode& node) const;

  std::vector<CaptureNode> nodes_;
  std::unique_ptr<EventQueue> queue_;
  std::unique_ptr<Tracer> tracer_;
  std::thread thread_;
  Offered offered_;
  bool expects_newcomers_ = false;
  int64_t looked_at_ns_ = 0;
};

// Takes what nobody will read any more.
class Nowhere : public CaptureSink {
 public:
  void on_call(size_t, const Call&) override {}
  void on_fd(size_t, FdRecord) override {}
  void on_sum(size_t, const CallSum&) override {}
};

PtraceBackend::~PtraceBackend() {
  Nowhere nowhere;
  if (thread_.joinable()) static_cast<void>(stop(nowhere));
}

void PtraceBackend::work(std::promise<Status> began) {
  block_other_signals();
  Status status = tracer_->begin();
  bool ok = status.ok();
  began.set_value(std::move(status));
  if (ok) tracer_->run();
  queue_->end();
}

Status PtraceBackend::start(const CaptureOptions& options) {
  CHECK(!thread_.joinable()) << "started twice";
  install_wake_handler();
  quiet_sigchld();
  allow_many_descriptors();
  nodes_ = options.nodes;
  for (const CaptureNode& node : nodes_) {
    expects_newcomers_ = expects_newcomers_ || node.expects_newcomers();
    for (const ProcessId& process : node.processes) offered_.emplace(process.pid, process.start_ticks);
    if (node.network_namespace == 0 || !node.all_newcomers) continue;  // who is there and was not named is no newcomer
    for (const ProcessId& process : processes_in(node.network_namespace))
      offered_.emplace(process.pid, process.start_ticks);
  }
  queue_ = std::make_unique<EventQueue>(std::max(options.buffer_bytes, kLeastBuffer));
  tracer_ = std::make_unique<Tracer>(options, *queue_);
  std::promise<Status> began;
  std::future<Status> outcome = began.get_future();
  thread_ = std::thread(&PtraceBackend::work, this, std::move(began));
  Status status = outcome.get();
  if (!status) thread_.join();
  return status;
}

void PtraceBackend::wake() {
  if (tracer_->wants_waking()) ::pthread_kill(thread_.native_handle(), wake_signal());
}

std::vector<ProcessId> PtraceBackend::candidates(const CaptureNode& node) const {
  if (!node.cgroup.empty()) {
    auto members = processes_of_cgroup(node.cgroup);
    return members ? std::move(members).value() : std::vector<ProcessId>();  // a stopped service has no group
  }
  if (node.network_namespace == 0) return {};
  if (node.all_newcomers) return processes_in(node.network_namespace);
  return node.newcomers.empty() ? std::vector<ProcessId>() : processes_named(node.newcomers, node.network_namespace);
}

// ptrace is not told when strangers start a program, so it has to look.
void PtraceBackend::look_for_newcomers() {
  int64_t now = monotonic_now_ns();
  if (!expects_newcomers_ || now - looked_at_ns_ < kLookEvery) return;
  looked_at_ns_ = now;
  std::vector<Tracer::Newcomer> found;
  for (size_t node = 0; node < nodes_.size(); ++node)
    for (const ProcessId& process : candidates(nodes_[node]))
      if (offered_.emplace(process.pid, process.start_ticks).second) found.push_back({process, node});
  if (!found.empty()) tracer_->offer(std::move(found));
}

Result<bool> PtraceBackend::turn(CaptureSink& sink, int64_t wait_ns) {
  look_for_newcomers();
  wake();
  if (queue_->hand_over(sink, wait_ns)) return true;
  if (tracer_->failure()) return *tracer_->failure();
  return false;
}

Result<CaptureReport> PtraceBackend::stop(CaptureSink& sink) {
  if (!thread_.joinable()) return unsupported_error("the capture was not started");
  tracer_->ask_to_stop();
  do {
    wake();
  } while (queue_->hand_over(sink, kWakeEvery));
  thread_.join();
  CaptureReport report = tracer_->report();
  if (queue_->lost() > 0) report.lost.push_back(queue_->lost());  // one buffer, whatever the number of CPUs
  return report;
}

Status check() {
  constexpr int kOldest = 5 * 1000 + 3;  // PTRACE_GET_SYSCALL_INFO
  utsname machine{};
  int major_version = 0;
  int minor_version = 0;
  if (::uname(&machine) == 0 && std::sscanf(machine.release, "%d.%d", &major_version, &minor_version) == 2 &&
      major_version * 1000 + minor_version < kOldest)
    return unsupported_error(cat("ptrace tells too little before Linux 5.3, and this is ", machine.release));
  auto scope = read_file("/proc/sys/kernel/yama/ptrace_scope", 4096);
  if (scope && trim(*scope) == "3")
    return unsupported_error("this machine allows no ptrace at all: kernel.yama.ptrace_scope is 3",
                             "only a reboot with another value allows it again; use --backend ebpf");
  return Ok{};
}

std::unique_ptr<Backend> make() {
  return std::make_unique<PtraceBackend>();
}

}  // namespace

extern const BackendInfo backend_ptrace;
const BackendInfo backend_ptrace = {
    .name = "ptrace",
    .summary = "stops at every call; slow, but needs no root for one's own processes",
    .check = check,
    .make = make,
};

}  // namespace culprit
