// Path names that can be shared: each component becomes "~" and 16 digits of a keyed hash, so that folders stay folders
// and the same name stays the same, but nobody without the key can read or easily guess it.
//
// SipHash-2-4, because it is made for keys and short texts, and small enough to be ours. Whoever has the log can try
// keys: a key that can be guessed protects nothing, so take 16 random bytes. And a log says more than its names: who
// has the same tree of files can match sizes, times and the shape of the folders.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "calls/call.h"

namespace culprit {

using SipKey = std::array<uint64_t, 2>;  // k0, k1 of the published algorithm

uint64_t siphash24(std::string_view bytes, const SipKey& key);

class PathHasher {
 public:
  explicit PathHasher(std::string key);  // of any length

  // "/brick/a.txt" -> "/~0123456789abcdef/~fedcba9876543210". "pipe:[7]", "anon_inode:[eventpoll]", " (deleted)" and
  // what has been hashed already stay as they are.
  std::string hash(std::string_view name) const;
  // The name and the paths of Unix sockets are hashed. Addresses are not: a diagnosis needs to know who talks to whom.
  FdRecord hash(FdRecord record) const;

 private:
  std::string component(std::string_view name) const;

  SipKey key_;
};

}  // namespace culprit
