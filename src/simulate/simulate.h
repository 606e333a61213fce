// Makes a run from a plan: what `culprit simulate` does. For tests, examples and scale; never evidence of accuracy.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "model/run.h"
#include "simulate/plan.h"

namespace culprit {

Manifest simulated_manifest(const SimulationPlan& plan);
std::vector<Event> simulated_events(const SimulationPlan& plan);

// Writes the run and returns its path. `progress` is told the ticks done and may be empty.
Result<std::string> simulate_run(const SimulationPlan& plan, const std::string& path, const std::string& command_line,
                                 const std::function<void(int64_t)>& progress);

}  // namespace culprit
