// Calls as lines of strace -f -ttt -T -yy. A log is in order of completion, strace writes in order of start, and splits
// a call when something else happens before it returns: "<unfinished ...>" and "<... read resumed>".
#pragma once

#include <queue>
#include <string>
#include <vector>

#include "calls/call.h"
#include "calls/fd_map.h"

namespace culprit {

// Records wait here until those that started before them must have come: the log may hold more, memory may not. A call
// that this many others overtook stands later than its start.
constexpr size_t kStraceWindow = 65536;

class StraceWriter {
 public:
  explicit StraceWriter(const FdMap& fds) : fds_(fds) {}
  // Both append whole lines to `out`. Completions of asynchronous requests have no place in such a text: add() ignores
  // them and returns false.
  bool add(const Call& call, std::string& out);
  void finish(std::string& out);

 private:
  struct LaterStart {
    bool operator()(const Call& a, const Call& b) const { return a.sequence > b.sequence; }
  };
  struct LaterEnd {
    bool operator()(const Call& a, const Call& b) const { return a.end_ns() > b.end_ns(); }
  };

  void write_first(std::string& out);
  bool is_overtaken(const Call& call) const;
  void resume_until(int64_t t_ns, std::string& out);

  const FdMap& fds_;
  std::priority_queue<Call, std::vector<Call>, LaterStart> waiting_;
  std::priority_queue<Call, std::vector<Call>, LaterEnd> open_;  // the first half is written
};

}  // namespace culprit
