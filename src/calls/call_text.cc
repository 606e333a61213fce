#include "calls/call_text.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <system_error>

#include "base/text.h"
#include "base/units.h"
#include "calls/syscalls.h"

namespace culprit {

namespace {

constexpr int kAtFdCwd = -100;                            // the working folder instead of a descriptor
constexpr uint64_t kMakesFile = 0100 | 020000000;         // O_CREAT, O_TMPFILE: only then open has a mode
constexpr int kFirstKernelErrno = 512;                    // never seen by programs: the call is restarted or ends
constexpr int kLastKernelErrno = 530;                     // include/linux/errno.h of the kernel
constexpr std::array kAddressResults = {9, 12, 25, 30};   // mmap, brk, mremap, shmat return addresses
constexpr std::string_view kEscapes = "\n\t\r\v\f\"\\";   // escaped by a letter each,
constexpr std::string_view kEscapeLetters = "ntrvf\"\\";  // in the same order

// An argument with all that its text may need.
struct Shown {
  const Call& call;
  const FdMap& fds;
  const TextOptions& options;
  size_t at;

  uint64_t value() const { return call.args[at]; }
};

std::string annotation(const FdMap& fds, int32_t process, int64_t fd, int64_t t_ns, const TextOptions& options) {
  if (!options.names || fd < 0 || fd > std::numeric_limits<int32_t>::max()) return "";
  const FdRecord* record = fds.find(process, static_cast<int32_t>(fd), t_ns);
  return record ? fd_text(*record) : "";
}

std::string show_number(const Shown& arg) {
  return cat(static_cast<int32_t>(arg.value()));
}
std::string show_size(const Shown& arg) {
  return cat(arg.value());
}
std::string show_offset(const Shown& arg) {
  return cat(static_cast<int64_t>(arg.value()));
}
std::string show_hex(const Shown& arg) {
  return arg.value() == 0 ? "0" : hex_number(arg.value());
}
std::string show_pointer(const Shown& arg) {
  return arg.value() == 0 ? "NULL" : hex_number(arg.value());
}
std::string show_fd(const Shown& arg) {
  int32_t fd = static_cast<int32_t>(arg.value());
  if (arg.call.errno_value() == EBADF) return cat(fd);
  return cat(fd, annotation(arg.fds, arg.call.process, fd, arg.call.start_ns, arg.options));
}
std::string show_dirfd(const Shown& arg) {
  return static_cast<int32_t>(arg.value()) == kAtFdCwd ? "AT_FDCWD" : show_fd(arg);
}
// Only of a call that failed is the path in the log; of one that went well it is known by its descriptor.
std::string show_path(const Shown& arg) {
  const FdRecord* failed = arg.call.failed() ? arg.fds.failed_path(arg.call.sequence) : nullptr;
  if (!failed || path_argument(arg.call.number) != static_cast<int>(arg.at)) return "...";
  return cat("\"", escape_name(failed->name), "\"");
}
std::string show_buffer(const Shown&) {
  return "...";
}
std::string show_vector(const Shown& arg) {
  int at = vector_bytes_argument(arg.call.number);
  return at < 0 ? "..." : cat("[{iov_len=", arg.call.args[static_cast<size_t>(at)], "}]");
}
std::string show_open_flags(const Shown& arg) {
  return open_flags_text(arg.value());
}
std::string show_mode(const Shown& arg) {
  std::string digits;
  for (uint64_t rest = arg.value(); rest != 0; rest >>= 3) digits.insert(digits.begin(), "01234567"[rest & 7]);
  return "0" + digits;
}
std::string show_signal(const Shown& arg) {
  int number = static_cast<int>(arg.value());
  return signal_number(signal_name(number)) == number && number != 0 ? signal_name(number) : cat(number);
}

struct ShowArg {
  Arg kind;
  std::string (*show)(const Shown& arg);
};

constexpr ShowArg kShow[] = {
    {Arg::number, show_number}, {Arg::size, show_size},
    {Arg::hex, show_hex},       {Arg::pointer, show_pointer},
    {Arg::fd, show_fd},         {Arg::dirfd, show_dirfd},
    {Arg::path, show_path},     {Arg::buffer, show_buffer},
    {Arg::vector, show_vector}, {Arg::open_flags, show_open_flags},
    {Arg::mode, show_mode},     {Arg::signal, show_signal},
    {Arg::offset, show_offset},
};

std::string show(const Shown& arg, Arg kind) {
  for (const ShowArg& one : kShow)
    if (one.kind == kind) return one.show(arg);
  return show_hex(arg);
}

std::string arguments_text(const Call& call, const FdMap& fds, const TextOptions& options) {
  const Syscall* known = find_syscall(call.number);
  size_t count = static_cast<size_t>(argument_count(call.number));
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    Arg kind = known ? known->args[i] : Arg::hex;
    if (kind == Arg::hidden) continue;
    bool idle_mode = known && i > 0 && known->args[i - 1] == Arg::open_flags && (call.args[i - 1] & kMakesFile) == 0;
    if (kind == Arg::mode && idle_mode) continue;
    if (i > 0) text += ", ";
    text += show({call, fds, options, i}, kind);
  }
  return text;
}

std::string value_text(const Call& call, const FdMap& fds, const TextOptions& options) {
  const Syscall* known = call.kind == CallKind::call ? find_syscall(call.number) : nullptr;
  if (int32_t fd = made_fd(call); fd >= 0) return cat(fd, annotation(fds, call.process, fd, call.end_ns(), options));
  if (known && std::ranges::count(kAddressResults, call.number) > 0)
    return hex_number(static_cast<uint64_t>(call.result));
  return cat(call.result);
}

std::string result_text(const Call& call, const FdMap& fds, const TextOptions& options) {
  if (!call.finished())
    return call.kind == CallKind::call && never_returns(call.number) ? " = ?" : " = ? <unfinished ...>";
  std::string duration = cat(" <", seconds_text(call.duration_ns, 6), ">");
  int error = call.errno_value();
  if (error == 0) return cat(" = ", value_text(call, fds, options), duration);
  if (error >= kFirstKernelErrno && error <= kLastKernelErrno) return cat(" = ? ", errno_name(error), duration);
  return cat(" = -1 ", errno_name(error), " (", std::generic_category().message(error), ")", duration);
}

std::string signal_text(const Call& call) {
  std::string name = signal_name(call.number);
  std::string sender = call.args[1] == 0 ? "" : cat(", si_pid=", call.args[1]);
  return cat("--- ", name, " {si_signo=", name, ", si_code=", static_cast<int32_t>(call.args[0]), sender, "} ---");
}

std::string exit_text(const Call& call) {
  int signal = static_cast<int>(call.result & 0x7f);
  if (signal == 0) return cat("+++ exited with ", (call.result >> 8) & 0xff, " +++");
  return cat("+++ killed by ", signal_name(signal), (call.result & 0x80) != 0 ? " (core dumped)" : "", " +++");
}

std::string request_text(const Call& call, const FdMap& fds, const TextOptions& options) {
  return cat(kind_name(call.kind), ": ", request_name(call.kind, call.number), "(", show_fd({call, fds, options, 0}),
             ", ", call.args[1], ", ", static_cast<int64_t>(call.args[2]), ")", result_text(call, fds, options));
}

std::string class_text(const Call& call, const FdMap& fds) {
  const FdRecord* what = record_target(call, fds).what;
  return cat(name_of(what ? what->fd_class : FdClass::other), " ");
}

std::string endpoints(const FdRecord& record) {
  std::string text = record.local;
  if (text.empty()) text = cat(record.inode);
  if (!record.peer.empty()) text += cat("->", record.peer);
  return text;
}

std::string socket_name(const FdRecord& record) {
  if (record.protocol.empty()) return cat("socket:[", record.inode, "]");
  bool named = !record.name.empty() && !record.name.starts_with("socket:[");  // the number is there anyway
  bool six = record.local.starts_with('[') || record.peer.starts_with('[');
  return cat(record.protocol, six ? "v6" : "", ":[", endpoints(record), named ? cat(",\"", record.name, "\"") : "",
             "]");
}

}  // namespace

