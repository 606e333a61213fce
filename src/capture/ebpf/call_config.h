// What the kernel side must know of each call: the table of calls/syscalls.h in a few bytes per number.
#pragma once

#include "capture/backend.h"
#include "capture/ebpf/syscap_abi.h"

namespace culprit {

void fill_call_config(const CallSet& wanted, syscap_config& config);

}  // namespace culprit
