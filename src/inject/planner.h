// From the user's words to one part per node, and the reasons not to do it that can be known before any node is asked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "inject/fault.h"

namespace culprit {

constexpr int kDefaultMaxTargets = 4;
constexpr int64_t kLongestFault = int64_t{3600} * 1'000'000'000;
constexpr int64_t kDefaultLease = int64_t{10} * 1'000'000'000;

struct InjectRequest {
  const Cluster* cluster = nullptr;
  std::string fault;
  std::vector<std::string> on;  // names of nodes
  std::string from;             // the third party of a network hog; "" when not given
  FaultParams params;           // as given
  std::string id;
  uint64_t seed = 0;
  int64_t duration_ns = 0;
  int64_t lease_ns = kDefaultLease;
  std::optional<int> max_targets;  // given by the user
  bool owns_cluster = false;       // --i-own-this-cluster
};

struct PlannedPart {
  const Node* node = nullptr;
  FaultPart part;
};

struct InjectPlan {
  const FaultInfo* fault = nullptr;
  std::vector<const Node*> targets;  // --on
  std::vector<PlannedPart> parts;    // in the order in which they begin; those of one role at once
};

Result<InjectPlan> plan_injection(const InjectRequest& request);

}  // namespace culprit
