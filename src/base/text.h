// Small text tools without a formatting library, so that the static node sampler stays small.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace culprit {

namespace text_detail {
inline void append(std::string& out, std::string_view s) {
  out += s;
}
inline void append(std::string& out, char c) {
  out += c;
}
inline void append(std::string& out, long long v) {
  out += std::to_string(v);
}
inline void append(std::string& out, unsigned long long v) {
  out += std::to_string(v);
}
inline void append(std::string& out, long v) {
  out += std::to_string(v);
}
inline void append(std::string& out, unsigned long v) {
  out += std::to_string(v);
}
inline void append(std::string& out, int v) {
  out += std::to_string(v);
}
inline void append(std::string& out, unsigned v) {
  out += std::to_string(v);
}
}  // namespace text_detail

// cat("disk ", name, " has ", 3, " partitions")
template <class... Parts>
std::string cat(const Parts&... parts) {
  std::string out;
  (text_detail::append(out, parts), ...);
  return out;
}

std::vector<std::string_view> split(std::string_view text, char separator);  // keeps empty fields
std::string_view trim(std::string_view text);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::optional<int64_t> parse_int(std::string_view text);          // the whole text, decimal
std::optional<double> parse_double(std::string_view text);        // the whole text; NaN and infinities are refused
std::string printable(std::string_view text, size_t limit = 80);  // safe to show: control bytes escaped, cut to limit

// The candidate nearest to `word` by edit distance, or "" when none is near enough to be meant.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace culprit
