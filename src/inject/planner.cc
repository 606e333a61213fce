#include "inject/planner.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "fs/adapter.h"
#include "inject/part_text.h"
#include "inject/preflight.h"
#include "model/reach.h"

namespace culprit {

namespace {

constexpr int64_t kShortestFault = 100 * kNsPerMs;
constexpr int64_t kShortestLease = kNsPerSecond;
constexpr int64_t kLongestLease = 60 * kNsPerSecond;

Error unknown(std::string_view kind, std::string_view word, const std::vector<std::string>& known,
              std::string otherwise) {
  std::string near = did_you_mean(word, known);
  return usage_error(cat("there is no ", kind, " \"", printable(word), "\""),
                     near.empty() ? std::move(otherwise) : cat("did you mean ", near, "?"));
}

Result<const FaultInfo*> fault_of(std::string_view name) {
  if (const FaultInfo* fault = find_fault(name)) return fault;
  std::vector<std::string> names;
  for (const FaultInfo* each : inject_faults()) names.emplace_back(each->name);
  return unknown("fault", name, names, "culprit list faults shows all");
}

Result<const Node*> node_of(const Cluster& cluster, std::string_view name) {
  if (const Node* node = cluster.find(name)) return node;
  std::vector<std::string> names;
  for (const Node& node : cluster.nodes) names.push_back(node.name);
  return unknown("node", name, names, cat("the nodes are ", join(names, ", ")));
}

Result<std::vector<const Node*>> targets_of(const InjectRequest& request) {
  std::vector<const Node*> targets;
  for (const std::string& name : request.on) {
    ASSIGN_OR_RETURN(const Node* node, node_of(*request.cluster, name));
    if (std::find(targets.begin(), targets.end(), node) == targets.end()) targets.push_back(node);
  }
  if (targets.empty())
    return usage_error("no target: a fault without a node would pass for one that works", "say --on NODE");
  return targets;
}

Status check_times(const InjectRequest& request) {
  if (request.duration_ns < kShortestFault || request.duration_ns > kLongestFault)
    return usage_error(cat("a fault of ", format_duration(request.duration_ns), " is refused"),
                       "--for takes 100ms to 1h");
  if (request.lease_ns < kShortestLease || request.lease_ns > kLongestLease)
    return usage_error(cat("a lease of ", format_duration(request.lease_ns), " is refused"), "--lease takes 1s to 60s");
  return Ok{};
}

// Third parties only help; servers and clients that are touched count.
Status check_number(const InjectRequest& request, const InjectPlan& plan) {
  auto touched = std::count_if(plan.parts.begin(), plan.parts.end(),
                               [](const PlannedPart& part) { return part.node->kind != NodeKind::other; });
  if (plan.parts.empty()) return usage_error(cat(plan.fault->name, " found no node to work on"));
  int most = request.max_targets.value_or(kDefaultMaxTargets);
  if (touched > most)
    return usage_error(cat(plan.fault->name, " would touch ", touched, " nodes, and at most ", most, " are allowed"),
                       cat("if that is meant: --max-targets ", touched));
  auto is_server = [](const Node& node) { return node.kind == NodeKind::server; };
  auto servers = std::count_if(request.cluster->nodes.begin(), request.cluster->nodes.end(), is_server);
  auto hit =
      std::count_if(plan.targets.begin(), plan.targets.end(), [&](const Node* node) { return is_server(*node); });
  if (servers > 1 && hit == servers && !request.max_targets)
    return usage_error(cat("these are all ", servers, " servers of the cluster: no peer would be left to compare with"),
                       cat("if that is meant: --max-targets ", touched));
  return Ok{};
}

// A namespace is a lab's node, or was made to be tried things on. The null member does nothing to this machine; on
// another one it leaves a program behind.
Status check_owner(const InjectRequest& request, const InjectPlan& plan) {
  for (const PlannedPart& part : plan.parts) {
    auto reach = parse_reach(part.node->reach);
    if (!reach) return reach.error();
    bool harmless = reach->kind == ReachKind::local && plan.fault->apply == nullptr;
    if (reach->kind == ReachKind::ns || harmless || request.owns_cluster) continue;
    std::string what = reach->kind == ReachKind::local
                           ? cat(part.node->name, " is this machine itself, not a lab's node")
                           : cat(part.node->name, " is a real machine (", part.node->reach, "), not a lab's node");
    return usage_error(std::move(what), "say --i-own-this-cluster when you may break it");
  }
  return Ok{};
}

FaultPart part_of(const InjectRequest& request, const FaultInfo& fault, const Participant& participant) {
  const Node& node = *participant.node;
  FaultPart part;
  part.id = request.id;
  part.fault = fault.name;
  part.node = node.name;
  part.address = node.address;
  part.role = participant.role;
  part.seed = request.seed;
  part.duration_ns = request.duration_ns;
  part.lease_ns = std::min(request.lease_ns, std::max(request.duration_ns, kShortestLease));
  part.params = request.params;
  part.fs = request.cluster->fs;
  part.disks = node.disks;
  part.nics = node.nics;
  part.daemons = daemons_of(*request.cluster, node);
  part.peers = participant.peers;
  return part;
}

Result<std::vector<Participant>> participants_of(const FaultInfo& fault, const FaultPlan& plan) {
  std::vector<Participant> participants;
  for (const Node* target : plan.targets) participants.push_back({target, "target", {}});
  if (fault.plan) {
    ASSIGN_OR_RETURN(participants, fault.plan(plan));
  }
  std::set<const Node*> seen;
  for (const Participant& each : participants) {
    if (!seen.insert(each.node).second)
      return usage_error(cat(each.node->name, " would take part twice in ", fault.name), "use other nodes");
    if (!is_plain_name(each.node->name))
      return input_error(cat("'", printable(each.node->name), "' is not a usable name"));
    RETURN_IF_ERROR(check_disk_param(fault, plan.params, each.node->disks, each.node->name));
  }
  return participants;
}

}  // namespace

Result<InjectPlan> plan_injection(const InjectRequest& given) {
  InjectRequest request = given;
  InjectPlan plan;
  ASSIGN_OR_RETURN(plan.fault, fault_of(request.fault));
  ASSIGN_OR_RETURN(request.params, fill_params(*plan.fault, given.params));
  RETURN_IF_ERROR(check_times(request));
  ASSIGN_OR_RETURN(plan.targets, targets_of(request));
  FaultPlan wish{.cluster = request.cluster, .targets = plan.targets, .from = nullptr, .params = request.params};
  if (!request.from.empty()) {
    ASSIGN_OR_RETURN(wish.from, node_of(*request.cluster, request.from));
  }
  ASSIGN_OR_RETURN(std::vector<Participant> participants, participants_of(*plan.fault, wish));
  for (const Participant& each : participants) {
    plan.parts.push_back({each.node, part_of(request, *plan.fault, each)});
  }
  RETURN_IF_ERROR(check_number(request, plan));
  RETURN_IF_ERROR(check_owner(request, plan));
  return plan;
}

}  // namespace culprit
