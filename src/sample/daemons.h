// Which processes are the file system's daemons, and which sockets are theirs. Walking /proc and /proc/PID/fd costs
// milliseconds on a busy server, so it is done at the start, every half minute and when there is a reason, never per
// tick.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/process.h"

namespace culprit {

struct Daemon {
  int pid = 0;
  int64_t start_ticks = 0;  // with the pid it names a process for ever: pids are used again
  std::string comm;
  std::string command;        // the command line, its words separated by blanks
  std::string label() const;  // "glusterfsd/4711"
};

class DaemonTable {
 public:
  // No names: the daemons of all file systems culprit knows.
  DaemonTable(std::string root, std::vector<std::string> names);

  void refresh(int64_t mono_ns);  // looks again if it is time
  void note_vanished();           // a daemon has ended: it is time, and soon again, since it may be restarted
  const std::vector<Daemon>& daemons() const { return daemons_; }
  int64_t generation() const { return generation_; }  // changes with every look
  // The daemon that holds the socket, nullptr if none. An inode never seen may cause a look at the daemons'
  // descriptors.
  const Daemon* owner_of(uint64_t inode, int64_t mono_ns);

 private:
  bool is_wanted(std::string_view comm) const;
  void find_daemons();
  void find_sockets(int64_t mono_ns);

  std::string root_;
  std::vector<std::string> names_;
  std::vector<Daemon> daemons_;
  std::unordered_map<uint64_t, size_t> sockets_;  // inode -> index in daemons_
  std::unordered_set<uint64_t> strangers_;        // inodes that were looked up and are nobody's we know
  int64_t generation_ = 0;
  int64_t looked_ns_ = 0;
  int64_t sockets_looked_ns_ = 0;
  int64_t hurry_until_ns_ = 0;
  bool vanished_ = false;
};

}  // namespace culprit
