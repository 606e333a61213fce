// Which process a thread belongs to. strace's text has only threads' numbers; it is told by clone and its flags, whose
// result often comes after the child's first line.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace culprit {

class StraceThreads {
 public:
  // A thread that nobody was seen to make is a process of its own.
  int32_t process_of(int32_t thread);
  // A clone, fork or vfork that has not returned; `shares`: it makes a thread.
  void clone_begins(int32_t parent, bool shares);
  void clone_ends(int32_t parent, bool shares, int64_t child);  // not above 0: it failed
  bool ends(int32_t thread);                      // true when it was the last of its process that is known
  int64_t mistaken() const { return mistaken_; }  // threads whose first lines went to a wrong process

 private:
  struct Cloning {
    int32_t parent;
    bool shares;
  };

  void add(int32_t thread, int32_t process);

  std::map<int32_t, int32_t> processes_;  // thread -> process
  std::map<int32_t, int64_t> alive_;      // process -> its threads
  std::vector<Cloning> cloning_;          // whose child has not been seen, the oldest first
  int64_t mistaken_ = 0;
};

}  // namespace culprit
