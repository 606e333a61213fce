#include "calls/strace_line.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "base/text.h"
#include "base/units.h"
#include "calls/strace_args.h"
#include "calls/syscalls.h"

namespace culprit {

namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr int64_t kFirstUnixSecond = 100'000'000;   // 1973: smaller ones are times since the last line (strace -r)
constexpr int64_t kLastUnixSecond = 9'000'000'000;  // the year 2255; in ns it still fits
constexpr int64_t kMostSeconds = 100'000'000;       // of a duration: three years
constexpr size_t kMostThreadDigits = 9;             // a longer number is a time

bool take(std::string_view& text, std::string_view front) {
  if (!text.starts_with(front)) return false;
  text.remove_prefix(front.size());
  return true;
}

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
}

std::string_view take_word(std::string_view& text) {
  size_t end = std::min(text.find_first_of(" \t"), text.size());
  std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  skip_blanks(text);
  return word;
}

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kDigits) == std::string_view::npos;
}

// "1700000000.123456" in ns; at most `most` seconds.
std::optional<int64_t> parse_seconds(std::string_view text, int64_t most) {
  size_t dot = text.find('.');
  std::string_view fraction = dot == std::string_view::npos ? "0" : text.substr(dot + 1);
  if (!all_digits(text.substr(0, dot)) || !all_digits(fraction) || fraction.size() > 9) return std::nullopt;
  auto seconds = parse_int(text.substr(0, dot));
  if (!seconds || *seconds > most) return std::nullopt;
  int64_t ns = 0;
  for (size_t i = 0; i < 9; ++i) ns = ns * 10 + (i < fraction.size() ? fraction[i] - '0' : 0);
  return *seconds * kNsPerSecond + ns;
}

// "4711 " or "[pid  4711] " at the front.
void take_thread(std::string_view& text, StraceLine& line) {
  std::string_view rest = text;
  bool brackets = take(rest, "[pid");
  skip_blanks(rest);
  size_t end = std::min(rest.find_first_not_of(kDigits), rest.size());
  std::string_view digits = rest.substr(0, end);
  rest.remove_prefix(end);
  if (digits.empty() || digits.size() > kMostThreadDigits) return;
  if (brackets ? !take(rest, "]") : !rest.starts_with(' ')) return;
  skip_blanks(rest);
  line.thread = static_cast<int32_t>(parse_int(digits).value_or(0));
  text = rest;
}

void take_time(std::string_view& text, StraceLine& line) {
  std::string_view rest = text;
  std::string_view word = take_word(rest);
  if (word.empty() || word.find_first_not_of("0123456789.:") != std::string_view::npos) return;
  line.time = StraceTime::clock;
  text = rest;
  auto t_ns = parse_seconds(word, kLastUnixSecond);
  if (!t_ns || *t_ns < kFirstUnixSecond * kNsPerSecond) return;
  line.time = StraceTime::absolute;
  line.t_ns = *t_ns;
}

// Off the end of a result: "3 <0.000213>".
void take_duration(StraceLine& line) {
  size_t open = line.result.rfind('<');
  if (open == std::string_view::npos || !line.result.ends_with('>')) return;
  auto ns = parse_seconds(line.result.substr(open + 1, line.result.size() - open - 2), kMostSeconds);
  if (!ns) return;
  line.duration_ns = *ns;
  line.result = trim(line.result.substr(0, open));
}

