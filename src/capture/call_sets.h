// Which calls a capture wants, as people say it on the command line: the name of a set, or names of calls.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "capture/backend.h"

namespace culprit {

struct CallSetInfo {
  std::string_view name;
  std::string_view summary;
};
std::span<const CallSetInfo> call_sets();  // for help texts

// "io", "file,network", "openat,pwrite64,fsync": sets and calls may be mixed.
Result<CallSet> parse_call_set(std::string_view text);

}  // namespace culprit
