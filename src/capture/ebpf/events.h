// Records of the ring buffer into calls and descriptors as everybody else knows them. The kernel side sends what it has
// in hand (a path as its components from the last to the first, addresses as bytes); words are made here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "calls/call.h"
#include "capture/backend.h"
#include "capture/ebpf/syscap_abi.h"

namespace culprit {

struct EventContext {
  size_t nodes = 0;
  int64_t wall_offset_ns = 0;  // what turns the kernel's monotonic times into wall clock
};

// Hands over what one record says. False: it is none of ours, or cut short.
bool deliver_event(std::string_view bytes, const EventContext& context, CaptureSink& sink);

// The parts, for the tests.
Call make_call(const syscap_call& record, int64_t wall_offset_ns);
FdRecord make_fd_record(const syscap_fd& record, std::string_view text, int64_t wall_offset_ns);
std::string path_of_components(std::string_view text, unsigned marks);

}  // namespace culprit
