// The load of an experiment: real reads and writes on one file in IOzone's phases (FAST'10 section 8.1: write, fsync,
// rewrite; read, reread), paced into odd shapes where they are wanted. It always ends by itself.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "load/load_options.h"

namespace culprit {

struct LoadLine {
  std::string_view phase;
  int64_t bytes = 0;
  int64_t ns = 0;
};

std::string format_load_line(const LoadLine& line);  // "phase write bytes 123 seconds 1.234\n"

// One line per phase that moves data, also the part that was done before an error or before `stop` was set.
Status run_load(const LoadOptions& options, const std::atomic<bool>& stop, std::vector<LoadLine>& lines);

// culprit-node load ...; the exit code. SIGTERM and SIGINT end it early but well; a second one kills.
int run_load_command(const std::vector<std::string>& words, int out, int err);

}  // namespace culprit
