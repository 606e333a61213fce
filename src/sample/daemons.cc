#include "sample/daemons.h"

#include <algorithm>

#include "base/procfile.h"
#include "base/text.h"
#include "base/units.h"
#include "fs/adapter.h"
#include "sample/folder.h"

namespace culprit {

namespace {

constexpr int64_t kLookEvery = 30 * kNsPerSecond;  // a new brick process may wait that long
constexpr int64_t kHurryEvery = 5 * kNsPerSecond;  // after a daemon ended: it is probably being restarted
constexpr int64_t kHurryFor = 60 * kNsPerSecond;
constexpr int64_t kLookAtMostEvery = kNsPerSecond;  // whatever happens: a crashing daemon must not cost us a CPU
constexpr int64_t kSocketsAtMostEvery = 10 * kNsPerSecond;
constexpr size_t kMostStrangers = 65536;  // memory; forgetting them only costs another look
constexpr size_t kMostCommand = 256;
constexpr size_t kCommLength = 15;  // the kernel cuts names there

std::vector<std::string> all_known_daemons() {
  std::vector<std::string> names;
  for (const FsInfo* fs : fs_adapters()) names.insert(names.end(), fs->daemons.begin(), fs->daemons.end());
  return names;
}

std::string command_line(const std::string& path) {
  std::string text = small_file(path).substr(0, kMostCommand);
  std::replace(text.begin(), text.end(), '\0', ' ');
  return std::string(trim(text));
}

}  // namespace

std::string Daemon::label() const {
  return cat(comm, "/", pid);
}

DaemonTable::DaemonTable(std::string root, std::vector<std::string> names)
    : root_(std::move(root)), names_(names.empty() ? all_known_daemons() : std::move(names)) {
  for (std::string& name : names_) name.resize(std::min(name.size(), kCommLength));
}

bool DaemonTable::is_wanted(std::string_view comm) const {
  for (const std::string& name : names_) {
    if (comm == name) return true;
    if (comm.starts_with(name) && comm[name.size()] == '/')
      return true;  // some daemons append their main thread's name
  }
  return false;
}

void DaemonTable::note_vanished() {
  vanished_ = true;
}

void DaemonTable::refresh(int64_t mono_ns) {
  if (vanished_) {
    vanished_ = false;
    hurry_until_ns_ = mono_ns + kHurryFor;
    looked_ns_ -= kHurryEvery - kLookAtMostEvery;  // the next look comes a second after the last one
  }
  int64_t period = mono_ns < hurry_until_ns_ ? kHurryEvery : kLookEvery;
  if (generation_ > 0 && mono_ns - looked_ns_ < period) return;
  looked_ns_ = mono_ns;
  find_daemons();
  strangers_.clear();
  find_sockets(mono_ns);
  ++generation_;
}

void DaemonTable::find_daemons() {
  daemons_.clear();
  for (const std::string& name : folder_names(root_ + "/proc")) {
    auto pid = parse_int(name);
    if (!pid || *pid <= 0 || *pid > INT32_MAX) continue;
    std::string folder = cat(root_, "/proc/", name);
    Daemon daemon;
    daemon.comm = small_file(folder + "/comm");
    if (!is_wanted(daemon.comm)) continue;
    if (!stat_field(small_file(folder + "/stat"), 22, daemon.start_ticks)) continue;  // it has just ended
    daemon.pid = static_cast<int>(*pid);
    daemon.command = command_line(folder + "/cmdline");
    daemons_.push_back(std::move(daemon));
  }
}

void DaemonTable::find_sockets(int64_t mono_ns) {
  sockets_looked_ns_ = mono_ns;
  sockets_.clear();
  for (size_t i = 0; i < daemons_.size(); ++i) {
    std::string folder = cat(root_, "/proc/", daemons_[i].pid, "/fd/");
    for (const std::string& name : folder_names(folder)) {
      std::string target = link_target(folder + name);
      if (!target.starts_with("socket:[") || !target.ends_with(']')) continue;
      auto inode = parse_int(std::string_view(target).substr(8, target.size() - 9));
      if (inode && *inode > 0) sockets_.emplace(static_cast<uint64_t>(*inode), i);
    }
  }
}

const Daemon* DaemonTable::owner_of(uint64_t inode, int64_t mono_ns) {
  if (daemons_.empty()) return nullptr;
  auto found = sockets_.find(inode);
  if (found == sockets_.end()) {
    if (strangers_.contains(inode)) return nullptr;
    if (mono_ns - sockets_looked_ns_ >= kSocketsAtMostEvery) find_sockets(mono_ns);
    found = sockets_.find(inode);
  }
  if (found != sockets_.end()) return &daemons_[found->second];
  if (mono_ns != sockets_looked_ns_) return nullptr;  // perhaps newer than the last look: ask again later
  if (strangers_.size() >= kMostStrangers) strangers_.clear();
  strangers_.insert(inode);
  return nullptr;
}

}  // namespace culprit
