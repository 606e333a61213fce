// Units at the edges: "100ms", "60s", "5m", "200MB". Inside, durations are nanoseconds and sizes bytes, both int64.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace culprit {

constexpr int64_t kNsPerUs = 1000;
constexpr int64_t kNsPerMs = 1000 * kNsPerUs;
constexpr int64_t kNsPerSecond = 1000 * kNsPerMs;

Result<int64_t> parse_duration(std::string_view text);  // ns; a bare number is seconds
Result<int64_t> parse_bytes(std::string_view text);     // kB MB GB are powers of 1000, KiB MiB GiB of 1024
Result<int64_t> parse_bits(std::string_view text);      // of a link, per second: kbit Mbit Gbit, powers of 1000
std::string format_duration(int64_t ns);                // "90s", "100ms", "2m 30s"
std::string format_bytes(int64_t bytes);                // "3.2 MB"

// "2026-11-15T22:40:01.250Z"; parse also takes "2026-11-15 22:40:01", with or without Z or +hh:mm (none is UTC), or
// seconds since 1970.
std::string format_time(int64_t wall_ns);
Result<int64_t> parse_time(std::string_view text);

}  // namespace culprit
