// A fault's part as text: what the controller sends to a node's guard, and what the head of the guard's journal holds,
// so that an undo needs nothing else. docs/formats/fault_journal.md. Readers trust nothing in it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "inject/fault.h"

namespace culprit {

constexpr size_t kMaxPartBytes = size_t{1} << 16;     // a part names a few disks and parameters
constexpr size_t kMaxJournalBytes = size_t{4} << 20;  // notes may hold the environment of a daemon

// Bytes that are no printable ASCII, blanks and '%' as %XX; "" is "%". So every value is one word of one line.
std::string escape_word(std::string_view text);
Result<std::string> unescape_word(std::string_view word);

std::string format_part(const FaultPart& part);  // ends with the line "end"
Result<FaultPart> parse_part(std::string_view text);

// What else a journal says. Lines are only ever appended: a later one wins, and a last line without its newline was cut
// off by a crash and does not count.
struct JournalText {
  FaultPart part;
  FaultParams notes;
  std::string guard;       // "PID START_TICKS" of the guard that wrote it
  uint64_t netns = 0;      // inode of the network namespace it ran in
  std::string boot;        // of the machine when it was written; "" is not known
  int64_t written_ns = 0;  // wall clock, before apply
  bool applied = false;
};

std::string format_journal(const JournalText& journal);
std::string format_notes(const FaultParams& notes);  // the lines to append after apply
Result<JournalText> parse_journal(std::string_view text);

// Names that become parts of file names, nft tables and messages.
bool is_plain_name(std::string_view name);

}  // namespace culprit
