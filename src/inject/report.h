// What a guard says to its controller, one line each: docs/formats/fault_journal.md. Reader and writer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace culprit {

// Why a fault ended as it should.
constexpr std::string_view kReasonTime = "time over";
constexpr std::string_view kReasonAsked = "asked";

struct GuardReport {
  enum class Kind {
    note,      // what the user should know
    prepared,  // the preflight found no reason against it; it waits for "go"
    active,    // in force since t_ns, seen by looking
    faded,     // was looked for at t_ns and is not in force any more, though nobody took it back
    failed,    // `error` says why
    removed,   // taken back at t_ns; clean: it was looked for and is not there
  };
  Kind kind = Kind::note;
  int64_t t_ns = 0;
  bool clean = false;
  std::string text = {};  // note; removed: why it ended
  Error error = {};       // failed; removed and not clean: what is in the way
};

std::string format_report(const GuardReport& report);            // with its newline
std::optional<GuardReport> parse_report(std::string_view line);  // nothing: not one of ours

// What `fault status` and `fault undo-all` say of each journal on the node.
struct JournalReport {
  std::string id, fault, node, role;
  std::string state;  // at-work, orphaned (in force), expired (not in force any more), undone, stuck, unreadable
  std::string detail;
  int64_t written_ns = 0;
};

std::string format_journal_report(const JournalReport& report);
std::optional<JournalReport> parse_journal_report(std::string_view line);

}  // namespace culprit
