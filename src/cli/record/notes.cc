#include "cli/record/notes.h"

#include "base/text.h"

namespace culprit {

namespace {
constexpr size_t kMostBytes = 300;  // of one note
}

std::optional<std::string> Notes::take(size_t node, std::string_view text) {
  if (full_ || kept_[node] > kMostOfANode) return std::nullopt;
  std::string shown = printable(text, kMostBytes);
  if (said_.contains(cat(node, " ", shown))) return std::nullopt;
  full_ = ++all_ > kMost;
  if (++kept_[node] > kMostOfANode || full_) return "more notes were left out";
  said_.insert(cat(node, " ", shown));
  return shown;
}

}  // namespace culprit
