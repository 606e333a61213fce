#include "analyse/call_links.h"

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "base/units.h"

namespace culprit {

namespace {

constexpr size_t kMostLinks = 4096;             // ports of servers; a client talks to a few hundred
constexpr size_t kMostWaits = 1024;             // per link
constexpr int64_t kNotableWait = kNsPerSecond;  // shorter ones are daily work
constexpr int kConnectionErrors[] = {ECONNREFUSED, ECONNRESET, ECONNABORTED, ENOTCONN, EPIPE,
                                     ETIMEDOUT,    EHOSTDOWN,  EHOSTUNREACH, ENETDOWN, ENETUNREACH};

}  // namespace

bool is_connection_error(int error) {
  return std::find(std::begin(kConnectionErrors), std::end(kConnectionErrors), error) != std::end(kConnectionErrors);
}

LinkTracker::State* LinkTracker::state_of(const std::string& server, const std::string& endpoint) {
  auto found = states_.find({server, endpoint});
  if (found != states_.end()) return &found->second;
  if (states_.size() >= kMostLinks) return nullptr;
  State& state = states_[{server, endpoint}];
  state.link.server = server;
  state.link.endpoint = endpoint;
  return &state;
}

void LinkTracker::end_wait(State& state, int64_t t_ns, bool answered) {
  const int64_t from = std::exchange(state.waiting_since_ns, 0);
  if (from == 0) return;
  awaited_.erase({state.process, &state});
  if (t_ns - from < kNotableWait) return;
  if (state.link.waits.size() >= kMostWaits)
    forgotten_ns_ = std::max(forgotten_ns_, keep_longer_half(state.link.waits));
  state.link.waits.push_back({from, t_ns, answered});
}

void LinkTracker::wrote(int32_t process, const std::string& server, const std::string& endpoint, int64_t t_ns) {
  State* state = state_of(server, endpoint);
  if (!state) return;
  state->link.last_ns = t_ns;
  state->link.last_was_read = false;
  if (state->waiting_since_ns == 0) {
    state->waiting_since_ns = t_ns;
    state->process = process;
    awaited_.insert({process, state});
  } else if (state->process != process && state->process != 0) {
    awaited_.erase({state->process, state});
    state->process = 0;
  }
}

void LinkTracker::read(const std::string& server, const std::string& endpoint, int64_t t_ns) {
  State* state = state_of(server, endpoint);
  if (!state) return;
  state->link.last_ns = t_ns;
  state->link.last_was_read = true;
  end_wait(*state, t_ns, true);
}

void LinkTracker::failed(const std::string& server, const std::string& endpoint, int error, int64_t t_ns) {
  if (State* state = state_of(server, endpoint)) end_wait(*state, t_ns, false);
  if (refusals_.size() >= kMostLinks && !refusals_.count(server)) return;
  LinkRefusal& refusal = refusals_[server][error];
  if (refusal.count++ == 0) refusal.first_ns = t_ns;
  refusal.last_ns = t_ns;
}

void LinkTracker::ended(int32_t process, int64_t t_ns) {
  auto it = awaited_.lower_bound({process, nullptr});
  while (it != awaited_.end() && it->first == process) {
    State* state = it->second;
    ++it;
    end_wait(*state, t_ns, false);
  }
}

void LinkTracker::finish(int64_t end_ns, NodeCalls& out) {
  for (auto& [key, state] : states_) {
    end_wait(state, end_ns, false);
    out.links.push_back(std::move(state.link));
  }
  out.refusals = std::move(refusals_);
  out.forgotten_wait_ns = forgotten_ns_;
}

}  // namespace culprit
