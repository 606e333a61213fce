// A workload for servers that err (HotDep'09, section 5: "repeatedly opens a new file and writes"): each step makes a
// file, writes and reads it back, appends to an older one, writes over a record of a large one and removes the oldest.
// What fails is told and counted, and the next step comes all the same, as an application with good error handling
// would do it; so it meets whatever a server has to say for as long as the fault lasts. What is read is compared with
// what was written: data that a server lost silently are found here, too.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "load/churn_options.h"

namespace culprit {

struct ChurnReport {
  int64_t steps = 0;
  int64_t longest_ns = 0;                     // of one call
  std::map<std::string, int64_t> complaints;  // "write: No space left on device" -> how often
};

// "steps 812, longest call 0.041 s, write: No space left on device 12 times\n"
std::string format_churn(const ChurnReport& report);

struct ChurnListener {
  std::function<void(std::string_view)> first;     // a complaint of a new kind, as a line
  std::function<void(const ChurnReport&)> so_far;  // every few seconds, when there are any
};

ChurnReport run_churn(const ChurnOptions& options, const std::atomic<bool>& stop, const ChurnListener& listener);

// culprit-node churn ...; the exit code, which is 0 whatever the file system answered.
int run_churn_command(const std::vector<std::string>& words, int out, int err);

}  // namespace culprit
