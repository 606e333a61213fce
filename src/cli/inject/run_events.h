// Faults in recordings: an event when one came and when it went, and what it cost the clients as far as the recording
// can tell.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "inject/planner.h"
#include "model/run.h"

namespace culprit {

// The running recordings whose cluster has the node at the same place.
std::vector<std::string> recordings_of(const Node& node);

// Into every recording of each target. What cannot be written is returned as sentences, never an error: a fault that is
// in force matters more than its note.
std::vector<std::string> write_events(const InjectPlan& plan, int64_t t_ns, const std::string& kind,
                                      const std::string& text);

// "disk_hog on, share=0.5, seed 7, id 3f2a91c0"; only parameters that have a value.
std::string event_text(const InjectPlan& plan, bool on);

// Mean traffic of the clients (of the servers when no client is recorded) before and during the fault.
struct Cost {
  std::string run;
  std::string whose;  // "clients" or "servers"
  double before = 0;  // bytes per second
  double during = 0;
  int64_t before_ns = 0;  // how long was looked at
  int64_t during_ns = 0;
};
Result<Cost> measure_cost(const std::string& run, int64_t on_ns, int64_t off_ns);
std::string cost_text(const Cost& cost);

}  // namespace culprit
