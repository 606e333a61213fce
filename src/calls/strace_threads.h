// Which process a thread belongs to. strace's text has only threads' numbers; it is told by clone and its flags, whose
// result often comes after the child's first line.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace culprit {

class StraceThreads {
 public:
  // The text begins in the middle of a process's life: threads that nobody was seen to make were there before, and all
  // of them are taken for one process, that of the first. Otherwise each is a process of its own.
  void attached() { attached_ = true; }
  int32_t process_of(int32_t thread);
  // A clone, fork or vfork that has not returned; `shares`: it makes a thread.
  void clone_begins(int32_t parent, bool shares);
  void clone_ends(int32_t parent, bool shares, int64_t child);  // not above 0: it failed
  void clone_is_lost(int32_t parent);                           // nobody will know what came of it
  struct End {
    int32_t process;
    bool last;  // of its process, as far as its threads are known
  };
  End ends(int32_t thread);
  void leaves(int32_t thread);                    // it goes on under the number of another thread
  int64_t mistaken() const { return mistaken_; }  // threads whose first lines went to a wrong process
  int64_t before() const { return before_; }      // threads that were there before

 private:
  struct Cloning {
    int32_t parent;
    bool shares;
    int32_t child;  // who was taken for it; 0: nobody yet
  };

  void add(int32_t thread, int32_t process);
  bool move(int32_t thread, int32_t process);  // false: it is there already, or nowhere
  bool lose_one(int32_t process);              // true when it was the last

  std::map<int32_t, int32_t> processes_;  // thread -> process
  std::map<int32_t, int64_t> alive_;      // process -> its threads
  std::vector<Cloning> cloning_;          // what has not returned, the oldest first
  std::set<int32_t> ended_;               // while something was cloning: its child may be among them
  bool attached_ = false;
  int32_t first_ = 0;  // of those that were there before
  int64_t before_ = 0;
  int64_t mistaken_ = 0;
};

}  // namespace culprit
