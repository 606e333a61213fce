// The blocks of a log file one after the other. Where a block is damaged the next good one is looked for; the work is
// linear in the length of the file, whatever stands in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "calls/log_block.h"

namespace culprit {

// A file, or bytes in memory. Its size is that of the moment when it was opened: a log may still be growing.
class ByteSource {
 public:
  ByteSource() = default;
  explicit ByteSource(std::string bytes);
  static Result<ByteSource> open(const std::string& path);

  int64_t size() const { return size_; }
  // `length` bytes from `offset` on, fewer only at the end. Valid as long as neither it nor `buffer` changes.
  Result<std::string_view> at(int64_t offset, size_t length, std::string& buffer) const;

 private:
  std::string bytes_;
  Fd fd_;
  std::string path_;
  int64_t size_ = 0;
};

struct Block {
  uint32_t kind = 0;
  uint32_t records = 0;
  int64_t offset = 0;
  std::string raw;

  bool is(BlockKind wanted) const { return kind == static_cast<uint32_t>(wanted); }
};

class BlockReader {
 public:
  explicit BlockReader(const ByteSource& source, int64_t offset = kFileMagicBytes);

  Result<bool> next(Block& block);  // false at the end. An error only when the file itself cannot be read
  void note(std::string text);      // the first few are kept, the others counted
  std::vector<std::string> notes() const;

 private:
  enum class Look { good, bad, cut };
  Result<Look> look_at(int64_t offset);
  Result<int64_t> find_good(int64_t from);
  Status skip_damage(Look why);
  int64_t most_vain() const;

  const ByteSource& source_;
  int64_t offset_;
  int64_t vain_ = 0;  // bytes hashed for blocks that were none
  BlockHeader header_;
  std::string_view stored_;  // of the block last looked at
  std::string header_buffer_, stored_buffer_, scan_buffer_;
  BlockOpener opener_;
  std::vector<std::string> notes_;
  int64_t unsaid_ = 0;
};

// The block that ends exactly where the file ends, looked for from there; nullopt when there is no such small one.
std::optional<Block> last_block(const ByteSource& source);

}  // namespace culprit
