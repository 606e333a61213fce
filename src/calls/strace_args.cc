#include "calls/strace_args.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "base/text.h"
#include "calls/call_text.h"
#include "calls/fd_class.h"

namespace culprit {

namespace {

constexpr size_t kMostArguments = 32;       // strace splits a few structures, but never into so many
constexpr size_t kMostFds = 4096;           // in one line
constexpr int kMostBrokenAnnotations = 16;  // then the rest of the line is taken as it is, or looking could take long
constexpr size_t kMostFdDigits = 10;
constexpr int kFcntl = 72;
constexpr size_t kFcntlCommandAt = 1;
constexpr std::string_view kCwd = "AT_FDCWD";
constexpr std::string_view kIovLength = "iov_len=";

struct SignalCode {
  std::string_view name;
  int value;
};

// Of the kernel's siginfo.h: the common ones.
constexpr SignalCode kSignalCodes[] = {
    {"SI_USER", 0},     {"SI_KERNEL", 0x80}, {"SI_QUEUE", -1},   {"SI_TIMER", -2},     {"SI_MESGQ", -3},
    {"SI_ASYNCIO", -4}, {"SI_SIGIO", -5},    {"SI_TKILL", -6},   {"CLD_EXITED", 1},    {"CLD_KILLED", 2},
    {"CLD_DUMPED", 3},  {"CLD_TRAPPED", 4},  {"CLD_STOPPED", 5}, {"CLD_CONTINUED", 6}, {"SEGV_MAPERR", 1},
    {"SEGV_ACCERR", 2}, {"BUS_ADRALN", 1},   {"BUS_ADRERR", 2},  {"BUS_OBJERR", 3},    {"ILL_ILLOPC", 1},
    {"ILL_ILLOPN", 2},  {"FPE_INTDIV", 1},   {"FPE_INTOVF", 2},  {"TRAP_BRKPT", 1},    {"TRAP_TRACE", 2},
    {"POLL_IN", 1},     {"SYS_SECCOMP", 1},
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Place of the quote that closes the one at `at`; the text's size when none does.
size_t quote_end(std::string_view text, size_t at) {
  for (size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      return i;
  }
  return text.size();
}

// A number at the front; nothing but blanks or an annotation may follow.
std::optional<uint64_t> leading_value(std::string_view text, int base = 10) {
  bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.starts_with("0x")) {
    base = 16;
    text.remove_prefix(2);
  }
  uint64_t value = 0;
  const char* last = text.data() + text.size();
  auto [end, error] = std::from_chars(text.data(), last, value, base);
  if (error != std::errc() || (end != last && *end != ' ' && *end != '<')) return std::nullopt;
  return negative ? 0 - value : value;
}

class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text) {}
  StraceArgs run();

 private:
  void step();
  bool take_annotation();
  void add_iov_length();
  void end_argument();
  std::optional<int32_t> fd_before() const;

  std::string_view text_;
  size_t at_ = 0;
  size_t begin_ = 0;  // of the argument
  int depth_ = 0;
  int broken_ = 0;
  StraceArgs out_;
};

StraceArgs Splitter::run() {
  while (at_ < text_.size()) step();
  at_ = text_.size();
  if (!trim(text_).empty()) end_argument();
  return std::move(out_);
}

void Splitter::step() {
  std::string_view rest = text_.substr(at_);
  if (rest[0] == '"') {
    at_ = quote_end(text_, at_) + 1;
    return;
  }
  if (rest.starts_with("/*")) {
    at_ = std::min(text_.find("*/", at_), text_.size() - 2) + 2;
    return;
  }
  if (rest[0] == '<' && take_annotation()) return;
  if (rest.starts_with(kIovLength)) add_iov_length();
  if (std::string_view("([{").find(rest[0]) != std::string_view::npos) ++depth_;
  if (std::string_view(")]}").find(rest[0]) != std::string_view::npos) depth_ = std::max(0, depth_ - 1);
  if (rest[0] == ',' && depth_ == 0) end_argument();
  ++at_;
}

void Splitter::end_argument() {
  if (out_.list.size() < kMostArguments) out_.list.push_back(trim(text_.substr(begin_, at_ - begin_)));
  begin_ = at_ + 1;
}

// The descriptor that an annotation at the current place would belong to.
std::optional<int32_t> Splitter::fd_before() const {
  std::string_view before = text_.substr(0, at_);
  if (before.ends_with(kCwd)) return kStraceCwd;
  size_t from = at_;
  while (from > 0 && at_ - from < kMostFdDigits && is_digit(text_[from - 1])) --from;
  auto fd = parse_int(before.substr(from));
  if (!fd || *fd > std::numeric_limits<int32_t>::max()) return std::nullopt;
  return static_cast<int32_t>(*fd);
}

