// What a load writes: pseudo-random words that are never zero, repeatable by the seed. Making them anew for each record
// would cost more CPU than the writing, so one record is made once and each of its sectors gets a number of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace culprit {

constexpr int64_t kLoadAlignment = 4096;  // enough for direct I/O on every disk

class LoadData {
 public:
  LoadData(uint64_t seed, int64_t record_bytes);

  void fill();                  // makes the record, also again after something was read into it
  void stamp(uint64_t number);  // from now on it is the record with this number, and no sector of another is equal
  char* data() { return reinterpret_cast<char*>(blocks_.data()); }

 private:
  static constexpr int64_t kWords = kLoadAlignment / 8;
  struct alignas(kLoadAlignment) Block {
    uint64_t words[kWords];
  };

  uint64_t seed_;
  std::vector<Block> blocks_;
};

}  // namespace culprit
