#include "study/node_logs.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"

namespace culprit {

namespace {

constexpr int64_t kMostPerNode = 1'000'000;  // bytes, below what a stage reads of a script
constexpr size_t kMostLogs = 200;            // of a node
constexpr int64_t kQuick = 20 * kNsPerSecond;

// Names come from a node and become names here.
bool is_plain(std::string_view path) {
  if (path.empty() || path.size() > 200 || path[0] == '/' || path.find("..") != std::string_view::npos) return false;
  return std::all_of(path.begin(), path.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '.' || c == '_' || c == '-' || c == '/' || c == '+';
  });
}

std::string flat(std::string path) {
  std::replace(path.begin(), path.end(), '/', '-');
  return path;
}

}  // namespace

std::map<std::string, int64_t> parse_log_sizes(std::string_view text) {
  std::map<std::string, int64_t> out;
  for (std::string_view line : split(text, '\n')) {
    const size_t blank = line.find(' ');
    if (blank == std::string_view::npos || out.size() == kMostLogs) continue;
    const auto size = parse_int(line.substr(0, blank));
    const std::string_view path = line.substr(blank + 1);
    if (size && *size >= 0 && is_plain(path)) out[std::string(path)] = *size;
  }
  return out;
}

std::vector<const Node*> NodeLogs::nodes() const {
  std::vector<const Node*> all = stage_.servers();
  all.insert(all.end(), stage_.clients().begin(), stage_.clients().end());
  return all;
}

Result<NodeLogs::Sizes> NodeLogs::sizes_of(const Node& node) const {
  const std::string script = cat("cd ", shell_quote(folder_),
                                 " 2>/dev/null || exit 0\nfind . -type f -printf '%s %P\\n' | head -n ", kMostLogs);
  ASSIGN_OR_RETURN(const std::string text, stage_.sh(node, script, kQuick));
  return parse_log_sizes(text);
}

Status NodeLogs::begin() {
  before_.clear();
  for (const Node* node : nodes()) {
    ASSIGN_OR_RETURN(before_[node->name], sizes_of(*node));
  }
  return Ok{};
}

Status NodeLogs::keep_node(const Node& node, const std::string& into) const {
  ASSIGN_OR_RETURN(const Sizes now, sizes_of(node));
  const auto earlier = before_.find(node.name);
  int64_t left = kMostPerNode;
  for (const auto& [path, size] : now) {
    int64_t from = 0;
    if (earlier != before_.end() && earlier->second.count(path)) from = earlier->second.at(path);
    if (size < from) from = 0;  // a new one under the old name
    const int64_t bytes = std::min(size - from, left);
    if (bytes == 0) continue;
    const std::string script = cat("cd ", shell_quote(folder_), " && tail -c +", from + 1, " ",
                                   shell_quote("./" + path), " | head -c ", bytes);
    ASSIGN_OR_RETURN(const std::string text, stage_.sh(node, script, kQuick));
    std::error_code failed;
    std::filesystem::create_directories(into, failed);
    if (failed) return system_error(cat("cannot make ", into), failed.value());
    RETURN_IF_ERROR(write_file_atomically(cat(into, "/", flat(path)), text));
    left -= bytes;
  }
  return Ok{};
}

Status NodeLogs::keep(const std::string& run_path) const {
  for (const Node* node : nodes()) RETURN_IF_ERROR(keep_node(*node, cat(run_path, "/logs/", node->name)));
  return Ok{};
}

}  // namespace culprit
