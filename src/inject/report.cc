#include "inject/report.h"

#include <iterator>

#include "base/procfile.h"
#include "base/text.h"
#include "inject/part_text.h"

namespace culprit {

namespace {

using Kind = GuardReport::Kind;

constexpr std::string_view kWords[] = {"note", "prepared", "active", "faded", "error", "removed"};
constexpr std::string_view kErrorKinds[] = {"usage", "input", "system", "unsupported"};

// Words of a line, unescaped; a word that is damaged makes the line nobody's.
bool take(std::string_view& rest, std::string& out) {
  std::string_view word = next_word(rest);
  if (word.empty()) return false;
  auto plain = unescape_word(word);
  if (plain) out = std::move(*plain);
  return plain.ok();
}

std::string format_error(const Error& error) {
  return cat(kErrorKinds[static_cast<size_t>(error.kind)], " ", escape_word(error.message()), " ",
             escape_word(error.hint));
}

bool take_error(std::string_view& rest, Error& error) {
  std::string kind;
  if (!take(rest, kind)) return false;
  for (size_t i = 0; i < std::size(kErrorKinds); ++i) {
    if (kErrorKinds[i] == kind) error.kind = static_cast<ErrorKind>(i);
  }
  return take(rest, error.what) && take(rest, error.hint);
}

bool take_removed(std::string_view& rest, GuardReport& report) {
  std::string state;
  if (!next_number(rest, report.t_ns) || !take(rest, state) || !take(rest, report.text)) return false;
  report.clean = state == "clean";
  return report.clean || take_error(rest, report.error);
}

}  // namespace

std::string format_report(const GuardReport& report) {
  std::string out(kWords[static_cast<size_t>(report.kind)]);
  switch (report.kind) {
    case Kind::note:
      out += cat(" ", escape_word(report.text));
      break;
    case Kind::prepared:
      break;
    case Kind::active:
    case Kind::faded:
      out += cat(" ", report.t_ns);
      break;
    case Kind::failed:
      out += cat(" ", format_error(report.error));
      break;
    case Kind::removed:
      out += cat(" ", report.t_ns, report.clean ? " clean " : " unclean ", escape_word(report.text));
      if (!report.clean) out += cat(" ", format_error(report.error));
      break;
  }
  return out + "\n";
}

std::optional<GuardReport> parse_report(std::string_view line) {
  GuardReport report;
  std::string_view word = next_word(line);
  for (size_t i = 0; i < std::size(kWords); ++i) {
    if (kWords[i] != word) continue;
    report.kind = static_cast<Kind>(i);
    bool good = true;
    if (report.kind == Kind::note) good = take(line, report.text);
    if (report.kind == Kind::active || report.kind == Kind::faded) good = next_number(line, report.t_ns);
    if (report.kind == Kind::failed) good = take_error(line, report.error);
    if (report.kind == Kind::removed) good = take_removed(line, report);
    if (good) return report;
  }
  return std::nullopt;
}

std::string format_journal_report(const JournalReport& report) {
  std::string out = "journal";
  for (const std::string* word :
       {&report.id, &report.fault, &report.node, &report.role, &report.state, &report.detail}) {
    out += cat(" ", escape_word(*word));
  }
  return cat(out, " ", report.written_ns, "\n");
}

std::optional<JournalReport> parse_journal_report(std::string_view line) {
  JournalReport report;
  if (next_word(line) != "journal") return std::nullopt;
  for (std::string* word : {&report.id, &report.fault, &report.node, &report.role, &report.state, &report.detail}) {
    if (!take(line, *word)) return std::nullopt;
  }
  if (!next_number(line, report.written_ns)) return std::nullopt;
  return report;
}

}  // namespace culprit
