// What there is to capture on a node: its daemons of now and those to come, and where they keep the file system's data.
// The same questions are answered for this machine, for a lab's node and, inside culprit-node, behind ssh.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "capture/backend.h"

namespace culprit {

// What the cluster says about a node.
struct NodeOrder {
  std::string name;
  Surroundings around;               // its devices are found out on the node, and its storage where that is empty
  std::vector<std::string> daemons;  // as in /proc/PID/comm; empty: every process of its network namespace
  std::string storage_option;        // the daemons' option that names their storage; "": none does
  // Somebody chose processes, and daemons do not matter: these, or those of this control group.
  std::vector<pid_t> pids;
  std::string cgroup;

  bool names_processes() const { return !pids.empty() || !cgroup.empty(); }
};

// `root` is a process that sees the node's files: our own, or the keeper of a lab's node (which is not captured
// itself). An error when its namespace cannot be seen.
Result<CaptureNode> find_target(const NodeOrder& order, pid_t root);

// The processes that an order names. An error when one of them is not there, or a thread, or us.
Result<std::vector<ProcessId>> asked_processes(const NodeOrder& order);

// Completes `around`: storage from the command lines of `processes` when there is none, then the devices below it.
void find_storage(const std::vector<ProcessId>& processes, std::string_view option, pid_t root, Surroundings& around);

// "glusterfsd 4711, 4712"; "every process of the node". Of daemons that are not there it says whether they run in a
// container instead.
std::string target_text(const CaptureNode& node);

// The values of an option in a command line as /proc/PID/cmdline has it: "--opt value" and "--opt=value".
std::vector<std::string> option_values(std::string_view cmdline, std::string_view option);

}  // namespace culprit