std::string kind_name(CallKind kind) {
  constexpr std::array<std::string_view, kCallKinds> kNames = {"call", "signal", "exit", "aio", "uring"};
  return std::string(kNames.at(static_cast<size_t>(kind)));
}

std::string record_name(const Call& call) {
  if (call.kind == CallKind::call) return syscall_name(call.number);
  if (call.kind == CallKind::signal) return signal_name(call.number);
  if (call.kind == CallKind::exit) return (call.result & 0x7f) != 0 ? "killed" : "exited";
  return request_name(call.kind, call.number);
}

RecordTarget record_target(const Call& call, const FdMap& fds) {
  if (call.kind == CallKind::signal || call.kind == CallKind::exit) return {};
  if (int32_t fd = made_fd(call); fd >= 0) return {fd, fds.find(call.process, fd, call.end_ns())};
  const FdRecord* path = call.failed() ? fds.failed_path(call.sequence) : nullptr;
  return {fd_of(call), path ? path : target_of(call, fds)};
}

std::string target_name(const FdRecord& record) {
  return record.kind == FdKind::socket ? socket_name(record) : record.name;
}

std::string escape_name(std::string_view name) {
  std::string out;
  for (char c : name) {
    unsigned char byte = static_cast<unsigned char>(c);
    if (size_t at = kEscapes.find(c); at != std::string_view::npos) {
      out += '\\';
      out += kEscapeLetters[at];
    } else if (byte < 0x20 || byte == 0x7f || c == '<' || c == '>') {
      out += '\\';
      for (int shift = 6; shift >= 0; shift -= 3) out += "01234567"[(byte >> shift) & 7];
    } else {
      out += c;
    }
  }
  return out;
}

