// The container of sclog and fdlog: a file magic, then blocks. A block is a header of 32 bytes and a zstd frame, with
// one checksum over both, so that whatever stands between two good blocks can be stepped over.
#pragma once

#include <zstd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "calls/call_log.h"

namespace culprit {

enum class BlockKind : uint32_t { header = 1, calls = 2, fds = 3, sums = 4, end = 5 };

constexpr size_t kFileMagicBytes = 16;
constexpr size_t kBlockHeaderBytes = 32;
constexpr std::string_view kBlockMagic{"\223\267block\n", 8};  // no text begins like that
constexpr size_t kMaxBlockBytes = size_t{16} << 20;  // ours stay below 4; a damaged length must not eat the memory
constexpr size_t kMaxBlockRecords = 1'000'000;       // ours have 16384
constexpr size_t kMaxJsonBytes = size_t{1} << 20;    // of a header or an end: some 20,000 peers

std::string_view file_magic(LogFile file);

struct BlockHeader {
  uint32_t kind = 0;  // a BlockKind, or one of a later culprit
  uint32_t raw_bytes = 0;
  uint32_t stored_bytes = 0;
  uint32_t records = 0;
  uint64_t checksum = 0;
};

// What the 32 bytes say; nullopt when they cannot be a block's header. Their checksum is not looked at.
std::optional<BlockHeader> parse_block_header(std::string_view bytes);
// XXH3-64 of the stored bytes, seeded with the XXH3-64 of the header's first 24 bytes.
uint64_t block_checksum(std::string_view header_bytes, std::string_view stored);

struct FreeZstd {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

class BlockMaker {
 public:
  BlockMaker() : context_(ZSTD_createCCtx()) {}
  Result<std::string> make(BlockKind kind, std::string_view raw, size_t records);

 private:
  std::unique_ptr<ZSTD_CCtx, FreeZstd> context_;
};

class BlockOpener {
 public:
  BlockOpener() : context_(ZSTD_createDCtx()) {}
  bool open(const BlockHeader& header, std::string_view stored, std::string& raw);  // false: it is no such frame

 private:
  std::unique_ptr<ZSTD_DCtx, FreeZstd> context_;
};

}  // namespace culprit
