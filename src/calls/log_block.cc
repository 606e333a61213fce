#include "calls/log_block.h"

#include <xxhash.h>

#include "base/text.h"

namespace culprit {

namespace {

constexpr int kLevel = 3;             // what zstd itself takes when nobody says
constexpr size_t kChecksumAt = 24;    // in the header; what is before it is covered
constexpr uint32_t kMaxKind = 65535;  // a kind beyond it is noise, not a later culprit

constexpr std::string_view kCallsMagic{"\223culprit-sclog\r\n", kFileMagicBytes};
constexpr std::string_view kFdsMagic{"\223culprit-fdlog\r\n", kFileMagicBytes};

void put_little(char* out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out[i] = static_cast<char>((value >> (8 * i)) & 0xff);
}

uint64_t little(std::string_view bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value |= uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return value;
}

uint32_t little32(std::string_view bytes, size_t at) {
  return static_cast<uint32_t>(little(bytes, at, 4));
}

void put_block_header(char* out, BlockKind kind, size_t raw, size_t stored, size_t records) {
  kBlockMagic.copy(out, kBlockMagic.size());
  put_little(out + 8, static_cast<uint32_t>(kind), 4);
  put_little(out + 12, raw, 4);
  put_little(out + 16, stored, 4);
  put_little(out + 20, records, 4);
  put_little(out + kChecksumAt, block_checksum({out, kBlockHeaderBytes}, {out + kBlockHeaderBytes, stored}), 8);
}

}  // namespace

std::string_view file_magic(LogFile file) {
  return file == LogFile::calls ? kCallsMagic : kFdsMagic;
}

std::optional<BlockHeader> parse_block_header(std::string_view bytes) {
  if (bytes.size() < kBlockHeaderBytes || !bytes.starts_with(kBlockMagic)) return std::nullopt;
  BlockHeader header;
  header.kind = little32(bytes, 8);
  header.raw_bytes = little32(bytes, 12);
  header.stored_bytes = little32(bytes, 16);
  header.records = little32(bytes, 20);
  header.checksum = little(bytes, kChecksumAt, 8);
  bool plausible = header.kind != 0 && header.kind <= kMaxKind && header.raw_bytes <= kMaxBlockBytes &&
                   header.stored_bytes <= kMaxBlockBytes && header.records <= kMaxBlockRecords;
  if (!plausible) return std::nullopt;
  return header;
}

uint64_t block_checksum(std::string_view header_bytes, std::string_view stored) {
  XXH64_hash_t seed = XXH3_64bits(header_bytes.data(), kChecksumAt);
  return XXH3_64bits_withSeed(stored.data(), stored.size(), seed);
}

Result<std::string> BlockMaker::make(BlockKind kind, std::string_view raw, size_t records) {
  if (raw.size() > kMaxBlockBytes || records > kMaxBlockRecords)
    return input_error(cat("a block of the log would have ", raw.size(), " bytes, more than a reader takes"));
  std::string block(kBlockHeaderBytes + ZSTD_compressBound(raw.size()), '\0');
  size_t stored = ZSTD_compressCCtx(context_.get(), block.data() + kBlockHeaderBytes, block.size() - kBlockHeaderBytes,
                                    raw.data(), raw.size(), kLevel);
  if (ZSTD_isError(stored) || stored > kMaxBlockBytes)
    return input_error(cat("cannot compress a block of the log: ",
                           ZSTD_isError(stored) ? ZSTD_getErrorName(stored) : "it stays too large"));
  block.resize(kBlockHeaderBytes + stored);
  put_block_header(block.data(), kind, raw.size(), stored, records);
  return block;
}

bool BlockOpener::open(const BlockHeader& header, std::string_view stored, std::string& raw) {
  raw.resize(header.raw_bytes);
  size_t length = ZSTD_decompressDCtx(context_.get(), raw.data(), raw.size(), stored.data(), stored.size());
  return !ZSTD_isError(length) && length == header.raw_bytes;
}

}  // namespace culprit
