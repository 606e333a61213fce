// How the logs of another machine travel: frames on the stdout of `culprit-node syscap`, carried by ssh. The far side
// makes the blocks of the logs, ours only appends them, so both sides need not know the same format of calls.
// docs/formats/capture-stream.md. The reader trusts nothing: the bytes come from another machine.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace culprit {

constexpr int kFramesVersion = 1;
constexpr size_t kMostFrameBytes = size_t{32} << 20;  // a block of a log is at most half of it

enum class FrameKind : char {
  calls = 'c',   // bytes for NODE.sclog
  fds = 'f',     // bytes for NODE.fdlog
  pong = 'p',    // "NUMBER WALL_NS"
  began = 'b',   // the probes are in place: the backend's name
  status = 's',  // "CALLS LOST", twice a second
  note = 'n',    // a sentence for the user
  error = 'e',   // it could not go on: what, newline, hint
  done = 'd',    // why it stopped; nothing follows
};

struct Frame {
  FrameKind kind = FrameKind::note;
  std::string_view payload;
};

std::string frames_header(std::string_view tool_version);  // the first line
std::string format_frame(FrameKind kind, std::string_view payload);

// Fed with whatever read() returned; hands out whole frames, whose payload is valid during the call. Frames of a kind
// that we do not know are skipped: they are of a newer version. After an error it stays in error.
class FrameReader {
 public:
  using Take = std::function<Status(const Frame& frame)>;
  Status feed(std::string_view bytes, const Take& take);
  bool began() const { return began_; }                       // its header was seen
  bool within() const { return began_ && !buffer_.empty(); }  // a frame has begun and not ended
  std::string preamble() const;  // what came before the header, or instead of it; shortened

 private:
  Status fail(Error error);
  Result<bool> take_header();
  Result<bool> take_frame(std::string_view& rest, const Take& take);

  bool began_ = false;
  Error error_;  // `what` is empty while all is well
  std::string buffer_;
  std::string preamble_;
  size_t preamble_bytes_ = 0;
};

}  // namespace culprit
