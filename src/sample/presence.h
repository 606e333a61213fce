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
    if (std::exchange(gone_, gone) == gone) return;
    ++changes_;  // each note has words of its own: a recording keeps the same words once
    notes.push_back(cat(noun, " ", name, gone ? " has vanished" : " is back",
                        changes_ > 2 ? cat(", time ", (changes_ + 1) / 2) : std::string()));
  }

 private:
  uint32_t tick_ = 0;
  bool gone_ = false;
  uint32_t changes_ = 0;
};

}  // namespace culprit
