// The options of culprit-node churn: where small files come and go, for how long and how fast.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace culprit {

struct ChurnOptions {
  std::string folder;              // where new files are made
  std::vector<std::string> files;  // large ones that are there, written over and read in turn
  int64_t duration_ns = 0;         // 0: until `steps` are done
  int64_t steps = 0;
  int64_t record = 16 << 10;            // bytes of one call
  int64_t pause_ns = 100 * kNsPerMs;    // between steps
  int64_t keep = 16;                    // so many files are kept, then the oldest goes
  int64_t stall_ns = 5 * kNsPerSecond;  // a call that takes longer is complained about
  bool direct = false;
  uint64_t seed = 1;
  bool help = false;
};

Result<ChurnOptions> parse_churn_options(const std::vector<std::string>& arguments);
std::string churn_help();

}  // namespace culprit
