#include "load/load_data.h"

namespace culprit {

namespace {

constexpr size_t kSectorWords = 512 / 8;
constexpr uint64_t kSpread = 0x9e3779b97f4a7c15;  // odd, so that different numbers stay different; 2^64 / golden ratio

// Marsaglia's xorshift: as its state is never zero, neither is a word.
uint64_t xorshift(uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

}  // namespace

LoadData::LoadData(uint64_t seed, int64_t record_bytes)
    : seed_(seed), blocks_(static_cast<size_t>((record_bytes + kLoadAlignment - 1) / kLoadAlignment)) {
  fill();
}

void LoadData::fill() {
  uint64_t state = (seed_ + 1) * kSpread;  // seeds that are neighbours must not begin alike
  if (state == 0) state = kSpread;
  for (Block& block : blocks_) {
    for (uint64_t& word : block.words) word = xorshift(state);
  }
}

void LoadData::stamp(uint64_t number) {
  uint64_t sector = number * blocks_.size() * (kWords / kSectorWords);
  for (Block& block : blocks_) {
    for (size_t i = 0; i < kWords; i += kSectorWords) block.words[i] = ++sector * kSpread;
  }
}

}  // namespace culprit
