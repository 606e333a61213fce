// The processes of a node, for a capture: by name, by namespace, by control group, with their children.
// All look once; who starts while they look may be missed, so callers that care look again.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/process.h"
#include "base/result.h"

namespace culprit {

// Names as in /proc/PID/comm, longer ones are cut as the kernel cuts them. network_namespace 0: any.
std::vector<ProcessId> processes_named(const std::vector<std::string>& names, uint64_t network_namespace,
                                       const std::string& proc = "/proc");
// Every process of a network namespace; kernel threads are none.
std::vector<ProcessId> processes_in(uint64_t network_namespace, const std::string& proc = "/proc");
// The inode of /proc/PID/ns/net; 0 when unknown.
uint64_t network_namespace_of(pid_t pid, const std::string& proc = "/proc");
// A folder of cgroup v2, "/sys/fs/cgroup/system.slice/x" or "system.slice/x", with all groups below it.
Result<std::vector<ProcessId>> processes_of_cgroup(const std::string& path);
// The processes of a folder with files "cgroup.procs" and of all folders below it; for the tests.
std::vector<ProcessId> members_below(const std::string& folder);
// These first, in their order, then all their descendants.
std::vector<ProcessId> with_descendants(const std::vector<ProcessId>& processes, const std::string& proc = "/proc");
// Its threads' numbers, its own among them; empty when it is gone.
std::vector<pid_t> threads_of(pid_t pid, const std::string& proc = "/proc");

}  // namespace culprit
