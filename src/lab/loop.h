// Loop devices by the kernel's own calls: losetup cannot ask for all of it in one step, and a step in between is where
// two labs would take each other's device.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace culprit {

struct LoopDevice {
  std::string name;    // "loop3"
  Fd open;             // it detaches itself when the last one closes it
  bool added = false;  // there was no such device before
};

// Direct I/O, and detached by the kernel when nobody uses it any more.
Result<LoopDevice> attach_loop(const std::string& file);
// The backing file's path as the kernel knows it; "" when nothing is attached.
std::string loop_backing(std::string_view device);
std::vector<std::string> loop_devices();  // all that exist, attached or not
Status detach_loop(const std::string& device);
void remove_loop(const std::string& device);  // the device itself; only one that we added

}  // namespace culprit
