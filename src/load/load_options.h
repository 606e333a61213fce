// The options of culprit-node load: what is done with one file, in which order, for how long and how fast.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "load/load_rate.h"

namespace culprit {

enum class LoadStep { write, rewrite, read, fsync, drop };

struct LoadPhase {
  std::string_view name;
  LoadStep step;
  std::string_view help;

  bool writes() const { return step == LoadStep::write || step == LoadStep::rewrite; }
  bool moves_data() const { return writes() || step == LoadStep::read; }
};

struct LoadOptions {
  std::string file;
  std::vector<LoadPhase> phases;
  int64_t duration_ns = 0;  // of all phases; 0: each goes through `bytes`
  int64_t bytes = 0;
  int64_t file_size = 0;  // where a phase starts over; 0: at the end of the file
  int64_t record = 1 << 20;
  bool direct = false;
  bool cold = false;  // no pass of a read finds what the one before left in memory
  LoadRate rate;
  uint64_t seed = 1;
  bool help = false;
};

Result<LoadOptions> parse_load_options(const std::vector<std::string>& arguments);
std::string load_help();

}  // namespace culprit
