#include "capture/frames.h"

#include <algorithm>

#include "base/procfile.h"
#include "base/text.h"

namespace culprit {

namespace {

constexpr std::string_view kMagic = "culprit-frames ";
constexpr size_t kHeadBytes = 5;              // the kind, then the length in 4 bytes, lowest first
constexpr size_t kMostPreambleBytes = 65536;  // a login shell may greet before we speak
constexpr size_t kKeptPreamble = 300;

size_t length_of(std::string_view head) {
  size_t length = 0;
  for (size_t i = 0; i < 4; ++i) length |= static_cast<size_t>(static_cast<unsigned char>(head[1 + i])) << (8 * i);
  return length;
}

bool is_known(char kind) {
  return std::string_view("cfpbsned").find(kind) != std::string_view::npos;
}

}  // namespace

std::string frames_header(std::string_view tool_version) {
  return cat(kMagic, kFramesVersion, " ", tool_version, "\n");
}

std::string format_frame(FrameKind kind, std::string_view payload) {
  CHECK(payload.size() <= kMostFrameBytes) << payload.size() << " bytes in one frame";
  std::string out(1, static_cast<char>(kind));
  for (size_t i = 0; i < 4; ++i) out += static_cast<char>((payload.size() >> (8 * i)) & 0xff);
  out += payload;
  return out;
}

Status FrameReader::fail(Error error) {
  error_ = error;
  buffer_.clear();
  return error;
}

std::string FrameReader::preamble() const {
  return printable(trim(preamble_), kKeptPreamble);
}

// Lines before the header are somebody's greeting. True once the header was taken off the buffer.
Result<bool> FrameReader::take_header() {
  while (true) {
    size_t newline = buffer_.find('\n');
    if (std::min(newline, buffer_.size()) + preamble_bytes_ > kMostPreambleBytes)
      return input_error("the node answers with something else than a capture", "is `sampler` in cluster.toml right?");
    if (newline == std::string::npos) return false;
    std::string line = buffer_.substr(0, newline);
    buffer_.erase(0, newline + 1);
    size_t at = line.find(kMagic);  // a greeting without its newline may stand before it
    if (at == std::string::npos) {
      preamble_bytes_ += line.size() + 1;
      if (preamble_.size() < kKeptPreamble) preamble_ += cat(line.substr(0, kKeptPreamble), "\n");
      continue;
    }
    std::string_view words = std::string_view(line).substr(at + kMagic.size());
    std::string version(next_word(words));
    if (version == std::to_string(kFramesVersion)) return true;
    return unsupported_error(
        cat("the node's capture speaks version ", printable(version, 20), ", this culprit ", kFramesVersion),
        "use the same version of culprit-node there, or leave `sampler` out");
  }
}

// Takes one whole frame off `rest`; false when it is not all here yet.
Result<bool> FrameReader::take_frame(std::string_view& rest, const Take& take) {
  if (rest.size() < kHeadBytes) return false;
  size_t length = length_of(rest);
  if (length > kMostFrameBytes)
    return input_error(cat("the node sent a frame of ", length, " bytes; the stream is damaged"));
  if (rest.size() - kHeadBytes < length) return false;
  char kind = rest[0];
  std::string_view payload = rest.substr(kHeadBytes, length);
  rest.remove_prefix(kHeadBytes + length);
  if (is_known(kind)) RETURN_IF_ERROR(take({static_cast<FrameKind>(kind), payload}));
  return true;
}

Status FrameReader::feed(std::string_view bytes, const Take& take) {
  if (!error_.what.empty()) return error_;
  buffer_ += bytes;
  if (!began_) {
    auto header = take_header();
    if (!header) return fail(header.error());
    if (!*header) return Ok{};
    began_ = true;
  }
  std::string_view rest = buffer_;
  while (true) {
    auto taken = take_frame(rest, take);
    if (!taken) return fail(taken.error());
    if (!*taken) break;
  }
  buffer_.erase(0, buffer_.size() - rest.size());
  return Ok{};
}

}  // namespace culprit
