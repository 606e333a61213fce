#include "analyse/call_reached.h"

#include <algorithm>
#include <set>

#include "analyse/call_verdict.h"
#include "base/text.h"
#include "base/units.h"
#include "calls/syscalls.h"

namespace culprit {

namespace {

// Whether [from, until], widened by the window, holds one of the error's moments. They are by time, nearly.
bool near(const ErrorCount& error, int64_t from_ns, int64_t until_ns, int64_t window_ns) {
  return std::any_of(error.moments.begin(), error.moments.end(), [&](const ErrorMoment& moment) {
    return moment.first_ns <= until_ns + window_ns && moment.last_ns >= from_ns - window_ns;
  });
}

std::set<std::string> files_of(const ErrorCount& error) {
  std::set<std::string> out;
  for (const ErrorExample& example : error.examples) out.insert(file_of(example.name));
  out.erase("");
  return out;
}

std::string name_near(const ErrorCount& error, int64_t t_ns) {
  std::string out;
  int64_t nearest = INT64_MAX;
  for (const ErrorExample& example : error.examples) {
    const int64_t distance = example.t_ns > t_ns ? example.t_ns - t_ns : t_ns - example.t_ns;
    if (distance >= nearest) continue;
    nearest = distance;
    out = example.name;
  }
  return out;
}

// Section 7: the same errno within the window.
ClientTrace same_errno(int wanted, const ErrorCount& error, const NodeCalls& client, const ExpectedErrors& expected,
                       int64_t window_ns) {
  ClientTrace out;
  for (const auto& [key, count] : client.errors) {
    if (key.error != wanted || key.socket || expected.at_client(key)) continue;
    for (const ErrorMoment& moment : count.moments) {
      if (!near(error, moment.first_ns, moment.last_ns, window_ns)) continue;
      if (out.reached == Reached::same_errno && moment.first_ns >= out.t_ns) break;
      out = {Reached::same_errno, client.name, key.call, name_near(count, moment.first_ns), wanted, moment.first_ns, 0};
      break;
    }
  }
  return out;
}

bool means_failure(const AppCall& call, const ExpectedErrors& expected) {
  const ErrorKey key{call.call, call.error, false};
  return call.error != 0 && !means_not_now(key) && !is_answer(key) && !expected.at_client(key);
}

ClientTrace as_trace(const AppCall& call, Reached reached, const NodeCalls& client) {
  return {reached, client.name, call.call, call.name, call.error, call.end_ns, call.end_ns - call.start_ns};
}

// The first call of an application on a file of that name that failed otherwise, or did not return in time.
ClientTrace same_file(const ErrorCount& error, const NodeCalls& client, const ExpectedErrors& expected,
                      const ReachOptions& options) {
  const std::set<std::string> files = files_of(error);
  ClientTrace stalled, near_by;
  for (const std::vector<AppCall>* list : {&client.failed, &client.slow})
    for (const AppCall& call : *list) {
      if (!near(error, call.start_ns, call.end_ns, options.window_ns)) continue;
      const bool same = files.count(file_of(call.name)) > 0;
      if (same && means_failure(call, expected)) return as_trace(call, Reached::other_errno, client);
      if (near_by.reached == Reached::nobody && means_failure(call, expected))
        near_by = as_trace(call, Reached::near_in_time, client);
      const bool unnamed = call.name.empty();  // a path call that did not fail, or never returned
      const bool stall = call.end_ns - call.start_ns >= options.stall_ns;
      if ((same || unnamed) && stall && stalled.reached == Reached::nobody)
        stalled = as_trace(call, Reached::stalled, client);
    }
  return stalled.reached == Reached::nobody ? near_by : stalled;
}

}  // namespace

ClientTrace trace_to_clients(const ErrorKey& key, const ErrorCount& error, const CallData& data,
                             const ExpectedErrors& expected, const ReachOptions& options) {
  ClientTrace best;
  auto keep = [&](const ClientTrace& trace) {
    if (trace.reached == Reached::nobody) return;
    if (trace.reached > best.reached || (trace.reached == best.reached && trace.t_ns < best.t_ns)) best = trace;
  };
  for (const NodeCalls& client : data.clients) {
    keep(same_errno(key.error, error, client, expected, options.window_ns));
    keep(same_file(error, client, expected, options));
  }
  return best;
}

std::string trace_text(const ClientTrace& trace) {
  if (trace.reached == Reached::nobody) return "";
  const std::string what =
      cat(trace.client, "'s ", trace.call, trace.name.empty() ? "" : cat(" on ", printable(trace.name, 200)));
  if (trace.reached == Reached::stalled) return cat(what, " took ", seconds_text(trace.lasted_ns), " meanwhile");
  return cat(what, " got ", errno_name(trace.error), trace.reached == Reached::same_errno ? ", too," : "", " at ",
             format_time(trace.t_ns), trace.reached == Reached::near_in_time ? ", whatever the file" : "");
}

}  // namespace culprit
