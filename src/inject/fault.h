// What a fault is: a descriptor per file in faults/, read by the controller (which nodes take part, with which
// parameters), by the guard on the node (apply, prolong, undo) and by `culprit list faults` and the reference page.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/cluster.h"

namespace culprit {

enum class FaultClass {
  leased,      // ends alone
  restart,     // its end includes a restart of the server's daemons by the guard
  persistent,  // changes what is stored; lab only; its undo is the snapshot of the disk's image
};

// Who ends it when the controller and the guard are both dead.
enum class HeldBy {
  kernel,   // nobody is needed: a timeout in the kernel, a deadline in the virtual disk, the death of its parent
  journal,  // the next `culprit inject` or `--undo-all` that looks at the node
};

struct FaultParam {
  std::string_view name;  // "share"
  std::string_view unit;  // what a value looks like: "FRACTION", "PERCENT", "RATE", "TIME", "BYTES", "COUNT", "WORD"
  std::string_view fallback;  // "" must be given, or the fault finds out by itself
  std::string_view help;
};

using FaultParams = std::map<std::string, std::string, std::less<>>;

// What one node does in an injection. It travels to the node as text, and is the head of its journal.
struct FaultPart {
  std::string id;           // of the injection, the same on all its nodes: goes into the names of what is made
  std::string fault;        // "disk_hog"
  std::string node;         // the node's name in cluster.toml
  std::string address;      // and its address there; may be empty
  std::string role;         // "target"; a fault with several kinds of participants names them: "sender", "client"
  uint64_t seed = 0;        // every random choice comes from it
  int64_t duration_ns = 0;  // until the fault ends by itself
  int64_t lease_ns = 0;     // how long a lease in the kernel lasts before the guard must prolong it
  FaultParams params;       // all of them, fallbacks filled in
  std::string fs;           // the file system's name
  std::vector<std::string> disks, nics, daemons;  // the node's, as cluster.toml or the adapter says
  std::vector<std::string> peers;                 // addresses the part needs, for example of the target it drops from
};

// A part at work on its node. `notes` is what undo needs and apply found out; it is in the journal before apply runs,
// and again after it.
struct FaultWork {
  FaultPart part;
  FaultParams notes;
  std::string proc = "/proc";
  std::string sys = "/sys";
};

// What the controller knows when it plans.
struct FaultPlan {
  const Cluster* cluster = nullptr;
  std::vector<const Node*> targets;  // --on
  const Node* from = nullptr;        // --from: the third party; the lab's x1 when not given
  FaultParams params;
};

// Participants: which node plays which role, and the addresses it needs.
struct Participant {
  const Node* node = nullptr;
  std::string role = "target";
  std::vector<std::string> peers;
};

struct FaultInfo {
  std::string_view name;
  std::string_view summary;
  FaultClass kind = FaultClass::leased;
  HeldBy held = HeldBy::kernel;
  std::vector<FaultParam> params = {};
  std::vector<std::string_view> tools = {};  // programs that must be in the node's PATH
  bool needs_virtual_disk = false;           // only on a disk served by culprit-disk
  bool needs_disk = false;                   // the node must name its disks in cluster.toml
  bool needs_daemons = false;                // at least one of the node's daemons must be running
  bool leaves_files = false;                 // on a disk, where they survive a reboot: its journal has to, too

  // Controller. nullptr: every --on node is a "target".
  Result<std::vector<Participant>> (*plan)(const FaultPlan& plan) = nullptr;

  // Node. All but apply change nothing or are harmless when repeated; undo works from the part and the notes alone,
  // never needs free space, and is also called when apply failed half-way.
  Status (*prepare)(FaultWork& work) = nullptr;        // preflight: why it cannot be done; fills the notes
  Status (*apply)(FaultWork& work) = nullptr;          // returns when the fault is in force
  Status (*prolong)(const FaultWork& work) = nullptr;  // heartbeat of leases in the kernel; nullptr: none
  Status (*undo)(const FaultWork& work) = nullptr;
  Result<bool> (*active)(const FaultWork& work) = nullptr;  // by looking, not by remembering
};

std::span<const FaultInfo* const> inject_faults();
const FaultInfo* find_fault(std::string_view name);
std::string_view fault_class_name(FaultClass kind);  // leased, restart, persistent

// Typed parameters; the error names the fault, the parameter and what it takes.
Result<double> number_param(const FaultPart& part, std::string_view name, double low, double high);
Result<int64_t> bytes_param(const FaultPart& part, std::string_view name, int64_t low, int64_t high);
Result<int64_t> duration_param(const FaultPart& part, std::string_view name, int64_t low_ns, int64_t high_ns);
std::string word_param(const FaultPart& part, std::string_view name);

}  // namespace culprit
