// A recorded device that vanishes, or is back, leaves a note: rows that end must have their reason in the run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"

namespace culprit {

class Presence {
 public:
  void seen(uint32_t tick) { tick_ = tick; }

  // Once per tick, after all that are there were seen. `noun` is what the device is: "disk".
  void say_changes(uint32_t tick, std::string_view noun, std::string_view name, std::vector<std::string>& notes) {
    const bool gone = tick_ != tick;
    if (std::exchange(gone_, gone) != gone) notes.push_back(cat(noun, " ", name, gone ? " has vanished" : " is back"));
  }

 private:
  uint32_t tick_ = 0;
  bool gone_ = false;
};

}  // namespace culprit
