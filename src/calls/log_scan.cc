#include "calls/log_scan.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"

namespace culprit {

namespace {

constexpr size_t kFirstScan = 256;                   // a small gap costs a small read...
constexpr size_t kLargestScan = 64 << 10;            // ...a large one few of them
constexpr int64_t kVainBytes = int64_t{64} << 20;    // besides the file's own length; then nothing more is looked for
constexpr size_t kMostNotes = 20;                    // nobody reads more
constexpr size_t kTail = kMaxJsonBytes + (8 << 10);  // an end of the largest size, stored

bool begins_like_a_block(std::string_view bytes) {
  size_t shared = std::min(bytes.size(), kBlockMagic.size());
  return shared > 0 && bytes.substr(0, shared) == kBlockMagic.substr(0, shared);
}

}  // namespace

ByteSource::ByteSource(std::string bytes) : bytes_(std::move(bytes)), size_(static_cast<int64_t>(bytes_.size())) {}

Result<ByteSource> ByteSource::open(const std::string& path) {
  ByteSource source;
  source.path_ = path;
  source.fd_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a pipe must not make us wait
  if (!source.fd_.valid()) return system_error(cat("cannot read ", path), errno);
  struct stat info {};
  if (::fstat(source.fd_.get(), &info) != 0) return system_error(cat("cannot read ", path), errno);
  if (!S_ISREG(info.st_mode)) return input_error(cat(path, " is not a regular file"), "name a file NODE.sclog");
  source.size_ = info.st_size;
  return Result<ByteSource>(std::move(source));
}

Result<std::string_view> ByteSource::at(int64_t offset, size_t length, std::string& buffer) const {
  if (offset < 0 || offset >= size_) return std::string_view();
  length = std::min(length, static_cast<size_t>(size_ - offset));
  if (!fd_.valid()) return std::string_view(bytes_).substr(static_cast<size_t>(offset), length);
  if (buffer.size() < length) buffer.resize(length);
  size_t have = 0;
  while (have < length) {
    ssize_t n = ::pread(fd_.get(), buffer.data() + have, length - have, offset + static_cast<int64_t>(have));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(cat("cannot read ", path_), errno);
    if (n == 0) break;  // it became shorter meanwhile
    have += static_cast<size_t>(n);
  }
  return std::string_view(buffer).substr(0, have);
}

BlockReader::BlockReader(const ByteSource& source, int64_t offset) : source_(source), offset_(offset) {}

int64_t BlockReader::most_vain() const {
  return source_.size() + kVainBytes;
}

Result<bool> BlockReader::next(Block& block) {
  while (offset_ < source_.size()) {
    ASSIGN_OR_RETURN(Look look, look_at(offset_));
    if (look != Look::good) {
      RETURN_IF_ERROR(skip_damage(look));
      continue;
    }
    block.kind = header_.kind;
    block.records = header_.records;
    block.offset = offset_;
    offset_ += static_cast<int64_t>(kBlockHeaderBytes) + header_.stored_bytes;
    if (opener_.open(header_, stored_, block.raw)) return true;
    note(cat("the block at offset ", block.offset, " was left out: it is not compressed as it says"));
  }
  return false;
}

Result<BlockReader::Look> BlockReader::look_at(int64_t offset) {
  ASSIGN_OR_RETURN(std::string_view bytes, source_.at(offset, kBlockHeaderBytes, header_buffer_));
  if (bytes.size() < kBlockHeaderBytes) return begins_like_a_block(bytes) ? Look::cut : Look::bad;
  auto header = parse_block_header(bytes);
  if (!header) return Look::bad;
  int64_t start = offset + static_cast<int64_t>(kBlockHeaderBytes);
  if (start + header->stored_bytes > source_.size()) return Look::cut;
  ASSIGN_OR_RETURN(stored_, source_.at(start, header->stored_bytes, stored_buffer_));
  if (stored_.size() < header->stored_bytes) return Look::cut;  // it became shorter meanwhile
  header_ = *header;
  if (block_checksum(bytes, stored_) == header->checksum) return Look::good;
  vain_ += static_cast<int64_t>(kBlockHeaderBytes) + header->stored_bytes;
  return Look::bad;
}

// Every plausible header costs a look at its whole block, so a file full of false ones could cost its length squared:
// past its own length and a little, nothing more is believed.
Result<int64_t> BlockReader::find_good(int64_t from) {
  size_t length = kFirstScan;
  for (int64_t base = from; base < source_.size(); base += static_cast<int64_t>(length)) {
    if (base != from) length = std::min(length * 2, kLargestScan);
    ASSIGN_OR_RETURN(std::string_view chunk, source_.at(base, length + kBlockMagic.size() - 1, scan_buffer_));
    for (size_t at = chunk.find(kBlockMagic); at != chunk.npos; at = chunk.find(kBlockMagic, at + 1)) {
      if (vain_ > most_vain()) return source_.size();
      int64_t candidate = base + static_cast<int64_t>(at);
      ASSIGN_OR_RETURN(Look look, look_at(candidate));
      if (look == Look::good) return candidate;
    }
  }
  return source_.size();
}

Status BlockReader::skip_damage(Look why) {
  ASSIGN_OR_RETURN(int64_t found, find_good(offset_ + 1));
  int64_t skipped = found - offset_;
  if (vain_ > most_vain())
    note(cat(skipped, " bytes at offset ", offset_, " were left out: too much of them looks like blocks and is none"));
  else if (why == Look::cut && found == source_.size())
    note(cat("the last ", skipped, " bytes are a block that was not finished, and were left out"));
  else
    note(cat(skipped, " bytes at offset ", offset_, " are damaged and were skipped"));
  offset_ = found;
  return Ok{};
}

void BlockReader::note(std::string text) {
  if (notes_.size() < kMostNotes)
    notes_.push_back(std::move(text));
  else
    ++unsaid_;
}

std::vector<std::string> BlockReader::notes() const {
  std::vector<std::string> all = notes_;
  if (unsaid_ > 0) all.push_back(cat("and ", unsaid_, " more places like these"));
  return all;
}

std::optional<Block> last_block(const ByteSource& source) {
  int64_t from = std::max<int64_t>(kFileMagicBytes, source.size() - static_cast<int64_t>(kTail));
  std::string buffer;
  auto tail = source.at(from, kTail, buffer);
  size_t at = tail ? tail->rfind(kBlockMagic) : std::string_view::npos;
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view bytes = tail->substr(at);
  auto header = parse_block_header(bytes);
  if (!header || bytes.size() != kBlockHeaderBytes + header->stored_bytes) return std::nullopt;
  std::string_view stored = bytes.substr(kBlockHeaderBytes);
  Block block{header->kind, header->records, from + static_cast<int64_t>(at), ""};
  if (block_checksum(bytes, stored) != header->checksum) return std::nullopt;
  if (!BlockOpener().open(*header, stored, block.raw)) return std::nullopt;
  return block;
}

}  // namespace culprit
