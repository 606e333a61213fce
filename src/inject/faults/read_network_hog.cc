// The server sends zeros to a third party by TCP (001, section 9): traffic that the file system has no part in.
#include "inject/fault.h"
#include "inject/hog.h"
#include "inject/net_hog.h"

namespace culprit {

namespace {

bool is_sink(const FaultWork& work) {
  return work.part.role == "receiver";
}

Result<std::vector<Participant>> plan(const FaultPlan& plan) {
  return plan_hog(plan, "read_network_hog", false);
}

Status prepare(FaultWork& work) {
  return is_sink(work) ? prepare_sink(work) : prepare_source(work);
}

Status apply(FaultWork& work) {
  return is_sink(work) ? start_sink(work) : start_sources(work);
}

}  // namespace

extern const FaultInfo fault_read_network_hog;
const FaultInfo fault_read_network_hog = {
    .name = "read_network_hog",
    .summary = "the server sends zeros to a third party",
    .params = {{"rate", "RATE", kHogRate, "bytes per second"},
               {"port", "COUNT", kHogPort, "TCP port of the receiving end"}},
    .plan = plan,
    .prepare = prepare,
    .apply = apply,
    .undo = kill_hogs,
    .active = hogs_alive,
};

}  // namespace culprit
