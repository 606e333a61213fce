// Records of the ring buffer into calls and descriptors as everybody else knows them. The kernel side sends what it has
// in hand (a path as its components from the last to the first, addresses as bytes); words are made here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "calls/call.h"
#include "capture/backend.h"
#include "capture/ebpf/syscap_abi.h"

namespace culprit {

// The folders that processes have open or work in: what the relative paths of failed calls are relative to. The kernel
// side tells of a folder before it tells of a path in it.
class OpenFolders {
 public:
  void learn(const FdRecord& record);  // of any descriptor: its number may have been a folder's before
  std::string complete(int32_t process, int32_t folder, std::string path) const;

 private:
  std::map<std::pair<int32_t, int32_t>, std::string> names_;  // by process and descriptor
};

struct EventContext {
  size_t nodes = 0;
  int64_t wall_offset_ns = 0;  // what turns the kernel's monotonic times into wall clock
  OpenFolders folders = {};
};

// Hands over what one record says. False: it is none of ours, or cut short.
bool deliver_event(std::string_view bytes, EventContext& context, CaptureSink& sink);

// The parts, for the tests.
Call make_call(const syscap_call& record, int64_t wall_offset_ns);
FdRecord make_fd_record(const syscap_fd& record, std::string_view text, int64_t wall_offset_ns);
std::string path_of_components(std::string_view text, unsigned marks);

}  // namespace culprit
