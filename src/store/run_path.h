// Where a run is: NAME, NAME.run and NAME.run.partial all mean the same run, and who is writing it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace culprit {

struct RunPaths {
  std::string closed;   // NAME.run
  std::string partial;  // NAME.run.partial
};

Result<RunPaths> run_paths(const std::string& path);
Result<std::string> find_run(const std::string& path);  // the directory that exists

Status make_run_directory(const RunPaths& paths);  // the partial one; refuses when the run exists in either form
Status rename_closed(const RunPaths& paths);       // partial to closed, also on the disk
Status sync_directory(const std::string& path);

// The lock that a recorder holds as long as it lives, with its pid in it.
Result<Fd> take_recorder_lock(const std::string& directory);
std::optional<pid_t> live_recorder(const std::string& directory);  // 0: alive, but its pid cannot be read

Result<std::string> file_checksum(const std::string& path);  // "xxh3:" and 16 hex digits

}  // namespace culprit
