// Which number in the run a device, socket or daemon of a node has, and whether one more fits. Sockets come and go by
// the million: they have a limit of their own, so that disks and daemons always fit, and those that are gone are
// forgotten, so that the writer's memory does not grow with them. Nodes never use a number twice (stream.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "store/run_schema.h"

namespace culprit {

bool is_socket_source(std::string_view source);

struct RunKey {
  uint32_t id = 0;  // in the run
  size_t table = 0;
  bool socket = false;
  int64_t seen = 0;      // how many samples the node had sent when it last had a row
  std::string identity;  // source, name and detail
};

// How many keys a run takes.
class KeyLimit {
 public:
  explicit KeyLimit(size_t most = kMaxKeys) : most_(most), most_sockets_(most - most / 10) {}

  bool is_full(bool socket) const { return last_ >= most_ || (socket && sockets_ >= most_sockets_); }
  uint32_t next(bool socket);           // only where it is not full
  std::string text(bool socket) const;  // what to say where it is

 private:
  size_t most_;
  size_t most_sockets_;
  size_t sockets_ = 0;
  uint32_t last_ = 0;
};

// The keys of one node, by the number the node gave them. `sample` is how many samples the node has sent.
class NodeKeys {
 public:
  // nullptr: never announced, did not fit, or forgotten.
  const RunKey* find(uint32_t number, int64_t sample);
  void put(uint32_t number, RunKey key) { keys_.insert_or_assign(number, std::move(key)); }
  void drop(uint32_t number) { keys_.erase(number); }
  size_t size() const { return keys_.size(); }

  // The node numbers its keys anew: the same device keeps its number in the run.
  void reset();
  uint32_t take_former(const std::string& identity);  // 0: it was not there before

  // Forgets sockets that have had no row for long, if keys outnumber the sample's rows by far.
  void tidy(int64_t sample, size_t rows);
  bool has_forgotten() const { return forgotten_; }

 private:
  struct Former {
    uint32_t id = 0;
    bool socket = false;
  };
  std::unordered_map<uint32_t, RunKey> keys_;
  std::unordered_map<std::string, Former> former_;  // by identity
  bool forgotten_ = false;
};

}  // namespace culprit
