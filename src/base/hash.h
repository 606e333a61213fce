// A short name for some bytes: 64-bit FNV-1a. Ours, because it is five lines and the layers below the store link no
// hash library. It guards against mistakes (another version of a file), not against an attacker.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace culprit {

constexpr uint64_t kFnvStart = 0xcbf29ce484222325;  // the offset basis of the published algorithm

// `hash` is the result for the bytes before these.
constexpr uint64_t fnv1a64(std::string_view bytes, uint64_t hash = kFnvStart) {
  for (char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;  // its prime
  return hash;
}

// Sixteen hexadecimal digits.
inline std::string hash_name(uint64_t hash) {
  std::string name;
  for (int shift = 60; shift >= 0; shift -= 4) name += "0123456789abcdef"[(hash >> shift) & 15];
  return name;
}

}  // namespace culprit
