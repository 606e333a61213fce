// When descriptors are looked up: a result when the call that made it returns, any other at its first use, before the
// call runs, because close ends what it names. After that a byte per descriptor says that it is known.
#include "capture/ptrace/follower.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "capture/ptrace/tracee_memory.h"

namespace culprit {

namespace {

constexpr size_t kMostPath = 1024;          // of a failed path; the other backend reads as much
constexpr uint64_t kCloseRangeCloexec = 4;  // CLOSE_RANGE_CLOEXEC closes nothing

int32_t as_fd(uint64_t argument) {
  return static_cast<int32_t>(static_cast<uint32_t>(argument));
}

// Who sent it: only some codes have a sender, others keep an address or a timer in the same place.
int64_t sender_of(const siginfo_t& info, int number) {
  bool from_somebody = info.si_code == SI_USER || info.si_code == SI_QUEUE || info.si_code == SI_TKILL;
  bool from_child = number == SIGCHLD && info.si_code > 0 && info.si_code != SI_KERNEL;
  return from_somebody || from_child ? info.si_pid : 0;
}

}  // namespace

void CallFollower::enter(TracedThread& thread, uint64_t number, const uint64_t (&args)[6]) {
  thread.noted = false;
  const CallPlan& plan = plans_[number];
  if (!plan.seen()) return;
  thread.noted = true;
  Call& call = thread.call;
  call = Call{};
  call.sequence = ++sequence_;
  call.process = thread.process->pid;
  call.thread = thread.tid;
  call.number = static_cast<int32_t>(number);
  std::copy_n(args, plan.arguments, call.args.begin());
  if (plan.wanted && plan.vector_bytes >= 0) {
    uint64_t vector = args[plan.vector];
    call.args[static_cast<size_t>(plan.vector_bytes)] =
        plan.message ? message_bytes(thread.tid, vector) : vector_bytes(thread.tid, vector, args[plan.vector + 1]);
  }
  for (int8_t at : {plan.fd, plan.second_fd}) {
    const int32_t fd = at >= 0 ? as_fd(args[at]) : -1;
    if (plan.wanted && fd >= 0 && !thread.process->fds.knows(fd)) learn(thread, fd, wall_now_ns(), std::nullopt);
  }
  thread.fd_class = thread.process->fds.class_of(plan.fd >= 0 ? as_fd(args[plan.fd]) : -1);
  call.start_ns = wall_now_ns();  // last, so that our own look-ups are not its time
}

void CallFollower::leave(TracedThread& thread, int64_t result, int64_t now_ns) {
  Call& call = thread.call;
  const CallPlan& plan = plan_of(call);
  thread.noted = false;
  call.result = result;
  call.duration_ns = std::max<int64_t>(now_ns - call.start_ns, 0);
  follow(thread, plan, now_ns);
  if (plan.submits && result > 0) ++submitted_;
  if (!plan.wanted) return;
  if (plan.path >= 0 && call.failed() && call.errno_value() < kFirstRestart) tell_path(thread, plan);
  tell(thread, call);
}

void CallFollower::tell(const TracedThread& thread, const Call& call) {
  if (options_.sums && call.kind == CallKind::call) {
    if (call.finished()) queue_.add_to_sums(thread.process->node, thread.fd_class, call);
    return;
  }
  queue_.add(thread.process->node, call);
}

void CallFollower::tell(TracedProcess& process, FdRecord record, int64_t t_ns) {
  record.t_ns = t_ns;
  if (!options_.sums) {
    process.fds.learn(record.fd, FdClass::other);  // the class is for the other side to find
    queue_.add(process.node, std::move(record));
    return;
  }
  process.fds.learn(record.fd, classify(record, options_.nodes[process.node].around));
}

void CallFollower::learn(TracedThread& thread, int64_t fd, int64_t t_ns, std::optional<uint32_t> flags) {
  TracedProcess& process = *thread.process;
  auto record = process.proc.look_up(static_cast<int>(fd), thread.tid, flags);
  nameless_ += process.proc.starved();
  if (record)
    tell(process, std::move(*record), t_ns);
  else
    process.fds.forget(static_cast<int>(fd));
}

void CallFollower::follow(TracedThread& thread, const CallPlan& plan, int64_t now_ns) {
  const Call& call = thread.call;
  KnownFds& fds = thread.process->fds;
  switch (plan.effect) {
    case FdEffect::none:
      break;
    case FdEffect::returns_fd:
      if (call.result < 0) break;
      learn(thread, call.result, now_ns,
            plan.open_flags < 0 ? std::nullopt
                                : std::optional(kept_flags(call.args[static_cast<size_t>(plan.open_flags)])));
      break;
    case FdEffect::fcntl:
      follow_fcntl(thread, now_ns);
      break;
    case FdEffect::closes:
      fds.forget(as_fd(call.args[0]));
      break;
    case FdEffect::closes_range:
      if (call.result == 0 && (call.args[2] & kCloseRangeCloexec) == 0)
        fds.forget(static_cast<uint32_t>(call.args[0]), static_cast<uint32_t>(call.args[1]));
      break;
    case FdEffect::connects:
      follow_connect(thread);
      break;
    case FdEffect::binds:
      if (call.result == 0) learn(thread, as_fd(call.args[0]), now_ns, std::nullopt);
      break;
  }
}

void CallFollower::follow_fcntl(TracedThread& thread, int64_t now_ns) {
  const Call& call = thread.call;
  if (call.result < 0) return;
  if (call.args[1] == F_SETFL) learn(thread, as_fd(call.args[0]), now_ns, std::nullopt);
  if (call.args[1] == F_DUPFD || call.args[1] == F_DUPFD_CLOEXEC) learn(thread, call.result, now_ns, std::nullopt);
}

// The socket has this peer from the call's start on: one that was refused is the peer that refused.
void CallFollower::follow_connect(TracedThread& thread) {
  const Call& call = thread.call;
  auto record = thread.process->proc.look_up(as_fd(call.args[0]), thread.tid);
  nameless_ += thread.process->proc.starved();
  if (!record || record->kind != FdKind::socket) return;
  int family = AF_UNSPEC;
  std::string peer = read_endpoint(thread.tid, call.args[1], call.args[2], family);
  bool by_address = family == AF_INET || family == AF_INET6;
  if (by_address && record->peer.empty()) record->peer = std::move(peer);
  if (family == AF_UNIX && !peer.empty()) record->name = std::move(peer);
  tell(*thread.process, std::move(*record), call.start_ns);
}

void CallFollower::tell_path(TracedThread& thread, const CallPlan& plan) {
  const Call& call = thread.call;
  if (options_.sums) return;
  FdRecord record;
  record.name = read_string(thread.tid, call.args[static_cast<size_t>(plan.path)], kMostPath - 1);
  if (record.name.empty()) return;
  if (record.name.size() + 1 >= kMostPath) record.name += "...";
  if (record.name.front() != '/') {
    int32_t folder = plan.folder < 0 ? AT_FDCWD : as_fd(call.args[static_cast<size_t>(plan.folder)]);
    record.name = path_in(thread.process->proc.folder(folder, thread.tid), std::move(record.name));
    nameless_ += thread.process->proc.starved();
  }
  record.kind = FdKind::path;
  record.t_ns = call.start_ns;
  record.process = call.process;
  record.sequence = call.sequence;
  queue_.add(thread.process->node, std::move(record));
}

void CallFollower::signal(const TracedThread& thread, const siginfo_t& info, int number, int64_t now_ns) {
  Call event;
  event.kind = CallKind::signal;
  event.sequence = ++sequence_;
  event.start_ns = now_ns;
  event.process = thread.process->pid;
  event.thread = thread.tid;
  event.number = number;
  event.args[0] = static_cast<uint64_t>(int64_t{info.si_code});
  event.args[1] = static_cast<uint64_t>(sender_of(info, number));
  tell(thread, event);
}

void CallFollower::end(const TracedThread& thread, int status, bool last, int64_t now_ns) {
  Call event;
  event.kind = CallKind::exit;
  event.sequence = ++sequence_;
  event.start_ns = now_ns;
  event.process = thread.process->pid;
  event.thread = thread.tid;
  event.number = last ? 1 : 0;
  event.result = status;
  tell(thread, event);
}

void CallFollower::unfinished(TracedThread& thread) {
  if (!thread.noted) return;
  thread.noted = false;
  thread.in_call = false;
  thread.call.duration_ns = kUnfinished;
  thread.call.result = 0;
  if (plan_of(thread.call).wanted) tell(thread, thread.call);
}

}  // namespace culprit
