#include "cli/syscap/node_lines.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace culprit {

namespace {

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string out = "\"";
  for (char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

NodeLines::NodeLines(CallFormat format, bool named) : format_(format), named_(named) {}

void NodeLines::begin(const std::string& node) {
  first_node_ = prefix_.empty();
  at_start_ = true;
  quoted_ = false;
  heading_ = format_ == CallFormat::csv;
  if (format_ == CallFormat::csv) prefix_ = csv_field(node) + ",";
  if (format_ == CallFormat::jsonl) prefix_ = cat("{\"node\":", json_text(node), ",");
  if (format_ == CallFormat::text) prefix_ = node + " ";
}

std::string NodeLines::before_line() const {
  if (format_ != CallFormat::jsonl && !named_) return "";
  return heading_ ? "node," : prefix_;
}

std::string NodeLines::take(std::string_view bytes) {
  if (format_ == CallFormat::strace || format_ == CallFormat::perfetto) return std::string(bytes);
  std::string out;
  while (!bytes.empty()) {
    size_t newline = bytes.find('\n');
    size_t length = newline == std::string_view::npos ? bytes.size() : newline + 1;
    std::string_view part = bytes.substr(0, length);
    bytes.remove_prefix(length);
    bool hidden = heading_ && !first_node_;  // one heading is enough
    if (at_start_ && !hidden) {
      out += before_line();
      if (format_ == CallFormat::jsonl && part.starts_with('{')) part.remove_prefix(1);
    }
    if (!hidden) out += part;
    // A path may hold a line break: within quotes it ends no row of CSV.
    if (format_ == CallFormat::csv && std::count(part.begin(), part.end(), '"') % 2 != 0) quoted_ = !quoted_;
    at_start_ = newline != std::string_view::npos && !quoted_;
    if (at_start_) heading_ = false;
  }
  return out;
}

}  // namespace culprit
