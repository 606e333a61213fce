#include "simulate/simulate.h"

#include <algorithm>

#include "base/text.h"
#include "simulate/counters.h"
#include "simulate/model.h"
#include "store/run_writer.h"

namespace culprit {

namespace {

constexpr int64_t kTicksPerCommit = 50;  // nothing is lost with a simulated run, so transactions may be large

int64_t fault_end(const SimulationPlan& plan) {
  return std::min(plan.request.fault_from + plan.request.fault_for, plan.request.ticks - 1);
}

Status add_ticks(const SimulationPlan& plan, RunWriter& writer, const std::function<void(int64_t)>& progress) {
  Model model(plan);
  Counters counters(plan);
  Sample sample;
  for (int64_t tick = 0; tick < plan.request.ticks; ++tick) {
    model.step();
    counters.add(model.servers());
    for (size_t node = 0; node < counters.nodes(); ++node) {
      counters.sample(node, tick, sample);
      RETURN_IF_ERROR(writer.add(node, sample));
    }
    if ((tick + 1) % kTicksPerCommit == 0) RETURN_IF_ERROR(writer.commit());
    if (progress) progress(tick + 1);
  }
  return Ok{};
}

Status fill_run(const SimulationPlan& plan, RunWriter& writer, const std::function<void(int64_t)>& progress) {
  for (const Event& event : simulated_events(plan)) RETURN_IF_ERROR(writer.add_event(event));
  writer.manifest().end_ns = plan.time_of(plan.request.ticks - 1);
  return add_ticks(plan, writer, progress);
}

}  // namespace

Manifest simulated_manifest(const SimulationPlan& plan) {
  const SimulationRequest& request = plan.request;
  Manifest manifest;
  manifest.tool = cat("culprit ", CULPRIT_VERSION);
  manifest.origin = "simulated";
  manifest.start_ns = plan.start_ns;
  manifest.interval_ns = request.interval_ns;
  manifest.stopped = "time over";
  manifest.cluster = simulated_cluster(plan);
  for (const Node& node : manifest.cluster.nodes) {
    NodeReport report;
    report.name = node.name;
    report.samples = request.ticks;
    manifest.nodes.push_back(std::move(report));
  }
  manifest.truth = {{"workload", request.workload}, {"fault", request.fault}, {"seed", std::to_string(request.seed)}};
  if (plan.victim >= 0) {
    manifest.truth["server"] = request.on;
    manifest.truth["from_ns"] = cat(plan.time_of(request.fault_from));
    manifest.truth["until_ns"] = cat(plan.time_of(fault_end(plan)));
  }
  return manifest;
}

std::vector<Event> simulated_events(const SimulationPlan& plan) {
  if (plan.victim < 0) return {};
  const SimulationRequest& request = plan.request;
  return {{plan.time_of(request.fault_from), request.on, "fault", cat(request.fault, " begins")},
          {plan.time_of(fault_end(plan)), request.on, "fault", cat(request.fault, " ends")}};
}

Result<std::string> simulate_run(const SimulationPlan& plan, const std::string& path, const std::string& command_line,
                                 const std::function<void(int64_t)>& progress) {
  Manifest manifest = simulated_manifest(plan);
  manifest.source = command_line;
  ASSIGN_OR_RETURN(RunWriter writer, RunWriter::create(path, std::move(manifest)));
  Status filled = fill_run(plan, writer, progress);
  Result<std::string> closed = filled ? writer.close() : Result<std::string>(filled.error());
  if (!closed) writer.discard();
  return closed;
}

}  // namespace culprit
