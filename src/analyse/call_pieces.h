// How long does it take to read a request or an answer from a socket? Nobody outside knows where a message begins, but
// a program that knows asks for just its bytes: what one read asked for is a piece, and it may take several reads to
// come. A read that brings nothing opens no piece, because nobody knows whether anything was on its way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

#include "calls/call.h"

namespace culprit {

struct ReadPiece {
  int64_t from_ns = 0;
  int64_t until_ns = 0;
};

// At most two end with one call: the one before, when this read asks for something else, and its own.
struct EndedPieces {
  size_t count = 0;
  std::array<ReadPiece, 2> piece{};

  void add(const ReadPiece& ended) { piece[count++] = ended; }
};

class PieceReader {
 public:
  // A call that read from socket `fd` of its process, whatever came of it.
  EndedPieces add(const Call& call, int32_t fd);

 private:
  struct Open {
    int64_t missing = 0;  // bytes
    ReadPiece piece;
  };
  std::map<uint64_t, Open> open_;
};

}  // namespace culprit
