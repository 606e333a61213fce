// The other records of the logs as columns: what descriptors are, and sums. docs/formats/sclog.md has the layout.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "calls/call.h"

namespace culprit {

constexpr size_t kMaxFdText = 4096;  // of a name or an address: PATH_MAX; longer ones are cut when written

std::string encode_fds(std::span<const FdRecord> records);
// `count` is what the block's header says. Appended to `records`, all of them or none.
Status decode_fds(std::string_view raw, size_t count, std::vector<FdRecord>& records);

std::string encode_sums(std::span<const CallSum> sums);
Status decode_sums(std::string_view raw, size_t count, std::vector<CallSum>& sums);  // replaces them

}  // namespace culprit