// Splits "arguments) = result <duration>". The last ") =" counts: texts within the arguments may hold others.
bool take_result(std::string_view body, StraceLine& line) {
  for (size_t at = body.size(); at > 0;) {
    at = body.rfind("= ", at - 1);
    if (at == std::string_view::npos) return false;
    size_t close = body.substr(0, at).find_last_not_of(' ');
    if (close == std::string_view::npos || body[close] != ')') continue;
    line.arguments = body.substr(0, close);
    line.result = trim(body.substr(at + 2));
    take_duration(line);
    return !line.result.empty();
  }
  return false;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// "name(": false when it does not begin like a call.
bool take_name(std::string_view& body, StraceLine& line) {
  size_t open = body.find('(');
  if (open == std::string_view::npos || !is_name(body.substr(0, open))) return false;
  line.name = body.substr(0, open);
  body.remove_prefix(open + 1);
  return true;
}

// Off the end: what stands there when the call had not returned. It is <detached ...> when strace lets the process go,
// and <pid changed to 7 ...> when an exec gives the thread the number of its process's first one.
bool take_open_end(std::string_view& body) {
  size_t at = body.rfind('<');
  if (at == std::string_view::npos || !body.ends_with(" ...>")) return false;
  std::string_view mark = body.substr(at);
  bool open = mark == "<unfinished ...>" || mark == "<detached ...>" || mark.starts_with("<pid changed to ");
  if (open) body = trim(body.substr(0, at));
  return open;
}

StraceKind parse_call(std::string_view body, StraceLine& line) {
  if (!take_name(body, line)) return StraceKind::unknown;
  if (!take_open_end(body)) return take_result(body, line) ? StraceKind::call : StraceKind::unknown;
  if (body.ends_with("= ?") && take_result(body, line)) return StraceKind::call;  // our own text of such a call
  line.arguments = body;
  return StraceKind::unfinished;
}

StraceKind parse_resumed(std::string_view body, StraceLine& line) {
  constexpr std::string_view kResumed = " resumed>";
  size_t end = body.find(kResumed);
  if (end == std::string_view::npos || !is_name(body.substr(0, end))) return StraceKind::unknown;
  line.name = body.substr(0, end);
  return take_result(body.substr(end + kResumed.size()), line) ? StraceKind::resumed : StraceKind::unknown;
}

StraceKind parse_signal(std::string_view body, StraceLine& line) {
  constexpr std::string_view kEnd = " ---";
  if (!body.ends_with(kEnd)) return StraceKind::unknown;
  body.remove_suffix(kEnd.size());
  if (body.starts_with("stopped by ")) return StraceKind::idle;
  line.name = take_word(body);
  line.arguments = body;
  return signal_number(line.name) > 0 ? StraceKind::signal : StraceKind::unknown;
}

StraceKind parse_end(std::string_view body, StraceLine& line) {
  if (!body.ends_with(" +++")) return StraceKind::unknown;
  if (take(body, "superseded by execve in pid ")) {
    auto thread = parse_int(take_word(body));
    if (!thread || *thread <= 0 || *thread > std::numeric_limits<int32_t>::max()) return StraceKind::unknown;
    line.other = static_cast<int32_t>(*thread);
    return StraceKind::superseded;
  }
  if (take(body, "exited with ")) {
    auto code = parse_int(take_word(body));
    if (!code || *code < 0 || *code > 255) return StraceKind::unknown;
    line.status = static_cast<int>(*code) << 8;
    return StraceKind::end;
  }
  if (!take(body, "killed by ")) return StraceKind::unknown;
  int signal = signal_number(take_word(body));
  if (signal == 0) return StraceKind::unknown;
  line.status = signal | (body.starts_with("(core dumped)") ? 0x80 : 0);
  return StraceKind::end;
}

StraceKind parse_body(std::string_view body, StraceLine& line) {
  if (body.empty() || body.starts_with("strace: ")) return StraceKind::idle;
  if (take(body, "--- ")) return parse_signal(body, line);
  if (take(body, "+++ ")) return parse_end(body, line);
  if (take(body, "<... ")) return parse_resumed(body, line);
  return parse_call(body, line);
}

// The errno behind "-1 " or "? ": "ENOENT (No such file or directory)", "(errno 530)". 0: none.
int named_errno(std::string_view text) {
  if (take(text, "(errno ")) {
    auto number = parse_int(text.substr(0, text.find(')')));
    return number && *number > 0 && *number <= 4095 ? static_cast<int>(*number) : 0;
  }
  return errno_number(take_word(text));
}

int64_t leading_number(std::string_view& text) {
  uint64_t value = 0;
  if (take(text, "0x")) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    return error == std::errc() ? static_cast<int64_t>(value) : 0;
  }
  bool negative = take(text, "-");
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (error != std::errc()) return 0;
  return static_cast<int64_t>(negative ? 0 - value : value);
}

}  // namespace

StraceLine parse_strace_line(std::string_view text) {
  StraceLine line;
  text = trim(text);
  take_thread(text, line);
  take_time(text, line);
  line.kind = parse_body(text, line);
  return line;
}

StraceResult parse_strace_result(std::string_view text) {
  StraceResult out;
  if (take(text, "?")) {
    skip_blanks(text);
    out.value = -named_errno(text);
    out.returned = out.value != 0;
    return out;
  }
  out.returned = true;
  out.value = leading_number(text);
  if (out.value == -1) {
    skip_blanks(text);
    if (int error = named_errno(text)) out.value = -error;
  }
  size_t end = text.starts_with('<') ? annotation_end(text, 0) : std::string_view::npos;
  if (end == std::string_view::npos) return out;
  out.annotation = text.substr(1, end - 1);
  out.deleted = text.substr(end + 1).starts_with("(deleted)");
  return out;
}

}  // namespace culprit
