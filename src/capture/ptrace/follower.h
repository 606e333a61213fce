// From what a thread does at its stops to events: calls with their descriptors, signals, ends.
#pragma once

#include <signal.h>

#include <cstdint>
#include <optional>

#include "capture/ptrace/call_plan.h"
#include "capture/ptrace/event_queue.h"
#include "capture/ptrace/tracee.h"

namespace culprit {

class CallFollower {
 public:
  CallFollower(const CaptureOptions& options, EventQueue& queue)
      : options_(options), queue_(queue), plans_(make_plans(options.calls)) {}

  CallSet stops() const { return seen_calls(plans_); }

  void enter(TracedThread& thread, uint64_t number, const uint64_t (&args)[6]);
  void leave(TracedThread& thread, int64_t result, int64_t now_ns);
  void signal(const TracedThread& thread, const siginfo_t& info, int number, int64_t now_ns);
  void end(const TracedThread& thread, int status, bool last, int64_t now_ns);
  void unfinished(TracedThread& thread);  // if it is in a call
  void executed(TracedProcess& process) { process.fds.forget_all(); }

  int64_t submitted() const { return submitted_; }  // calls that submit asynchronous requests
  int64_t nameless() const { return nameless_; }    // look-ups that failed for want of descriptors of our own

 private:
  const CallPlan& plan_of(const Call& call) const { return plans_[static_cast<size_t>(call.number)]; }
  void tell(const TracedThread& thread, const Call& call);
  void tell(TracedProcess& process, FdRecord record, int64_t t_ns);
  void learn(TracedThread& thread, int64_t fd, int64_t t_ns, std::optional<uint32_t> flags);
  void follow(TracedThread& thread, const CallPlan& plan, int64_t now_ns);
  void follow_connect(TracedThread& thread);
  void follow_fcntl(TracedThread& thread, int64_t now_ns);
  void tell_path(TracedThread& thread, const CallPlan& plan);

  const CaptureOptions& options_;
  EventQueue& queue_;
  const CallPlans plans_;
  uint64_t sequence_ = 0;
  int64_t submitted_ = 0;
  int64_t nameless_ = 0;
};

}  // namespace culprit
