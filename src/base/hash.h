// A short name for some bytes: 64-bit FNV-1a. Ours, because it is five lines and the layers below the store link no
// hash library. It guards against mistakes (another version of a file), not against an attacker.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace culprit {

constexpr uint64_t fnv1a64(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;  // the offset basis and the prime of the published algorithm
  for (char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

// Sixteen hexadecimal digits.
inline std::string hash_name(std::string_view bytes) {
  uint64_t hash = fnv1a64(bytes);
  std::string name;
  for (int shift = 60; shift >= 0; shift -= 4) name += "0123456789abcdef"[(hash >> shift) & 15];
  return name;
}

}  // namespace culprit
