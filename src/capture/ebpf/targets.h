// Whom the probes follow, as the user side tells them: processes that run already, and where newcomers may appear.
// Children are the kernel side's business; only those that were there before the probes are looked for here.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/process.h"
#include "base/result.h"
#include "capture/backend.h"
#include "capture/ebpf/loader.h"

namespace culprit {

class Targets {
 public:
  explicit Targets(Probes& probes) : probes_(probes) {}

  // Maps of newcomers and, in aggregating mode, of what a descriptor's class is made from. Before attach().
  Status describe_nodes(const std::vector<CaptureNode>& nodes, bool sums);
  // A process that has ended meanwhile is no error. started = false: from its exec on.
  Status add(const ProcessId& process, size_t node, bool started);
  // After attach(): whoever was born between the look and the probes, and who ended meanwhile. Ends when a look finds
  // nobody new.
  Status add_families(const std::vector<CaptureNode>& nodes);

  const std::vector<std::string>& notes() const { return notes_; }

 private:
  Status describe_home(const CaptureNode& node, uint32_t index);
  Status describe_classes(const CaptureNode& node, uint32_t index);
  void count(uint32_t process, int change);
  void remove_if_gone(const ProcessId& process);

  Probes& probes_;
  std::set<pid_t> added_;
  std::vector<std::string> notes_;
};

bool has_newcomers(const CaptureNode& node);
// What a name in `newcomers` is for the kernel: at most 15 characters.
syscap_name make_comm(uint32_t node, std::string_view name);
syscap_ports make_ports(const Surroundings& around);

}  // namespace culprit
