// A lab: real file servers on one machine. Each node is a process (its keeper) with namespaces of its own; each server
// has a virtual disk below a real loop device and a real file system. Everything a lab made is either held by a process
// that can be found (and dies with it) or is a file in its folders, so `down` needs no memory of `up`.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"
#include "base/subprocess.h"
#include "lab/plan.h"
#include "model/cluster.h"

namespace culprit {

using LabSay = std::function<void(std::string_view)>;  // progress, a line at a time

class Lab {
 public:
  explicit Lab(LabPlan plan);

  const LabPlan& plan() const { return plan_; }
  const std::vector<LabNode>& nodes() const { return nodes_; }
  std::vector<const LabNode*> servers() const;
  std::vector<const LabNode*> clients() const;
  const LabNode* find(std::string_view name) const;

  std::string folder() const;                          // what is known of it
  std::string node_folder(const LabNode& node) const;  // seen by the node as /run/culprit-lab
  std::string images_folder() const;                   // the disks' images
  std::string socket_path() const;                     // of culprit-disk

  // Runs it in the node to its end; a non-zero exit code is an error that says what it printed.
  Result<std::string> run(const LabNode& node, const std::vector<std::string>& command, int64_t timeout_ns) const;
  Result<std::string> sh(const LabNode& node, const std::string& script, int64_t timeout_ns) const;
  // Repeats until it succeeds or the time is over; the last error then.
  Status wait_for(const LabNode& node, const std::string& script, int64_t timeout_ns) const;

 private:
  LabPlan plan_;
  std::vector<LabNode> nodes_;
};

// The local command that runs `command` in the node.
std::vector<std::string> enter_command(const LabNode& node, const std::vector<std::string>& command);

// Does it for all at once, each in a thread of its own; the first error in the order of the list.
Status for_each_node(const std::vector<const LabNode*>& nodes, const std::function<Status(const LabNode&)>& work);

// Brings it up; what was made is taken down again when it fails. `stop` is looked at between the steps.
Status lab_up(const Lab& lab, const LabSay& say, const std::function<bool()>& stop);
// Waits until no server lacks what was written while it was away and all that was written is on the disks; an error
// when that takes too long.
Status lab_settle(const Lab& lab);
// Unmounts the file system on all clients and mounts it again: new connections, cold caches.
Status lab_remount(const Lab& lab);
// Takes it down, whatever is left of it. Returns what could not be removed, if anything.
Status lab_down(const std::string& name, const LabSay& say);

std::vector<std::string> lab_names();           // all labs of which something is there
Result<Lab> open_lab(const std::string& name);  // from its plan; an error when it is not up
Cluster lab_cluster(const Lab& lab, const std::vector<std::pair<std::string, std::string>>& loops);

struct LabNodeStatus {
  const LabNode* node = nullptr;
  bool alive = false;    // its keeper lives
  bool mounted = false;  // a server's disk or a client's file system is mounted
  std::string device;    // the loop device of a server
};
std::vector<LabNodeStatus> lab_status(const Lab& lab);

}  // namespace culprit
