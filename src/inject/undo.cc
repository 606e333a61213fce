#include "inject/undo.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "base/clock.h"
#include "base/process.h"
#include "base/text.h"
#include "base/units.h"
#include "inject/journal.h"

namespace culprit {

namespace {

constexpr int64_t kFirstPause = 200 * kNsPerMs;     // doubled with every try
constexpr int64_t kGuardLimit = 60 * kNsPerSecond;  // for a guard that was asked: a restart of daemons takes its time

void sleep_ns(int64_t ns) {
  ::usleep(static_cast<useconds_t>(ns / kNsPerUs));
}

// A null member looks like nothing, which is what it leaves.
Result<bool> look(const FaultInfo& fault, const FaultWork& work) {
  return fault.active ? fault.active(work) : Result<bool>(false);
}

Status undo_once(const FaultInfo& fault, const FaultWork& work) {
  if (fault.undo) RETURN_IF_ERROR(fault.undo(work));
  ASSIGN_OR_RETURN(bool there, look(fault, work));
  if (there) return system_error(cat(work.part.fault, " is still in force after its undo"), 0);
  return Ok{};
}

JournalReport report_of(const FoundJournal& journal, std::string_view state, std::string detail) {
  const FaultPart& part = journal.text.part;
  if (!journal.problem.empty()) {
    std::string name = journal.path.substr(journal.path.rfind('/') + 1);
    return {name, "unknown", "unknown", "unknown", "unreadable", cat(journal.path, ": ", journal.problem), 0};
  }
  return {part.id, part.fault, part.node, part.role, std::string(state), std::move(detail), journal.text.written_ns};
}

std::string guard_words(const FoundJournal& journal) {
  std::string_view text = journal.text.guard;
  return cat("guard ", text.substr(0, text.find(' ')));
}

struct Here {
  uint64_t netns = network_namespace();
  std::string boot = boot_id();
};

// Nodes may share this folder (`ip netns`, local): each looks after its own. A journal nobody can read is everybody's.
// The numbers of namespaces are given out anew after a boot: then only the name counts.
bool concerns(const FoundJournal& journal, const std::string& node, const Here& here) {
  if (!journal.problem.empty()) return true;
  const JournalText& text = journal.text;
  if (!node.empty() && text.part.node != node) return false;
  bool earlier_boot = !text.boot.empty() && !here.boot.empty() && text.boot != here.boot;
  if (earlier_boot || text.netns == here.netns) return true;
  return !node.empty() && !network_namespace_lives(text.netns);
}

std::vector<FoundJournal> journals_of(const std::string& folder, const std::string& node) {
  Here here;
  return find_journals(folder, [&](const FoundJournal& journal) { return concerns(journal, node, here); });
}

JournalReport undo_orphan(FoundJournal& journal) {
  if (!journal.problem.empty()) return report_of(journal, "", "");
  const FaultInfo* fault = find_fault(journal.text.part.fault);
  if (!fault) return report_of(journal, "stuck", "this culprit-node does not know the fault");
  FaultWork work{journal.text.part, journal.text.notes};
  UndoResult result = undo_verified(*fault, work);
  if (!result.clean) return report_of(journal, "stuck", result.error.message());
  if (::unlink(journal.path.c_str()) != 0)
    return report_of(journal, "stuck", system_error(cat("cannot remove ", journal.path), errno).message());
  return report_of(journal, "undone", "not there any more, seen by looking");
}

JournalReport look_at_orphan(const FoundJournal& journal) {
  const FaultInfo* fault = find_fault(journal.text.part.fault);
  if (!fault) return report_of(journal, "stuck", "this culprit-node does not know the fault");
  auto there = look(*fault, {journal.text.part, journal.text.notes});
  if (!there) return report_of(journal, "orphaned", there.error().message());
  if (*there) return report_of(journal, "orphaned", "in force, and no guard looks after it");
  return report_of(journal, "expired", "not in force any more; to be tidied up");
}

// Asks the guard and waits until its journal is gone.
JournalReport end_guard(const FoundJournal& journal) {
  auto guard = parse_process(journal.text.guard);
  if (!guard || !signal_process(*guard, SIGTERM))
    return report_of(journal, "stuck", "its guard cannot be asked to end");
  signal_process(*guard, SIGCONT);  // a stopped one would not hear it
  for (int64_t waited = 0; waited < kGuardLimit; waited += kFirstPause) {
    if (!path_exists(journal.path)) return report_of(journal, "undone", cat(guard_words(journal), " took it back"));
    sleep_ns(kFirstPause);
    if (!is_alive(*guard) && path_exists(journal.path)) return report_of(journal, "orphaned", "its guard has ended");
  }
  return report_of(journal, "stuck", cat(guard_words(journal), " was asked and is still at it"));
}

}  // namespace

UndoResult undo_verified(const FaultInfo& fault, const FaultWork& work, int tries,
                         const std::function<void(int64_t ns)>& pause) {
  UndoResult result;
  int64_t wait = kFirstPause;
  for (int i = 0; i < tries; ++i, wait *= 2) {
    if (i > 0) (pause ? pause : sleep_ns)(wait);
    Status undone = undo_once(fault, work);
    result.t_ns = wall_now_ns();
    result.clean = undone.ok();
    if (undone) return result;
    result.error = undone.error();
  }
  return result;
}

std::vector<JournalReport> undo_all(const std::string& folder, const std::string& node, Scope scope) {
  std::vector<JournalReport> reports;
  remove_unborn(folder);
  for (FoundJournal& journal : journals_of(folder, node)) {
    if (journal.orphaned() || !journal.problem.empty()) {
      reports.push_back(undo_orphan(journal));
    } else if (scope == Scope::everything) {
      reports.push_back(end_guard(journal));
      auto same = [&](const FoundJournal& other) { return other.path == journal.path; };
      for (FoundJournal& left : find_journals(folder, same)) {  // by a guard that died instead
        if (left.orphaned()) reports.back() = undo_orphan(left);
      }
    }
  }
  return reports;
}

std::vector<JournalReport> journal_status(const std::string& folder, const std::string& node) {
  std::vector<JournalReport> reports;
  for (const FoundJournal& journal : journals_of(folder, node)) {
    if (!journal.orphaned()) {
      reports.push_back(report_of(journal, "at-work", guard_words(journal)));
      continue;
    }
    reports.push_back(look_at_orphan(journal));
  }
  return reports;
}

std::vector<JournalReport> undo_all(const std::vector<std::string>& folders, const std::string& node, Scope scope) {
  std::vector<JournalReport> all;
  for (const std::string& folder : folders) {
    for (JournalReport& report : undo_all(folder, node, scope)) all.push_back(std::move(report));
  }
  return all;
}

std::vector<JournalReport> journal_status(const std::vector<std::string>& folders, const std::string& node) {
  std::vector<JournalReport> all;
  for (const std::string& folder : folders) {
    for (JournalReport& report : journal_status(folder, node)) all.push_back(std::move(report));
  }
  return all;
}

}  // namespace culprit
