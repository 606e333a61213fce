// The calls of a block as columns of small numbers, of which zstd then leaves a few bytes a call. docs/formats/sclog.md
// has the layout. What is written comes back exactly, whatever the values are.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "calls/call.h"

namespace culprit {

std::string encode_calls(std::span<const Call> calls);
// `count` is what the block's header says. The error says what is wrong with the bytes.
Status decode_calls(std::string_view raw, size_t count, std::vector<Call>& calls);

}  // namespace culprit
