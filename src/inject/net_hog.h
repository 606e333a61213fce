// The two ends of a network hog: a source that sends zeros at a rate and a sink that throws them away (001, section 9).
// Which of the two runs on the server decides between write_network_hog and read_network_hog.
#pragma once

#include <string>
#include <vector>

#include "inject/fault.h"

namespace culprit {

constexpr std::string_view kHogRate = "20MB";
constexpr std::string_view kHogPort = "47911";  // nobody's in the registry of port numbers

// Roles: sinks come first in a plan, so that they listen before anybody connects.
Result<std::vector<Participant>> plan_hog(const FaultPlan& plan, std::string_view fault, bool target_is_sink);

Status prepare_sink(const FaultWork& work);    // the port is free
Status prepare_source(const FaultWork& work);  // the numbers are sane
Status start_sink(FaultWork& work);
Status start_sources(FaultWork& work);  // one to each peer; returns when all are connected

}  // namespace culprit
