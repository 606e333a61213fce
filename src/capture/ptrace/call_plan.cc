#include "capture/ptrace/call_plan.h"

#include <algorithm>
#include <string_view>

namespace culprit {

namespace {

struct EffectRow {
  std::string_view name;
  FdEffect effect;
};
// Calls that make a pair of descriptors (pipe, socketpair) or receive some are not here: what they make was closed
// before or never known, and is looked up at its first use.
constexpr std::array kEffects = {
    EffectRow{"fcntl", FdEffect::fcntl},      EffectRow{"close", FdEffect::closes},
    EffectRow{"bind", FdEffect::binds},       EffectRow{"listen", FdEffect::binds},
    EffectRow{"connect", FdEffect::connects}, EffectRow{"close_range", FdEffect::closes_range},
};

FdEffect effect_of(const Syscall& call) {
  if (call.returns_fd) return FdEffect::returns_fd;
  for (const EffectRow& row : kEffects)
    if (row.name == call.name) return row.effect;
  return FdEffect::none;
}

int8_t index_of(const Syscall& call, Arg kind) {
  auto found = std::find(call.args.begin(), call.args.end(), kind);
  return static_cast<int8_t>(found == call.args.end() ? -1 : found - call.args.begin());
}

CallPlan plan_of(const Syscall& call) {
  CallPlan plan;
  plan.fd = static_cast<int8_t>(fd_argument(call.number));
  plan.second_fd = static_cast<int8_t>(second_fd_argument(call.number));
  plan.path = static_cast<int8_t>(path_argument(call.number));
  plan.folder = static_cast<int8_t>(folder_argument(call.number));
  plan.open_flags = index_of(call, Arg::open_flags);
  plan.vector = index_of(call, Arg::vector);
  plan.vector_bytes = static_cast<int8_t>(vector_bytes_argument(call.number));
  plan.arguments = static_cast<uint8_t>(argument_count(call.number));
  plan.message = call.name == "recvmsg" || call.name == "sendmsg";
  plan.submits = call.name == "io_submit" || call.name == "io_uring_enter";
  plan.effect = effect_of(call);
  return plan;
}

}  // namespace

CallPlans make_plans(const CallSet& wanted) {
  CallPlans plans{};
  for (const Syscall& call : syscalls())
    if (call.number >= 0 && call.number < kMostSyscalls) plans[static_cast<size_t>(call.number)] = plan_of(call);
  bool needs_fds = false;
  for (size_t i = 0; i < plans.size(); ++i) {
    plans[i].wanted = wanted.test(i);
    needs_fds = needs_fds || (plans[i].wanted && (plans[i].fd >= 0 || plans[i].effect != FdEffect::none));
  }
  for (CallPlan& plan : plans) plan.followed = needs_fds && plan.effect != FdEffect::none;
  return plans;
}

CallSet seen_calls(const CallPlans& plans) {
  CallSet set;
  for (size_t i = 0; i < plans.size(); ++i) set.set(i, plans[i].seen());
  return set;
}

}  // namespace culprit
