// Numbers in as few bytes as they need: seven bits a byte, the lowest first (LEB128); differences zigzag, so that -1 is
// as short as 1. The reader never runs past its end, and remembers that something was wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace culprit {

constexpr size_t kMaxVarint = 10;  // bytes: 64 bits, seven each

// Unsigned on both sides: differences wrap, so every value has one, also between the extremes.
constexpr uint64_t zigzag(uint64_t value) {
  return (value << 1) ^ (uint64_t{0} - (value >> 63));
}
constexpr uint64_t unzigzag(uint64_t value) {
  return (value >> 1) ^ (uint64_t{0} - (value & 1));
}

inline void put_varint(std::string& out, uint64_t value) {
  char bytes[kMaxVarint];
  size_t n = 0;
  while (value >= 0x80) {
    bytes[n++] = static_cast<char>((value & 0x7f) | 0x80);
    value >>= 7;
  }
  bytes[n++] = static_cast<char>(value);
  out.append(bytes, n);
}

inline void put_signed(std::string& out, int64_t value) {
  put_varint(out, zigzag(static_cast<uint64_t>(value)));
}

// A column: its length, then its bytes.
inline void put_column(std::string& out, std::string_view column) {
  put_varint(out, column.size());
  out += column;
}

class VarintReader {
 public:
  explicit VarintReader(std::string_view bytes) : bytes_(bytes) {}

  // 0 when there is none or it has more than 64 bits: then ok() is false for good.
  uint64_t next() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !bytes_.empty(); shift += 7) {
      auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      if (shift == 63 && byte > 1) break;
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    fail();
    return 0;
  }
  int32_t next_int32() {
    auto value = static_cast<int64_t>(unzigzag(next()));
    if (value < INT32_MIN || value > INT32_MAX) fail();
    return ok_ ? static_cast<int32_t>(value) : 0;
  }
  // The next `length` bytes as they are.
  std::string_view take(uint64_t length) {
    if (length > bytes_.size()) fail();
    std::string_view taken = bytes_.substr(0, ok_ ? static_cast<size_t>(length) : 0);
    bytes_.remove_prefix(taken.size());
    return taken;
  }
  VarintReader column() { return VarintReader(take(next())); }

  bool ok() const { return ok_; }
  bool done() const { return ok_ && bytes_.empty(); }  // everything was read, and nothing was wrong

 private:
  void fail() {
    ok_ = false;
    bytes_ = {};
  }

  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace culprit
