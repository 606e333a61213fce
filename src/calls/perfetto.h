// Calls as a trace for ui.perfetto.dev: a track per thread, a slice per call, an instant per signal, end and
// completion. The protobuf is written by hand, because Debian has no package of the Perfetto SDK and six kinds of
// messages need none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "calls/call.h"
#include "calls/fd_map.h"

namespace culprit {

// The wire format of protobuf: fields in the order they are added.
class ProtoWriter {
 public:
  ProtoWriter& number(int field, uint64_t value);
  ProtoWriter& bytes(int field, std::string_view value);  // texts and messages within
  const std::string& text() const { return text_; }

 private:
  void varint(uint64_t value);

  std::string text_;
};

// Feed it the records in any order: Perfetto sorts. Each add() returns the bytes to append to the trace.
class PerfettoWriter {
 public:
  explicit PerfettoWriter(std::string node) : node_(std::move(node)) {}
  std::string add(const Call& call, const FdMap& fds);

 private:
  std::string tracks_of(const Call& call);

  std::string node_;
  std::unordered_set<uint64_t> known_;  // tracks that have been described
  bool first_ = true;
};

}  // namespace culprit