bool Splitter::take_annotation() {
  auto fd = fd_before();
  char next = at_ + 1 < text_.size() ? text_[at_ + 1] : ' ';
  if (!fd || next == '<' || next == ' ' || next == '=' || broken_ >= kMostBrokenAnnotations) return false;
  size_t end = annotation_end(text_, at_);
  if (end == std::string_view::npos) {
    ++broken_;
    return false;
  }
  bool deleted = text_.substr(end + 1).starts_with("(deleted)");
  if (out_.fds.size() < kMostFds) out_.fds.push_back({*fd, text_.substr(at_ + 1, end - at_ - 1), depth_ > 0, deleted});
  at_ = end + 1;
  return true;
}

void Splitter::add_iov_length() {
  constexpr uint64_t kMost = uint64_t{1} << 62;  // more cannot have been asked for, and the sum stays in range
  uint64_t value = 0;
  std::from_chars(text_.data() + at_ + kIovLength.size(), text_.data() + text_.size(), value);
  out_.iov_bytes = std::min(kMost, out_.iov_bytes + std::min(kMost, value));
}

uint64_t register_of_fd(std::string_view text) {
  if (text.starts_with(kCwd)) return static_cast<uint64_t>(int64_t{kStraceCwd});
  return leading_value(text).value_or(0);
}

uint64_t register_of_signal(std::string_view text) {
  int number = signal_number(text);
  return number > 0 ? static_cast<uint64_t>(number) : leading_value(text).value_or(0);
}

uint64_t register_of(Arg kind, std::string_view text) {
  if (kind == Arg::path || kind == Arg::buffer || kind == Arg::vector) return 0;
  if (kind == Arg::fd || kind == Arg::dirfd) return register_of_fd(text);
  if (kind == Arg::open_flags) return parse_open_flags(text);
  if (kind == Arg::signal) return register_of_signal(text);
  if (kind == Arg::hex && text.starts_with("MSG_")) return parse_message_flags(text);
  return leading_value(text, kind == Arg::mode ? 8 : 10).value_or(0);
}

uint64_t register_of_command(const StraceArgs& args) {
  if (args.list.size() <= kFcntlCommandAt) return kNoFcntlCommand;
  std::string_view text = args.list[kFcntlCommandAt];
  return leading_value(text).value_or(fcntl_command(text));
}

// "</srv>" behind a descriptor or AT_FDCWD; "" without.
std::string folder_of(std::string_view dirfd) {
  size_t open = dirfd.find('<');
  size_t end = open == std::string_view::npos ? open : annotation_end(dirfd, open);
  return end == std::string_view::npos ? "" : unescape_name(dirfd.substr(open + 1, end - open - 1));
}

}  // namespace

size_t annotation_end(std::string_view text, size_t at) {
  bool path = text.substr(at).starts_with("</");
  int depth = 0;
  for (size_t i = at; i < text.size(); ++i) {
    bool arrow = !path && i > at && text[i - 1] == '-';  // between two ends of a socket; "/etc/passwd-" has none
    if (text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      i = quote_end(text, i);
    else if (text[i] == '<')
      ++depth;
    else if (text[i] == '>' && !arrow && --depth == 0)
      return i;
  }
  return std::string_view::npos;
}

StraceArgs split_strace_args(std::string_view text) {
  return Splitter(text).run();
}

void fill_registers(const Syscall& known, const StraceArgs& args, Call& call) {
  size_t next = 0;
  for (size_t i = 0; i < known.args.size() && known.args[i] != Arg::none; ++i) {
    if (known.args[i] == Arg::hidden) continue;
    if (next == args.list.size()) break;
    call.args[i] = register_of(known.args[i], args.list[next++]);
  }
  int bytes = vector_bytes_argument(known.number);
  if (bytes >= 0) call.args[static_cast<size_t>(bytes)] = args.iov_bytes;
  if (known.number == kFcntl) call.args[kFcntlCommandAt] = register_of_command(args);
}

int64_t signal_code(std::string_view text) {
  for (const SignalCode& code : kSignalCodes)
    if (code.name == text) return code.value;
  return parse_int(text).value_or(0);
}

std::string strace_path(const Syscall& known, const StraceArgs& args) {
  int index = path_argument(known.number);
  if (index < 0 || static_cast<size_t>(index) >= args.list.size()) return "";
  size_t at = static_cast<size_t>(index);
  std::string_view text = args.list[at];
  if (!text.starts_with('"')) return "";
  size_t end = quote_end(text, 0);
  std::string path = unescape_name(text.substr(1, end - 1));
  if (int folder = folder_argument(known.number); folder >= 0) {
    std::string name = folder_of(args.list[static_cast<size_t>(folder)]);
    path = path.empty() ? name : path_in(name, std::move(path));
  }
  return path.substr(0, kMostFdText);
}

}  // namespace culprit
