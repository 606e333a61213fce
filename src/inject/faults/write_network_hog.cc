// A third party sends zeros to the server by TCP (001, section 9): traffic that the file system has no part in.
#include "inject/fault.h"
#include "inject/hog.h"
#include "inject/net_hog.h"

namespace culprit {

namespace {

bool is_sink(const FaultWork& work) {
  return work.part.role == "target";
}

Result<std::vector<Participant>> plan(const FaultPlan& plan) {
  return plan_hog(plan, "write_network_hog", true);
}

Status prepare(FaultWork& work) {
  return is_sink(work) ? prepare_sink(work) : prepare_source(work);
}

Status apply(FaultWork& work) {
  return is_sink(work) ? start_sink(work) : start_sources(work);
}

}  // namespace

extern const FaultInfo fault_write_network_hog;
const FaultInfo fault_write_network_hog = {
    .name = "write_network_hog",
    .summary = "a third party sends zeros to the server",
    .params = {{"rate", "RATE", kHogRate, "bytes per second"},
               {"port", "COUNT", kHogPort, "TCP port of the receiving end"}},
    .plan = plan,
    .prepare = prepare,
    .apply = apply,
    .undo = kill_hogs,
    .active = hogs_alive,
};

}  // namespace culprit
