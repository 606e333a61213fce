// Taking faults back. An undo counts only when the fault was looked for afterwards and is not there: what cannot be
// told is not clean.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "inject/fault.h"
#include "inject/report.h"

namespace culprit {

struct UndoResult {
  bool clean = false;
  int64_t t_ns = 0;  // wall clock when it was seen to be gone, or given up
  Error error = {};  // the last thing in the way, when it is not clean
};

constexpr int kUndoTries = 5;

// `pause` waits between tries, longer each time; tests need not.
UndoResult undo_verified(const FaultInfo& fault, const FaultWork& work, int tries = kUndoTries,
                         const std::function<void(int64_t ns)>& pause = nullptr);

enum class Scope {
  orphans,     // only what no guard looks after
  everything,  // guards at work are asked to undo first
};

// All journals of the node (`node` "": of this network namespace), undone from their text, verified and removed.
std::vector<JournalReport> undo_all(const std::string& folder, const std::string& node, Scope scope);
// The same journals, only looked at.
std::vector<JournalReport> journal_status(const std::string& folder, const std::string& node);
// Of several folders, one after the other.
std::vector<JournalReport> undo_all(const std::vector<std::string>& folders, const std::string& node, Scope scope);
std::vector<JournalReport> journal_status(const std::vector<std::string>& folders, const std::string& node);

}  // namespace culprit
