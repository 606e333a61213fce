#include "cli/syscap/nodes.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "cli/command.h"
#include "fs/adapter.h"
#include "hosts/keeper.h"
#include "hosts/runner.h"
#include "store/cluster_file.h"

namespace culprit {

namespace {

constexpr size_t kShownCommand = 300;  // characters, in the log's header

Cluster this_machine() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  Cluster cluster;
  cluster.name = check_node_name(name) ? name : "local";
  cluster.nodes.emplace_back().name = cluster.name;
  return cluster;
}

Result<Cluster> cluster_of(const TargetRequest& request) {
  auto cluster = read_cluster(request.cluster_file);
  if (!cluster) {
    Error error = cluster.error();
    if (error.errno_value == ENOENT) error.hint = "`culprit lab up` writes one; --cluster names another";
    return error;
  }
  if (cluster->fs.empty() || find_fs(cluster->fs) != nullptr) return cluster;
  std::vector<std::string> known;
  for (const FsInfo* fs : fs_adapters()) known.emplace_back(fs->name);
  std::string near = did_you_mean(cluster->fs, known);
  return input_error(
      cat("there is no file system '", printable(cluster->fs), "'"),
      near.empty() ? "culprit list filesystems shows those that are known" : cat("did you mean ", near, "?"));
}

Result<const Node*> find_node(const Cluster& cluster, const std::string& name) {
  if (const Node* node = cluster.find(name)) return node;
  std::vector<std::string> known;
  for (const Node& node : cluster.nodes) known.push_back(node.name);
  return unknown_word("node", name, known, cat("the cluster has: ", join(known, ", ")));
}

NodeOrder order_of(const Cluster& cluster, const Node& node) {
  NodeOrder order;
  order.name = node.name;
  order.around = surroundings_of(cluster, node);
  order.daemons = captured_daemons(cluster, node);
  const FsInfo* fs = find_fs(cluster.fs);
  if (fs != nullptr && node.kind == NodeKind::server) order.storage_option = fs->storage_option;
  return order;
}

// A process that sees the files of a node on this machine.
Result<pid_t> root_of(const Reach& reach) {
  if (reach.kind != ReachKind::ns) return ::getpid();
  ASSIGN_OR_RETURN(ProcessId keeper, find_keeper(reach.ns));
  return keeper.pid;
}

// Processes or a command, as one node.
Result<SyscapTargets> one_node(const TargetRequest& request) {
  if (request.nodes.size() > 1)
    return usage_error("processes and a command belong to one node", "name one --node, or none for this machine");
  SyscapTargets targets;
  targets.cluster = this_machine();
  if (!request.nodes.empty()) {
    ASSIGN_OR_RETURN(targets.cluster, cluster_of(request));
  }
  const Node* node = targets.cluster.nodes.data();
  if (!request.nodes.empty()) {
    ASSIGN_OR_RETURN(node, find_node(targets.cluster, request.nodes[0]));
  }
  ASSIGN_OR_RETURN(Reach reach, parse_reach(node->reach));
  NodeOrder order = order_of(targets.cluster, *node);
  order.pids = request.pids;
  order.cgroup = request.cgroup;
  if (reach.kind == ReachKind::ssh) {
    targets.remote.push_back({*node, std::move(order)});
    targets.far_command = request.command;
    return targets;
  }
  ASSIGN_OR_RETURN(pid_t root, root_of(reach));
  CaptureNode target;
  target.name = node->name;
  target.around = order.around;
  target.cgroup = order.cgroup;
  ASSIGN_OR_RETURN(target.processes, asked_processes(order));
  find_storage(target.processes, order.storage_option, root, target.around);
  targets.what.push_back(request.command.empty()
                             ? target_text(target)
                             : cat("COMMAND: ", printable(join(request.command, " "), kShownCommand)));
  targets.here.push_back(std::move(target));
  if (request.command.empty()) return targets;
  ASSIGN_OR_RETURN(std::unique_ptr<Runner> runner, make_runner(*node));
  targets.command = runner->argv(request.command);
  return targets;
}

// A lab's client is captured whole: applications, and the daemon of the file system that they wait for. Of a server
// only its daemons are the file system.
Status add_lab_node(const Node& node, const std::string& ns, NodeOrder order, SyscapTargets& targets) {
  ASSIGN_OR_RETURN(ProcessId keeper, find_keeper(ns));
  if (node.kind == NodeKind::client) order.daemons.clear();
  ASSIGN_OR_RETURN(CaptureNode target, find_target(order, keeper.pid));
  targets.what.push_back(target_text(target));
  targets.here.push_back(std::move(target));
  return Ok{};
}

Status add_local_node(const NodeOrder& order, SyscapTargets& targets) {
  ASSIGN_OR_RETURN(CaptureNode target, find_target(order, ::getpid()));
  targets.what.push_back(target_text(target));
  targets.here.push_back(std::move(target));
  return Ok{};
}

Status add_node(const Node& node, bool asked, SyscapTargets& targets) {
  auto reach = parse_reach(node.reach);
  if (!reach) return input_error(cat("node ", node.name, ": ", reach.error().what), reach.error().hint);
  NodeOrder order = order_of(targets.cluster, node);
  if (reach->kind == ReachKind::ns) return add_lab_node(node, reach->ns, std::move(order), targets);
  if (order.daemons.empty()) {
    std::string what = cat("nothing is known that could be captured on ", node.name);
    if (asked) return input_error(what, "name its processes in cluster.toml: daemons = [\"...\"]");
    targets.notes.push_back(what);
    return Ok{};
  }
  if (reach->kind == ReachKind::local) return add_local_node(order, targets);
  targets.remote.push_back({node, std::move(order)});
  return Ok{};
}

// Two nodes that are both this machine would be the same processes twice.
Status refuse_twins(const std::vector<const Node*>& nodes) {
  const Node* first = nullptr;
  for (const Node* node : nodes) {
    if (node->reach != "local") continue;
    if (first != nullptr)
      return input_error(cat(first->name, " and ", node->name, " are both this machine (reach is local)"),
                         "say how each node is reached: reach = \"ssh:root@HOST\"");
    first = node;
  }
  return Ok{};
}

Result<SyscapTargets> whole_nodes(const TargetRequest& request) {
  SyscapTargets targets;
  ASSIGN_OR_RETURN(targets.cluster, cluster_of(request));
  std::vector<const Node*> chosen;
  for (const std::string& name : request.nodes) {
    ASSIGN_OR_RETURN(const Node* node, find_node(targets.cluster, name));
    if (std::find(chosen.begin(), chosen.end(), node) == chosen.end()) chosen.push_back(node);
  }
  if (request.nodes.empty())
    for (const Node& node : targets.cluster.nodes)
      if (node.kind != NodeKind::other) chosen.push_back(&node);
  RETURN_IF_ERROR(refuse_twins(chosen));
  for (const Node* node : chosen) RETURN_IF_ERROR(add_node(*node, !request.nodes.empty(), targets));
  if (targets.here.empty() && targets.remote.empty())
    return input_error(cat(request.cluster_file, " names no node that could be captured"),
                       "name their processes: daemons = [\"...\"]; a file system in the kernel has none");
  for (size_t i = 0; i < targets.here.size(); ++i)
    if (targets.here[i].processes.empty() && !targets.here[i].all_newcomers)
      targets.notes.push_back(cat(targets.here[i].name, ": ", targets.what[i]));
  return targets;
}

}  // namespace

Surroundings surroundings_of(const Cluster& cluster, const Node& node) {
  Surroundings around;
  around.server = node.kind == NodeKind::server;
  around.storage = node.storage;
  around.data_ports = data_ports_of(cluster);
  for (const Node& each : cluster.nodes)
    if (!each.address.empty()) around.peers.push_back({each.name, each.address, each.kind});
  return around;
}

Result<SyscapTargets> find_targets(const TargetRequest& request) {
  if (request.pids.empty() && request.cgroup.empty() && request.command.empty()) return whole_nodes(request);
  return one_node(request);
}

}  // namespace culprit
