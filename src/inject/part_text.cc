#include "inject/part_text.h"

#include "base/procfile.h"
#include "base/text.h"

namespace culprit {

namespace {

constexpr std::string_view kPartHead = "culprit-fault 1";
constexpr std::string_view kHex = "0123456789ABCDEF";
constexpr size_t kMaxListItems = 4096;  // of disks, notes, peers: the clients of a large site
constexpr size_t kMaxNameBytes = 100;

int hex_digit(char c) {
  if (c >= 'a' && c <= 'f') c = static_cast<char>(c - 'a' + 'A');
  size_t at = kHex.find(c);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

Error bad_line(std::string_view line) {
  return input_error(cat("a fault's part holds the line '", printable(line), "'"),
                     "is culprit-node on the node of another version?");
}

template <class Number>
void add_line(std::string& out, std::string_view key, Number number) {
  out += cat(key, " ", number, "\n");
}

void add_word(std::string& out, std::string_view key, std::string_view value) {
  out += cat(key, " ", escape_word(value), "\n");
}

void add_words(std::string& out, std::string_view key, const std::vector<std::string>& values) {
  for (const std::string& value : values) add_word(out, key, value);
}

void add_pairs(std::string& out, std::string_view key, const FaultParams& pairs) {
  for (const auto& [name, value] : pairs) out += cat(key, " ", escape_word(name), " ", escape_word(value), "\n");
}

// The words of a line after its key.
struct Line {
  std::string_view whole;
  std::string_view key;
  std::vector<std::string> words;
};

Result<Line> split_line(std::string_view text) {
  Line line{text, {}, {}};
  std::string_view rest = text;
  line.key = next_word(rest);
  for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest)) {
    if (line.words.size() == 2) return bad_line(text);
    ASSIGN_OR_RETURN(std::string plain, unescape_word(word));
    line.words.push_back(std::move(plain));
  }
  return line;
}

Status take_number(const Line& line, int64_t low, int64_t& out) {
  auto number = line.words.size() == 1 ? parse_int(line.words[0]) : std::nullopt;
  if (!number || *number < low) return bad_line(line.whole);
  out = *number;
  return Ok{};
}

Status take_unsigned(const Line& line, uint64_t& out) {
  if (line.words.size() != 1 || line.words[0].empty() || line.words[0].size() > 20) return bad_line(line.whole);
  uint64_t value = 0;
  for (char c : line.words[0]) {
    uint64_t digit = static_cast<uint64_t>(c - '0');
    if (c < '0' || c > '9' || value > (UINT64_MAX - digit) / 10) return bad_line(line.whole);
    value = value * 10 + digit;
  }
  out = value;
  return Ok{};
}

Status take_text(const Line& line, std::string& out) {
  if (line.words.size() != 1) return bad_line(line.whole);
  out = line.words[0];
  return Ok{};
}

Status take_item(const Line& line, std::vector<std::string>& out) {
  if (line.words.size() != 1 || out.size() == kMaxListItems) return bad_line(line.whole);
  out.push_back(line.words[0]);
  return Ok{};
}

Status take_pair(const Line& line, FaultParams& out) {
  if (line.words.size() != 2 || out.size() == kMaxListItems) return bad_line(line.whole);
  out[line.words[0]] = line.words[1];
  return Ok{};
}

using Taker = Status (*)(const Line& line, JournalText& journal);
struct Row {
  std::string_view key;
  Taker take;
};

const Row kRows[] = {
    {"id", [](const Line& l, JournalText& j) { return take_text(l, j.part.id); }},
    {"fault", [](const Line& l, JournalText& j) { return take_text(l, j.part.fault); }},
    {"node", [](const Line& l, JournalText& j) { return take_text(l, j.part.node); }},
    {"address", [](const Line& l, JournalText& j) { return take_text(l, j.part.address); }},
    {"role", [](const Line& l, JournalText& j) { return take_text(l, j.part.role); }},
    {"seed", [](const Line& l, JournalText& j) { return take_unsigned(l, j.part.seed); }},
    {"duration_ns", [](const Line& l, JournalText& j) { return take_number(l, 1, j.part.duration_ns); }},
    {"lease_ns", [](const Line& l, JournalText& j) { return take_number(l, 1, j.part.lease_ns); }},
    {"fs", [](const Line& l, JournalText& j) { return take_text(l, j.part.fs); }},
    {"param", [](const Line& l, JournalText& j) { return take_pair(l, j.part.params); }},
    {"disk", [](const Line& l, JournalText& j) { return take_item(l, j.part.disks); }},
    {"nic", [](const Line& l, JournalText& j) { return take_item(l, j.part.nics); }},
    {"daemon", [](const Line& l, JournalText& j) { return take_item(l, j.part.daemons); }},
    {"peer", [](const Line& l, JournalText& j) { return take_item(l, j.part.peers); }},
};

const Row kJournalRows[] = {
    {"guard", [](const Line& l, JournalText& j) { return take_text(l, j.guard); }},
    {"netns", [](const Line& l, JournalText& j) { return take_unsigned(l, j.netns); }},
    {"boot", [](const Line& l, JournalText& j) { return take_text(l, j.boot); }},
    {"written_ns", [](const Line& l, JournalText& j) { return take_number(l, 0, j.written_ns); }},
    {"note", [](const Line& l, JournalText& j) { return take_pair(l, j.notes); }},
    {"applied",
     [](const Line&, JournalText& j) -> Status {
       j.applied = true;
       return Ok{};
     }},
};

// Unknown keys are skipped: a newer writer may say more.
template <size_t N>
Status take_line(std::string_view text, const Row (&rows)[N], JournalText& journal) {
  ASSIGN_OR_RETURN(Line line, split_line(text));
  for (const Row& row : rows) {
    if (row.key == line.key) return row.take(line, journal);
  }
  return Ok{};
}

Status check_part(const FaultPart& part) {
  const std::pair<std::string_view, std::string_view> names[] = {
      {"id", part.id}, {"fault", part.fault}, {"node", part.node}, {"role", part.role}};
  for (const auto& [key, value] : names) {
    if (!is_plain_name(value)) return input_error(cat("a fault's part has no usable ", key));
  }
  if (part.duration_ns <= 0 || part.lease_ns <= 0) return input_error("a fault's part has no duration or no lease");
  return Ok{};
}

// Takes the lines of the part off `text`, up to and including "end".
Status parse_head(std::string_view& text, JournalText& journal) {
  std::string_view line;
  if (!next_line(text, line) || line != kPartHead)
    return input_error(cat("'", printable(line), "' is not the head of a fault's part"),
                       "is culprit-node on the node of another version?");
  while (next_line(text, line)) {
    if (line == "end") return check_part(journal.part);
    RETURN_IF_ERROR(take_line(line, kRows, journal));
  }
  return input_error("a fault's part ends before its line 'end'");
}

}  // namespace