namespace {

// Behind a backslash: up to three octal or, behind an x, two hexadecimal digits. False: there are none.
bool take_code(std::string_view text, size_t& at, char& out) {
  bool hex = at < text.size() && text[at] == 'x';
  size_t from = hex ? at + 1 : at;
  size_t end = from;
  unsigned value = 0;
  for (; end < text.size() && end < from + (hex ? 2 : 3); ++end) {
    size_t digit = std::string_view("0123456789abcdef").find(text[end]);
    if (digit >= (hex ? 16U : 8U)) break;
    value = value * (hex ? 16U : 8U) + static_cast<unsigned>(digit);
  }
  if (end == from) return false;
  out = static_cast<char>(static_cast<unsigned char>(value & 0xff));
  at = end;
  return true;
}

}  // namespace

std::string unescape_name(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    char c = text[i++];
    if (c != '\\' || i == text.size()) {
      out += c;
      continue;
    }
    char code = 0;
    if (take_code(text, i, code)) {
      out += code;
      continue;
    }
    size_t letter = kEscapeLetters.find(text[i]);
    out += letter == std::string_view::npos ? text[i] : kEscapes[letter];
    ++i;
  }
  return out;
}

std::string fd_text(const FdRecord& record) {
  if (record.kind != FdKind::socket) return record.name.empty() ? "" : cat("<", escape_name(record.name), ">");
  FdRecord clean = record;  // only texts from outside are escaped, not the arrow between them
  for (std::string* text : {&clean.name, &clean.protocol, &clean.local, &clean.peer}) *text = escape_name(*text);
  return cat("<", socket_name(clean), ">");
}

std::string seconds_text(int64_t ns, int digits) {
  ns = std::max<int64_t>(ns, 0);
  std::string fraction = std::to_string(kNsPerSecond + ns % kNsPerSecond).substr(1, static_cast<size_t>(digits));
  return cat(ns / kNsPerSecond, ".", fraction);
}

std::string line_start(int64_t t_ns, int32_t thread, const TextOptions& options) {
  return cat(options.thread ? cat("[pid ", thread, "] ") : "", options.time ? seconds_text(t_ns, 6) + " " : "");
}

TextHalves call_halves(const Call& call, const FdMap& fds, const TextOptions& options) {
  std::string start = line_start(call.start_ns, call.thread, options);
  if (call.kind == CallKind::signal) return {start + signal_text(call), ""};
  if (call.kind == CallKind::exit) return {start + exit_text(call), ""};
  if (options.class_of) start += class_text(call, fds);
  if (call.kind != CallKind::call) return {start + request_text(call, fds, options), ""};
  return {cat(start, syscall_name(call.number), "(", arguments_text(call, fds, options)),
          ")" + result_text(call, fds, options)};
}

std::string call_text(const Call& call, const FdMap& fds, const TextOptions& options) {
  TextHalves halves = call_halves(call, fds, options);
  return halves.head + halves.tail;
}

}  // namespace culprit
