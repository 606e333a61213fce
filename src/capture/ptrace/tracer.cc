// What happens at each kind of stop. The rules that matter:
// - a thread is resumed once per stop, with the signal that it was about to get; to a group stop one listens instead,
//   or SIGSTOP would stop nothing;
// - statuses are collected from all threads before any is handled, or a busy thread would starve the others;
// - the number of a new thread may show up before its parent's event tells of it: /proc says to whom it belongs;
// - ESRCH is normal: SIGKILL ends a thread in the middle of a stop, its end is reported later.
#include "capture/ptrace/tracer.h"

#include <linux/audit.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "capture/processes.h"
#include "capture/ptrace/seccomp_filter.h"
#include "capture/ptrace/task_status.h"

namespace culprit {

namespace {

constexpr int kCallStop = SIGTRAP | 0x80;  // with PTRACE_O_TRACESYSGOOD
constexpr long kOptions = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
                          PTRACE_O_TRACEEXEC;  // no TRACEEXIT: waitpid reports every thread's end anyway
// Only for what has our filter: an attached program may have one of its own that returns SECCOMP_RET_TRACE.
constexpr long kFilterOptions = kOptions | PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL;
constexpr int kMostLooks = 20;                   // for children; those of what we hold the kernel attaches itself
constexpr size_t kMostAtOnce = 1024;             // stops collected before they are handled
constexpr uint64_t kX32 = uint64_t{1} << 30;     // the bit of calls with 32-bit pointers
constexpr int64_t kPolite = 2 * kNsPerSecond;    // for a filtered command between SIGTERM and SIGKILL
constexpr int64_t kPatience = 4 * kNsPerSecond;  // for all to stop; the rest is let loose by our end
constexpr int64_t kLeavingNap = kNsPerMs / 2;    // between two looks while leaving
constexpr size_t kMostNotes = 100;               // a capture of weeks must not fill the memory with them

bool request(__ptrace_request what, pid_t tid, long data = 0) {
  return ::ptrace(what, tid, nullptr, data) == 0;
}

bool call_info(pid_t tid, __ptrace_syscall_info& info) {
  return ::ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof info, &info) > 0;
}

pid_t event_number(pid_t tid) {
  unsigned long number = 0;
  return ::ptrace(PTRACE_GETEVENTMSG, tid, nullptr, &number) == 0 ? static_cast<pid_t>(number) : 0;
}

bool is_group_stop(int number) {
  return number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

// A call that our own interruption broke off. ERESTARTSYS (512) and kin are made again; EINTR is what epoll_wait says.
bool was_broken_off(int64_t result) {
  return result == -EINTR || (result <= -512 && result >= -516);
}

Error cannot_attach(pid_t tid, int error, const TaskStatus& status) {
  if (status.tracer != 0)
    return unsupported_error(cat("process ", status.process, " is already traced by process ", status.tracer),
                             "a process has one tracer at most; --backend ebpf does not mind");
  return system_error(cat("cannot attach to process ", status.process ? status.process : tid), error,
                      "run as root, or as the same user with /proc/sys/kernel/yama/ptrace_scope 0");
}

}  // namespace

Tracer::Tracer(const CaptureOptions& options, EventQueue& queue) : options_(options), follower_(options_, queue) {}

// --- beginning ---

Status Tracer::begin() {
  RETURN_IF_ERROR(attach_nodes());
  if (!options_.command.empty()) RETURN_IF_ERROR(start_command());
  return Ok{};
}

// The named ones of all nodes first, then their children: a child that another node has named belongs to that one.
Status Tracer::attach_nodes() {
  for (size_t node = 0; node < options_.nodes.size(); ++node)
    for (const ProcessId& process : options_.nodes[node].processes) {
      if (process.pid == ::getpid())
        note("culprit does not trace itself");
      else if (!is_alive(process))
        note(cat("process ", process.pid, " had ended before the capture began"));
      RETURN_IF_ERROR(attach(process, node));
    }
  bool grew = true;
  for (int look = 0; grew && look < kMostLooks; ++look) grew = attach_children();
  return Ok{};
}

// False when nobody new was found. Whoever was born between the look and the attach to its parent is in the next look.
// Nobody has asked for a child by name, so one that cannot be attached is no reason to give up.
bool Tracer::attach_children() {
  size_t before = processes_.size();
  for (size_t node = 0; node < options_.nodes.size(); ++node)
    for (const ProcessId& process : with_descendants(options_.nodes[node].processes)) {
      Status attached = attach(process, node);
      if (attached || !refused_.insert(process.pid).second) continue;
      note(cat(attached.error().message(), "; its calls are missing"));
    }
  return processes_.size() > before;
}

Status Tracer::attach(const ProcessId& process, size_t node) {
  if (process.pid == ::getpid()) return Ok{};  // who traces his shell is a child of it
  if (processes_.contains(process.pid) || !is_alive(process)) return Ok{};
  RETURN_IF_ERROR(seize_threads(process, node));
  if (process_state(process) != 0) return Ok{};
  for (auto& [tid, thread] : threads_)  // its number was given to another in the meantime, or it is gone
    if (thread.process->pid == process.pid) thread.stranger = true;
  return Ok{};
}

// Until no new one shows up. A thread that a seized one starts from now on is attached by the kernel.
Status Tracer::seize_threads(const ProcessId& process, size_t node) {
  bool grew = true;
  while (grew) {
    grew = false;
    for (pid_t tid : threads_of(process.pid)) {
      if (threads_.contains(tid)) continue;
      if (request(PTRACE_SEIZE, tid, kOptions)) {
        add_thread(tid, process.pid, node, false);
        request(PTRACE_INTERRUPT, tid);
        grew = true;
        continue;
      }
      int error = errno;
      auto status = task_status(tid);
      bool ours = status && status->tracer == static_cast<pid_t>(::syscall(SYS_gettid));
      if (error == ESRCH || !status || ours || status->state == 'Z' || status->state == 'X') continue;
      return cannot_attach(tid, error, *status);
    }
  }
  return Ok{};
}

// The command waits in a read. An interrupt that is pending stops it before it can do anything else, so that it may be
// told to go at once.
Status Tracer::start_command() {
  if (options_.nodes.empty()) return usage_error("a command needs a node that it belongs to");
  bool filtered = !options_.calls.all();
  ASSIGN_OR_RETURN(command_, prepare_command(options_.command,
                                             filtered ? make_filter(follower_.stops()) : std::vector<sock_filter>()));
  if (!request(PTRACE_SEIZE, command_.pid, filtered ? kFilterOptions : kOptions) ||
      !request(PTRACE_INTERRUPT, command_.pid)) {
    int error = errno;
    ::kill(command_.pid, SIGKILL);
    ::waitpid(command_.pid, nullptr, __WALL);
    return system_error(cat("cannot trace ", options_.command.front()), error);
  }
  add_thread(command_.pid, command_.pid, 0, filtered).started = false;
  let_go(command_);
  return Ok{};
}

bool Tracer::expects_newcomers() const {
  return std::any_of(options_.nodes.begin(), options_.nodes.end(),
                     [](const CaptureNode& node) { return node.expects_newcomers(); });
}

// --- who is traced ---

TracedThread& Tracer::add_thread(pid_t tid, pid_t process, size_t node, bool filtered) {
  std::unique_ptr<TracedProcess>& owner = processes_[process];
  if (!owner) owner = std::make_unique<TracedProcess>(process, node, filtered);
  ++owner->threads;
  processes_alive_ = processes_.size();
  TracedThread& thread = threads_[tid];
  thread.tid = tid;
  thread.process = owner.get();
  return thread;
}

// Its node is its parent's; nullptr when it is gone.
TracedThread* Tracer::find_or_adopt(pid_t tid) {
  auto found = threads_.find(tid);
  if (found != threads_.end()) return &found->second;
  auto status = task_status(tid);
  if (!status) return nullptr;
  Origin origin{0, false};
  if (auto told = origins_.find(tid); told != origins_.end()) {
    origin = told->second;
    origins_.erase(told);
  } else if (auto parent = processes_.find(status->parent); parent != processes_.end()) {
    origin = {parent->second->node, parent->second->filtered};
  }
  return &add_thread(tid, status->process, origin.node, origin.filtered);
}

void Tracer::forget(pid_t tid) {
  auto found = threads_.find(tid);
  if (found == threads_.end()) return;
  TracedProcess* process = found->second.process;
  threads_.erase(found);
  if (--process->threads <= 0) processes_.erase(process->pid);
  processes_alive_ = processes_.size();
}

// --- the loop ---

void Tracer::run() {
  while (!is_done()) {
    take_requests();
    if (leaving_) insist();
    collect();
    for (const Stop& stop : stops_) {
      if (WIFSTOPPED(stop.status))
        on_stop(stop);
      else
        on_end(stop);
    }
    stops_.clear();
  }
  for (auto& [tid, thread] : threads_) follower_.unfinished(thread);  // those that did not stop in time
}

bool Tracer::is_done() const {
  if (leaving_ && monotonic_now_ns() - left_at_ns_ > kPatience) return true;
  bool nobody = threads_.empty() && origins_.empty();
  return nobody && (leaving_ || !expects_newcomers());
}

void Tracer::ask_to_stop() {
  std::unique_lock lock(requests_mutex_);
  stop_requested_ = true;
  asked_ = true;
  requested_.notify_one();
}

void Tracer::offer(std::vector<Newcomer> newcomers) {
  std::unique_lock lock(requests_mutex_);
  offered_.insert(offered_.end(), newcomers.begin(), newcomers.end());
  asked_ = true;
  requested_.notify_one();
}

void Tracer::take_requests() {
  if (!asked_) return;
  std::vector<Newcomer> newcomers;
  bool stop = false;
  {
    std::unique_lock lock(requests_mutex_);
    newcomers.swap(offered_);
    stop = stop_requested_;
    asked_ = false;
  }
  for (const Newcomer& newcomer : newcomers) {
    if (leaving_ || stop) continue;
    if (Status attached = attach(newcomer.process, newcomer.node); !attached) note(attached.error().message());
  }
  if (stop && !leaving_) begin_leaving();
}

// What has our filter cannot be let loose: its filtered calls would fail for ever. It is asked to end.
void Tracer::begin_leaving() {
  leaving_ = true;
  left_at_ns_ = monotonic_now_ns();
  if (command_must_end_ && command_.pid > 0 && command_status_ == -1) ::kill(command_.pid, SIGKILL);
  for (auto& [tid, thread] : threads_)
    if (!thread.process->filtered) request(PTRACE_INTERRUPT, tid);
  bool ended = false;
  for (auto& [pid, process] : processes_)
    if (process->filtered) ended = ::kill(pid, SIGTERM) == 0 || ended;
  if (ended) note("the command was ended with the capture: calls that a filter picks out fail without their tracer");
}

void Tracer::insist() {
  if (insisted_ || monotonic_now_ns() - left_at_ns_ < kPolite) return;
  insisted_ = true;
  for (auto& [pid, process] : processes_)
    if (process->filtered) ::kill(pid, SIGKILL);
}

void Tracer::collect() {
  int flags = __WALL | __WNOTHREAD | (leaving_ ? WNOHANG : 0);
  while (stops_.size() < kMostAtOnce) {
    int status = 0;
    pid_t tid = ::waitpid(-1, &status, flags);
    if (tid <= 0) {
      if (tid < 0 && errno == ECHILD && stops_.empty()) rest();
      break;
    }
    stops_.push_back({tid, status, wall_now_ns()});
    if (threads_.size() < 2 && !leaving_) return;  // there is no other to wait for
    flags |= WNOHANG;
  }
  if (!leaving_ || !stops_.empty()) return;
  timespec nap{0, kLeavingNap};
  ::nanosleep(&nap, nullptr);
}

// Nobody is left. Newcomers may still come.
void Tracer::rest() {
  for (auto& [tid, thread] : threads_) follower_.unfinished(thread);
  threads_.clear();
  processes_.clear();
  origins_.clear();
  processes_alive_ = 0;
  if (leaving_ || !expects_newcomers()) return;
  std::unique_lock lock(requests_mutex_);
  requested_.wait_for(lock, std::chrono::seconds(1), [&] { return asked_.load(); });
}

// --- stops ---

void Tracer::on_end(const Stop& stop) {
  origins_.erase(stop.tid);
  if (stop.tid == command_.pid) {
    command_status_ = stop.status;
    int error = command_ran_ ? 0 : exec_error(command_);
    if (error != 0) failure_ = system_error(cat("cannot run ", options_.command.front()), error);
  }
  auto found = threads_.find(stop.tid);
  if (found == threads_.end()) return;
  TracedThread& thread = found->second;
  follower_.unfinished(thread);
  if (thread.started && !thread.stranger)
    follower_.end(thread, stop.status, thread.process->threads == 1, stop.when_ns);
  forget(stop.tid);
}

// Of a thread that /proc does not tell of: it is gone, or we have no descriptor left to look with. Its signal is its
// own all the same.
void Tracer::pass_on(const Stop& stop) {
  int number = WSTOPSIG(stop.status);
  int event = stop.status >> 16;
  bool listens = event == PTRACE_EVENT_STOP && is_group_stop(number);
  int signal_number = event == 0 && number != kCallStop ? number : 0;
  if (listens ? request(PTRACE_LISTEN, stop.tid) : request(PTRACE_CONT, stop.tid, signal_number))
    unknown_.insert(stop.tid);
}

void Tracer::on_stop(const Stop& stop) {
  TracedThread* thread = find_or_adopt(stop.tid);
  if (!thread) return pass_on(stop);
  int number = WSTOPSIG(stop.status);
  int event = stop.status >> 16;
  bool stays = !leaving_ || thread->process->filtered;
  if (event == PTRACE_EVENT_STOP && is_group_stop(number) && stays && !thread->stranger) {
    request(PTRACE_LISTEN, stop.tid);
    return;
  }
  int signal_number = on_event(*thread, stop);
  go_on(*thread, signal_number);
}

int Tracer::on_event(TracedThread& thread, const Stop& stop) {
  int number = WSTOPSIG(stop.status);
  switch (stop.status >> 16) {
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
    case PTRACE_EVENT_CLONE:
      on_child(thread);
      return 0;
    case PTRACE_EVENT_EXEC:
      on_exec(thread);
      return 0;
    case PTRACE_EVENT_SECCOMP:
      on_filter_stop(thread);
      return 0;
    case 0:
      break;
    default:
      return 0;
  }
  if (number == kCallStop) {
    on_call_stop(thread, stop.when_ns);
    return 0;
  }
  siginfo_t info{};
  ::ptrace(PTRACE_GETSIGINFO, thread.tid, nullptr, &info);
  if (thread.started) follower_.signal(thread, info, number, stop.when_ns);
  return number;
}

// The second stop of a call that nobody wants needs no look: entry and return alternate.
void Tracer::on_call_stop(TracedThread& thread, int64_t now_ns) {
  if (thread.in_call && !thread.noted) {
    thread.in_call = false;
    return;
  }
  __ptrace_syscall_info info{};
  if (!call_info(thread.tid, info)) return;
  if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
    enter(thread, info.arch, info.entry.nr, info.entry.args);
  else if (info.op == PTRACE_SYSCALL_INFO_EXIT && thread.in_call)
    on_call_end(thread, info.exit.rval, now_ns);
}

void Tracer::on_filter_stop(TracedThread& thread) {
  __ptrace_syscall_info info{};
  if (!call_info(thread.tid, info) || info.op != PTRACE_SYSCALL_INFO_SECCOMP) return;
  enter(thread, info.arch, info.seccomp.nr, info.seccomp.args);
  thread.in_call = thread.noted;  // of the others no second stop is needed
}

void Tracer::enter(TracedThread& thread, uint32_t machine, uint64_t number, const uint64_t (&args)[6]) {
  follower_.unfinished(thread);  // its return was not seen
  thread.in_call = true;
  thread.noted = false;
  if (machine != AUDIT_ARCH_X86_64 || (number & kX32) != 0) ++foreign_calls_;
  if (machine != AUDIT_ARCH_X86_64 || number >= uint64_t{kMostSyscalls}) return;
  if (number == SYS_execve) thread.started = true;
  if (thread.started && !thread.stranger) follower_.enter(thread, number, args);
}

void Tracer::on_call_end(TracedThread& thread, int64_t result, int64_t now_ns) {
  thread.in_call = false;
  if (leaving_ && !thread.process->filtered && was_broken_off(result))
    follower_.unfinished(thread);
  else
    follower_.leave(thread, result, now_ns);
}

void Tracer::on_child(const TracedThread& parent) {
  pid_t child = event_number(parent.tid);
  if (child > 0 && !threads_.contains(child)) origins_[child] = {parent.process->node, parent.process->filtered};
}

// After an exec by another thread than the first, that thread goes on under the first one's number.
void Tracer::on_exec(TracedThread& thread) {
  auto former = threads_.find(event_number(thread.tid));
  if (former != threads_.end() && former->first != thread.tid) {
    follower_.unfinished(thread);
    thread.in_call = former->second.in_call;
    thread.noted = former->second.noted;
    thread.fd_class = former->second.fd_class;
    thread.call = former->second.call;
    thread.call.thread = thread.tid;
    forget(former->first);
  }
  thread.started = true;
  follower_.executed(*thread.process);
  if (thread.process->pid == command_.pid) command_ran_ = true;
}

void Tracer::go_on(TracedThread& thread, int signal_number) {
  pid_t tid = thread.tid;
  if (thread.stranger || (leaving_ && !thread.process->filtered)) {
    follower_.unfinished(thread);
    request(PTRACE_DETACH, tid, signal_number);
    forget(tid);
    return;
  }
  bool every_call = !thread.process->filtered || thread.in_call;
  request(every_call ? PTRACE_SYSCALL : PTRACE_CONT, tid, signal_number);
}

// --- the report ---

void Tracer::note(std::string text) {
  if (notes_.size() < kMostNotes) notes_.push_back(std::move(text));
}

CaptureReport Tracer::report() const {
  CaptureReport report;
  report.command_status = command_status_;
  report.unseen.assign(options_.nodes.size(), 0);
  report.notes = notes_;
  if (foreign_calls_ > 0)
    report.notes.push_back(cat(foreign_calls_, " calls of 32-bit programs were seen and not recorded"));
  if (!unknown_.empty())
    report.notes.push_back(cat(unknown_.size(), " threads could not be looked up, and calls of theirs are missing"));
  if (follower_.nameless() > 0)
    report.notes.push_back(cat(follower_.nameless(), " descriptors are without a name: culprit had no more of its own",
                               " to look with; a higher hard limit (ulimit -Hn) helps"));
  if (follower_.submitted() > 0)
    report.notes.push_back(
        "asynchronous requests were submitted, and ptrace does not see their completions; --backend ebpf does");
  if (expects_newcomers()) report.notes.emplace_back(kLookedForNote);
  return report;
}

}  // namespace culprit