bool is_plain_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxNameBytes || name[0] == '-' || name[0] == '.') return false;
  for (char c : name) {
    bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
    if (!plain) return false;
  }
  return true;
}

std::string escape_word(std::string_view text) {
  if (text.empty()) return "%";
  std::string out;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte < 0x7f && c != '%') {
      out += c;
    } else {
      out += cat('%', kHex[byte >> 4], kHex[byte & 15]);
    }
  }
  return out;
}

Result<std::string> unescape_word(std::string_view word) {
  if (word == "%") return std::string();
  std::string out;
  for (size_t i = 0; i < word.size(); ++i) {
    auto byte = static_cast<unsigned char>(word[i]);
    if (byte <= 0x20 || byte >= 0x7f) return bad_line(word);
    if (word[i] != '%') {
      out += word[i];
      continue;
    }
    if (i + 2 >= word.size()) return bad_line(word);
    int high = hex_digit(word[i + 1]), low = hex_digit(word[i + 2]);
    if (high < 0 || low < 0) return bad_line(word);
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::string format_part(const FaultPart& part) {
  std::string out = cat(kPartHead, "\n");
  add_word(out, "id", part.id);
  add_word(out, "fault", part.fault);
  add_word(out, "node", part.node);
  add_word(out, "address", part.address);
  add_word(out, "role", part.role);
  add_line(out, "seed", part.seed);
  add_line(out, "duration_ns", part.duration_ns);
  add_line(out, "lease_ns", part.lease_ns);
  add_word(out, "fs", part.fs);
  add_pairs(out, "param", part.params);
  add_words(out, "disk", part.disks);
  add_words(out, "nic", part.nics);
  add_words(out, "daemon", part.daemons);
  add_words(out, "peer", part.peers);
  return out + "end\n";
}

Result<FaultPart> parse_part(std::string_view text) {
  if (text.size() > kMaxPartBytes) return input_error("a fault's part is too long");
  JournalText journal;
  RETURN_IF_ERROR(parse_head(text, journal));
  return std::move(journal.part);
}

std::string format_journal(const JournalText& journal) {
  std::string out = format_part(journal.part);
  add_word(out, "guard", journal.guard);
  add_line(out, "netns", journal.netns);
  add_word(out, "boot", journal.boot);
  add_line(out, "written_ns", journal.written_ns);
  return out + format_notes(journal.notes) + (journal.applied ? "applied\n" : "");
}

std::string format_notes(const FaultParams& notes) {
  std::string out;
  add_pairs(out, "note", notes);
  return out;
}

Result<JournalText> parse_journal(std::string_view text) {
  if (text.size() > kMaxJournalBytes) return input_error("the journal is too long");
  JournalText journal;
  RETURN_IF_ERROR(parse_head(text, journal));
  text = text.substr(0, text.rfind('\n') + 1);  // npos + 1 is 0: no complete line
  std::string_view line;
  while (next_line(text, line)) RETURN_IF_ERROR(take_line(line, kJournalRows, journal));
  return journal;
}

}  // namespace culprit
