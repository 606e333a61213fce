// The guard: the process on the node that applies a fault, keeps it alive and takes it back, whatever becomes of the
// controller. It undoes when the time is over, when its stdin closes or falls silent (the controller is gone), when it
// is asked, at a signal, and when the kill-switch file appears.
#pragma once

#include <string>
#include <vector>

namespace culprit {

// culprit-node fault guard|check|undo-all|status [--node NAME]. Reads from `in`, reports to `out`; the exit code.
int run_fault_command(const std::vector<std::string>& words, int in, int out);

// guard and check read a part, then the lines go, beat and undo; docs/formats/fault_journal.md.
int run_guard(int in, int out, bool check_only);

}  // namespace culprit
