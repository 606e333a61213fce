#include "analyse/call_pieces.h"

#include <cerrno>

#include "calls/syscalls.h"

namespace culprit {

namespace {

constexpr size_t kMostOpen = 100'000;  // sockets in the middle of a piece; only a made-up log has more

uint64_t key_of(const Call& call, int32_t fd) {
  return (static_cast<uint64_t>(static_cast<uint32_t>(call.process)) << 32) | static_cast<uint32_t>(fd);
}

bool means_later(const Call& call) {
  const int error = call.errno_value();
  return error == EAGAIN || error == EINTR || error >= kFirstRestart;
}

}  // namespace

EndedPieces PieceReader::add(const Call& call, int32_t fd) {
  EndedPieces ended;
  auto found = open_.find(key_of(call, fd));
  if (!call.finished() || (call.failed() && means_later(call))) return ended;
  if (call.result <= 0) {  // the connection is over, and what was open will never be whole
    if (found != open_.end()) open_.erase(found);
    return ended;
  }
  const int64_t asked = bytes_asked(call);
  Open open{asked, {call.start_ns, call.end_ns()}};
  if (found != open_.end()) {
    if (asked == found->second.missing)
      open.piece.from_ns = found->second.piece.from_ns;
    else
      ended.add(found->second.piece);  // it was as large as it came
    open_.erase(found);
  }
  if (asked <= call.result) {  // whole, or nobody knows what was asked for: then the call is the piece
    ended.add(open.piece);
    return ended;
  }
  open.missing = asked - call.result;
  if (open_.size() >= kMostOpen) open_.clear();
  open_.emplace(key_of(call, fd), open);
  return ended;
}

}  // namespace culprit
