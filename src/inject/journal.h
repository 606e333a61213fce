// The undo journal: written and synced before a fault is applied, removed when its undo was seen to have worked. It is
// locked while its guard lives; a journal that nobody locks is an orphan, and its text alone is enough to undo it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "inject/part_text.h"

namespace culprit {

// $CULPRIT_RUNTIME_DIR or /run/culprit, made if need be: journals and locks are in its folder "faults", and a file STOP
// in it ends every injection.
std::string runtime_folder();
std::string faults_folder();
std::string stop_file();
Status make_faults_folder();

// Where a fault that leaves files on a disk has its journal: /var/lib/culprit/faults, which a reboot leaves, too. In a
// lab's node (its disk ends with the lab, and /var/lib is the machine's) and with $CULPRIT_RUNTIME_DIR it is
// faults_folder().
std::string kept_faults_folder();
Status make_kept_faults_folder();
std::vector<std::string> journal_folders();  // both, or the one

class Journal {
 public:
  static Result<Journal> create(const std::string& folder, const JournalText& text);
  // Space for a usual append is set aside by create: a fault that fills the disk does not get in its way.
  Status append(std::string_view lines);
  Status remove();
  const std::string& path() const { return path_; }

 private:
  Journal(std::string path, Fd file) : path_(std::move(path)), file_(std::move(file)) {}
  std::string path_;
  Fd file_;
};

struct FoundJournal {
  std::string path;
  Fd file;              // valid and locked by us when it is an orphan
  std::string problem;  // why its text cannot be used; "" when it can
  JournalText text;

  bool orphaned() const { return file.valid(); }
};

// Those of the folder that are wanted, by name. Orphans among them are locked while the result lives; others are not
// touched, since they may be looked at by somebody else at this moment.
std::vector<FoundJournal> find_journals(const std::string& folder,
                                        const std::function<bool(const FoundJournal& journal)>& wanted);

// Files of guards that were killed before their journal had its name: nothing was changed yet.
void remove_unborn(const std::string& folder);

// The inode of the network namespace that this process is in, which tells nodes apart that share their files; and
// whether somebody still is in, or has a name for, that namespace.
uint64_t network_namespace();
bool network_namespace_lives(uint64_t inode);
// The kernel's name for the time since the machine started; "" when it does not say.
std::string boot_id();

}  // namespace culprit
