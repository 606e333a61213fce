#include "lab/lab.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <thread>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "hosts/keeper.h"
#include "hosts/runner.h"
#include "lab/disks.h"
#include "lab/lab_fs.h"

namespace culprit {

namespace {

constexpr std::string_view kLabs = "/run/culprit/labs";
constexpr std::string_view kServerDisk = "/mnt/disk";  // where a server has its disk mounted
constexpr int64_t kAskAgain = 100 * kNsPerMs;

std::vector<const LabNode*> of_kind(const std::vector<LabNode>& nodes, NodeKind kind) {
  std::vector<const LabNode*> found;
  for (const LabNode& node : nodes)
    if (node.kind == kind) found.push_back(&node);
  return found;
}

}  // namespace

Lab::Lab(LabPlan plan) : plan_(std::move(plan)), nodes_(plan_nodes(plan_)) {}

std::vector<const LabNode*> Lab::servers() const {
  return of_kind(nodes_, NodeKind::server);
}

std::vector<const LabNode*> Lab::clients() const {
  return of_kind(nodes_, NodeKind::client);
}

const LabNode* Lab::find(std::string_view name) const {
  auto found = std::find_if(nodes_.begin(), nodes_.end(), [&](const LabNode& node) { return node.name == name; });
  return found == nodes_.end() ? nullptr : &*found;
}

std::string Lab::folder() const {
  return cat(kLabs, "/", plan_.name);
}

std::string Lab::node_folder(const LabNode& node) const {
  return cat(folder(), "/nodes/", node.name);
}

std::string Lab::images_folder() const {
  return cat(plan_.images, "/culprit-", plan_.name);
}

std::string Lab::socket_path() const {
  return cat(folder(), "/disk.sock");
}

std::vector<std::string> enter_command(const LabNode& node, const std::vector<std::string>& command) {
  return make_runner(Reach{.kind = ReachKind::ns, .ns = node.ns, .user = "", .host = ""}, node.name, {})->argv(command);
}

Result<std::string> Lab::run(const LabNode& node, const std::vector<std::string>& command, int64_t timeout_ns) const {
  ASSIGN_OR_RETURN(Output output, run_command(enter_command(node, command), timeout_ns));
  if (output.exit_code == 0) return output.out;
  std::string said = output.err.empty() ? output.out : output.err;
  return system_error(cat(node.name, ": ", command[0], " failed (exit code ", output.exit_code, ")",
                          said.empty() ? "" : ": ", printable(trim(said), 300)),
                      0);
}

Result<std::string> Lab::sh(const LabNode& node, const std::string& script, int64_t timeout_ns) const {
  return run(node, {"sh", "-c", script}, timeout_ns);
}

Status Lab::wait_for(const LabNode& node, const std::string& script, int64_t timeout_ns) const {
  int64_t end = monotonic_now_ns() + timeout_ns;
  for (;;) {
    auto done = sh(node, script, std::max(end - monotonic_now_ns(), kNsPerSecond));
    if (done) return Ok{};
    if (monotonic_now_ns() >= end) return std::move(done).error();
    timespec pause{0, kAskAgain};
    ::nanosleep(&pause, nullptr);
  }
}

Status for_each_node(const std::vector<const LabNode*>& nodes, const std::function<Status(const LabNode&)>& work) {
  std::vector<Status> results(nodes.size(), Ok{});
  std::vector<std::thread> threads;
  for (size_t i = 0; i < nodes.size(); ++i) threads.emplace_back([&, i] { results[i] = work(*nodes[i]); });
  for (std::thread& thread : threads) thread.join();
  for (Status& result : results) RETURN_IF_ERROR(result);
  return Ok{};
}

const LabFs* find_lab_fs(std::string_view name) {
  for (const LabFs* fs : lab_filesystems())
    if (fs->name == name) return fs;
  return nullptr;
}

std::vector<std::string> lab_names() {
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(kLabs, failed))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

Result<Lab> open_lab(const std::string& name) {
  RETURN_IF_ERROR(check_lab_name(name));
  auto text = read_file(cat(kLabs, "/", name, "/plan"));
  if (!text)
    return input_error(cat("the lab ", name, " is not up"),
                       ::geteuid() == 0 ? "bring it up with `culprit lab up`, or see `culprit lab list`"
                                        : "labs are seen by root only");
  ASSIGN_OR_RETURN(LabPlan plan, parse_plan(*text));
  if (plan.name != name || find_lab_fs(plan.fs) == nullptr)
    return input_error(cat("the folder of the lab ", name, " is damaged"), cat("culprit lab down --name ", name));
  return Lab(std::move(plan));
}

Cluster lab_cluster(const Lab& lab, const std::vector<std::pair<std::string, std::string>>& loops) {
  const LabFs* fs = find_lab_fs(lab.plan().fs);
  Cluster cluster;
  cluster.name = lab.plan().name;
  cluster.fs = lab.plan().fs;
  cluster.data_ports = fs->data_ports;
  for (const LabNode& from : lab.nodes()) {
    Node node;
    node.name = from.name;
    node.kind = from.kind;
    node.address = from.address;
    node.roles = from.roles;
    node.reach = cat("ns:", from.ns);
    node.nics = {"eth0"};
    for (const auto& [disk, device] : loops)
      if (disk == from.disk) node.disks = {device};
    if (from.kind == NodeKind::server) {
      node.daemons = fs->daemons;
      node.storage = {std::string(kServerDisk)};
    }
    cluster.nodes.push_back(std::move(node));
  }
  return cluster;
}

std::vector<LabNodeStatus> lab_status(const Lab& lab) {
  const LabFs* fs = find_lab_fs(lab.plan().fs);
  std::vector<LabNodeStatus> all;
  auto loops = attached_loops(lab);
  for (const LabNode& node : lab.nodes()) {
    LabNodeStatus status{.node = &node, .alive = false, .mounted = false, .device = ""};
    auto keeper = find_keeper(node.ns);
    status.alive = keeper.ok();
    for (const auto& [disk, device] : loops)
      if (disk == node.disk) status.device = device;
    auto mounts = keeper ? read_file(cat("/proc/", keeper->pid, "/mounts")) : Result<std::string>(std::string());
    std::string sign = node.kind == NodeKind::server ? cat(" ", kServerDisk, " ")
                       : fs->mount_type.empty()      ? " /mnt/lab/"
                                                     : cat(" /mnt/lab ", fs->mount_type);
    if (mounts) status.mounted = mounts->find(sign) != std::string::npos;
    all.push_back(std::move(status));
  }
  return all;
}

}  // namespace culprit
