// Resource limits of running daemons: the soft limit is lowered and later raised to what it was. The hard limit is
// never touched, because without CAP_SYS_RESOURCE nobody could raise it again.
#pragma once

#include <sys/resource.h>

#include <vector>

#include "inject/service.h"

namespace culprit {

// One process's limit; acts as the process's own user when we may not otherwise.
Result<rlimit> get_limit(const FaultWork& work, const ProcessId& process, int resource);
Status set_soft_limit(const FaultWork& work, const ProcessId& process, int resource, rlim_t soft);

// The noted services (note_services) keep their old limits in the notes; these go through them.
// `choose` says the new soft limit of a process; it is only ever lowered.
using ChooseLimit = Result<rlim_t> (*)(const FaultWork& work, const ProcessId& process);
Status lower_limits(const FaultWork& work, int resource, ChooseLimit choose);
Status raise_limits(const FaultWork& work, int resource);
Result<bool> limits_are_lowered(const FaultWork& work, int resource);

// The limit of descriptors that leaves exactly `spare` free numbers, given those in use: the highest such limit,
// because poll(2) refuses more descriptors than the limit.
rlim_t descriptor_limit(std::vector<int> in_use, int64_t spare);

}  // namespace culprit
