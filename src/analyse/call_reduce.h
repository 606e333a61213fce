// One node's log -> NodeCalls, in one pass and in bounded memory.
#pragma once

#include <cstdint>
#include <optional>

#include "analyse/call_data.h"
#include "calls/call_log.h"

namespace culprit {

struct ReduceOptions {
  int64_t offset_ns = 0;       // the node's clock minus ours
  std::optional<bool> server;  // what the run says about the node; otherwise the log knows
  int64_t since_ns = INT64_MIN;
  int64_t until_ns = INT64_MAX;
};

Result<NodeCalls> reduce_log(CallLogReader& log, const ReduceOptions& options);

}  // namespace culprit
