// Which notes of a recording are kept: each once, and only so many, because a node can send as many as it likes and
// they all end in memory and in the manifest.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace culprit {

class Notes {
 public:
  static constexpr size_t kMostOfANode = 50;
  static constexpr size_t kMost = 2000;  // of all nodes: the manifest must stay small enough to be read

  explicit Notes(size_t nodes) : kept_(nodes) {}

  // The note as it is to be kept and said; nothing when it was said already or there are too many. The first one too
  // many becomes a note that says so.
  std::optional<std::string> take(size_t node, std::string_view text);

 private:
  std::set<std::string> said_;  // "NODE TEXT"
  std::vector<size_t> kept_;    // of each node
  size_t all_ = 0;
  bool full_ = false;
};

}  // namespace culprit
