#include "calls/strace_import.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "calls/strace_args.h"
#include "calls/strace_line.h"
#include "calls/strace_threads.h"
#include "calls/syscalls.h"

namespace culprit {

namespace {

constexpr size_t kMostPending = 65536;          // threads within a call at a time
constexpr size_t kMostPendingBytes = 64 << 20;  // of their arguments; beyond it a call keeps its name only
constexpr size_t kMostSeenFds = 1 << 18;        // then all are forgotten, and shown again when they come again
constexpr size_t kMostUnknownNames = 8;         // in the note
constexpr int64_t kGiveUpLines = 1000;          // without a single event: it is another kind of file
constexpr uint64_t kCloneThread = 0x10000;      // CLONE_THREAD
constexpr uint64_t kDirectory = 0200000;        // O_DIRECTORY
constexpr int kFirstKernelErrno = 512;          // ERESTARTSYS and its kin: no failure yet
constexpr int kClose = 3;
constexpr int kConnect = 42;
constexpr std::array kMakesProcess = {56, 57, 58, 435};  // clone, fork, vfork, clone3
constexpr std::array kExecs = {59, 322};                 // execve, execveat
constexpr std::array kOnFolders = {78, 81, 217};         // getdents, fchdir, getdents64
constexpr const char* kHint = "make it with: strace -f -ttt -T -yy -o FILE COMMAND";

// The number of a call by its name; strace calls one that it does not know itself syscall_0x1d5. -1: not known.
int call_number(std::string_view name) {
  if (const Syscall* known = find_syscall(name)) return known->number;
  constexpr std::string_view kNumbered = "syscall_";
  if (!name.starts_with(kNumbered)) return -1;
  name.remove_prefix(kNumbered.size());
  bool hex = name.starts_with("0x");
  if (hex) name.remove_prefix(2);
  int number = -1;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number, hex ? 16 : 10);
  bool whole = error == std::errc() && end == name.data() + name.size();
  return whole && number >= 0 && number < kMostSyscalls ? number : -1;
}

bool makes_process(int number) {
  return std::ranges::count(kMakesProcess, number) > 0;
}

bool is_exec(int number) {
  return std::ranges::count(kExecs, number) > 0;
}

bool shares_process(const Call& call, std::string_view arguments) {
  return arguments.find("CLONE_THREAD") != std::string_view::npos ||
         (call.number == kMakesProcess[0] && (call.args[0] & kCloneThread) != 0);
}

// Whether a path is looked up from this descriptor: then it is a folder. With an empty path it may be anything.
bool starts_a_path(const Syscall* known, const StraceArgs& args, const StraceFd& fd) {
  if (!known || fd.nested) return false;
  for (size_t i = 0; i + 1 < args.list.size() && i < known->args.size(); ++i) {
    std::string_view text = args.list[i];
    bool here = text.data() <= fd.annotation.data() && fd.annotation.data() <= text.data() + text.size();
    if (here) return known->args[i] == Arg::dirfd && args.list[i + 1] != "\"\"";
  }
  return false;
}

uint32_t open_flags_of(const Syscall* known, const Call& call) {
  for (size_t i = 0; known && i < known->args.size(); ++i)
    if (known->args[i] == Arg::open_flags) return static_cast<uint32_t>(call.args[i]);
  return 0;
}

uint64_t identity(const FdRecord& record) {
  uint64_t hash = kFnvStart;
  for (const std::string* text : {&record.name, &record.protocol, &record.local, &record.peer})
    hash = fnv1a64(std::string_view("", 1), fnv1a64(*text, hash));
  return fnv1a64(cat(record.inode), hash);
}

uint64_t fd_key(int32_t process, uint64_t fd) {
  return static_cast<uint64_t>(process) << 32 | (fd & 0xffffffff);
}

// A call whose end has not been read.
struct Pending {
  int number = 0;
  uint64_t sequence = 0;
  int64_t start_ns = 0;
  std::string arguments;
};

// Whom a socket was to reach, and the identity that it showed then.
struct Wanted {
  uint64_t shown = 0;
  std::string peer;
};

}  // namespace

struct StraceImporter::State {
  StraceSink sink;
  std::string name;
  bool of_server = true;
  StraceReport report;
  StraceThreads threads;
  // Maps and not hashes: keys of a hostile text could all meet in one bucket.
  std::map<int32_t, Pending> pending;     // by thread
  std::map<uint64_t, uint64_t> seen_fds;  // (process, fd) -> identity
  std::map<uint64_t, Wanted> wanted;      // (process, fd) of sockets that connect was called on
  std::vector<std::string> unknown_names;
  size_t pending_bytes = 0;
  uint64_t sequence = 0;
  int64_t events = 0;
  int64_t first_skipped = 0;
  int64_t long_lines = 0;
  int64_t unknown_calls = 0;
  int64_t untimed = 0;
  int64_t anonymous = 0;
  int64_t cut = 0;
  int64_t halves = 0;

  Status skip();
  Status refuse_without_time(const StraceLine& line);
  Status event(const StraceLine& line);
  Status on_call(const StraceLine& line);
  Status on_unfinished(const StraceLine& line);
  Status on_resumed(const StraceLine& line);
  Status on_signal(const StraceLine& line);
  Status on_end(const StraceLine& line);
  Status on_superseded(const StraceLine& line);

  Call begin(const StraceLine& line, CallKind kind, int number) {
    return begin(line, kind, number, threads.process_of(line.thread));
  }
  Call begin(const StraceLine& line, CallKind kind, int number, int32_t process);
  int number_or_note(const StraceLine& line);
  std::optional<Pending> take_pending(int32_t thread);
  Status abandon(int32_t thread);
  void forget_half(int32_t thread);
  Status complete(Call call, std::string_view arguments, const StraceResult& result);
  int64_t duration_of(const StraceLine& line, int64_t start_ns);
  Status show_fds(const Call& call, const StraceArgs& args, const StraceResult& result);
  void add_peer(const Call& call, const StraceArgs& args, int32_t fd, FdRecord& record);
  Status show_fd(const Call& call, int64_t fd, FdRecord record, int64_t t_ns);
  Status show_failed_path(const Call& call, const StraceArgs& args);
  Status emit(const Call& call);
  void add_notes();
};

Status StraceImporter::State::skip() {
  if (report.skipped++ == 0) first_skipped = report.lines;
  if (events > 0 || report.skipped < kGiveUpLines) return Ok{};
  return input_error(cat(name, " is not the text of strace"), kHint);
}

Status StraceImporter::State::refuse_without_time(const StraceLine& line) {
  if (events > 0) return skip();
  std::string why = line.time == StraceTime::none ? "has no times" : "has times without a date";
  return input_error(cat(name, ", line ", report.lines, ": the text of strace ", why), kHint);
}

Status StraceImporter::State::event(const StraceLine& line) {
  if (events++ == 0) {
    report.first_ns = line.t_ns;
    if (of_server && !is_exec(call_number(line.name))) threads.attached();
  }
  report.last_ns = std::max(report.last_ns, line.t_ns);
  if (line.thread == 0) ++anonymous;
  if (line.kind == StraceKind::unfinished) return on_unfinished(line);
  if (line.kind == StraceKind::resumed) return on_resumed(line);
  if (line.kind == StraceKind::signal) return on_signal(line);
  if (line.kind == StraceKind::end) return on_end(line);
  if (line.kind == StraceKind::superseded) return on_superseded(line);
  return on_call(line);
}

Call StraceImporter::State::begin(const StraceLine& line, CallKind kind, int number, int32_t process) {
  Call call;
  call.kind = kind;
  call.number = number;
  call.sequence = ++sequence;
  call.start_ns = line.t_ns;
  call.thread = line.thread;
  call.process = process;
  return call;
}

int StraceImporter::State::number_or_note(const StraceLine& line) {
  int number = call_number(line.name);
  if (number >= 0) return number;
  ++unknown_calls;
  std::string shown = printable(line.name, 40);
  bool listed = std::find(unknown_names.begin(), unknown_names.end(), shown) != unknown_names.end();
  if (!listed && unknown_names.size() < kMostUnknownNames) unknown_names.push_back(shown);
  return -1;
}

std::optional<Pending> StraceImporter::State::take_pending(int32_t thread) {
  auto it = pending.find(thread);
  if (it == pending.end()) return std::nullopt;
  Pending out = std::move(it->second);
  pending_bytes -= out.arguments.size();
  pending.erase(it);
  return out;
}

// The second half is missing, as when its line was too long, but the thread has gone on: the call did return, nobody
// knows when. As unfinished it would last to the end of the log.
void StraceImporter::State::forget_half(int32_t thread) {
  auto open = take_pending(thread);
  if (!open) return;
  ++halves;
  if (makes_process(open->number)) threads.clone_is_lost(thread);
}

// What had not returned when its thread or the text ended.
Status StraceImporter::State::abandon(int32_t thread) {
  auto open = take_pending(thread);
  if (!open) return Ok{};
  Call call;
  call.number = open->number;
  call.sequence = open->sequence;
  call.start_ns = open->start_ns;
  call.duration_ns = kUnfinished;
  call.thread = thread;
  call.process = threads.process_of(thread);
  return complete(call, open->arguments, {});
}

// -T says it; without, a call in two halves has the time between them.
int64_t StraceImporter::State::duration_of(const StraceLine& line, int64_t start_ns) {
  if (line.duration_ns >= 0) return line.duration_ns;
  if (line.kind != StraceKind::resumed) ++untimed;
  return line.kind == StraceKind::resumed ? std::max<int64_t>(0, line.t_ns - start_ns) : 0;
}

Status StraceImporter::State::on_call(const StraceLine& line) {
  forget_half(line.thread);
  int number = number_or_note(line);
  if (number < 0) return Ok{};
  Call call = begin(line, CallKind::call, number);
  StraceResult result = parse_strace_result(line.result);
  call.duration_ns = result.returned ? duration_of(line, call.start_ns) : kUnfinished;
  return complete(call, line.arguments, result);
}

// Its descriptors are shown now and not with its end: other threads may use them meanwhile, and what they are would be
// known only from then on.
Status StraceImporter::State::on_unfinished(const StraceLine& line) {
  forget_half(line.thread);
  int number = number_or_note(line);
  if (number < 0) return Ok{};
  Call call = begin(line, CallKind::call, number);
  StraceArgs args = split_strace_args(line.arguments);
  if (const Syscall* known = find_syscall(number)) fill_registers(*known, args, call);
  RETURN_IF_ERROR(show_fds(call, args, {}));
  bool room = pending_bytes + line.arguments.size() <= kMostPendingBytes && pending.size() < kMostPending;
  if (!room) ++cut;
  if (pending.size() >= kMostPending) return Ok{};
  Pending open{number, call.sequence, call.start_ns, room ? std::string(line.arguments) : ""};
  pending_bytes += open.arguments.size();
  pending.emplace(line.thread, std::move(open));
  if (makes_process(number)) threads.clone_begins(line.thread, shares_process(call, line.arguments));
  return Ok{};
}

// Without its first half, as when strace was attached during the call, its arguments are not known.
Status StraceImporter::State::on_resumed(const StraceLine& line) {
  int number = call_number(line.name);
  auto found = pending.find(line.thread);
  if (found != pending.end() && found->second.number != number) forget_half(line.thread);
  if (number < 0) return Ok{};
  StraceResult result = parse_strace_result(line.result);
  auto open = take_pending(line.thread);
  if (!open) {
    Call call = begin(line, CallKind::call, number);
    call.duration_ns = result.returned ? std::max<int64_t>(0, line.duration_ns) : kUnfinished;
    call.start_ns -= std::max<int64_t>(0, line.duration_ns);
    return complete(call, "", result);
  }
  Call call;
  call.number = number;
  call.sequence = open->sequence;
  call.start_ns = open->start_ns;
  call.duration_ns = result.returned ? duration_of(line, open->start_ns) : kUnfinished;
  call.thread = line.thread;
  call.process = threads.process_of(line.thread);
  return complete(call, cat(open->arguments, line.arguments), result);
}

Status StraceImporter::State::complete(Call call, std::string_view arguments, const StraceResult& result) {
  call.result = result.returned ? result.value : 0;
  StraceArgs args = split_strace_args(arguments);
  if (const Syscall* known = find_syscall(call.number)) fill_registers(*known, args, call);
  RETURN_IF_ERROR(show_fds(call, args, result));
  RETURN_IF_ERROR(show_failed_path(call, args));
  if (makes_process(call.number) && !call.finished()) threads.clone_is_lost(call.thread);
  if (makes_process(call.number) && call.finished())
    threads.clone_ends(call.thread, shares_process(call, arguments), call.result);
  if (call.number == kClose && call.finished() && call.result == 0) {
    seen_fds.erase(fd_key(call.process, call.args[0]));
    wanted.erase(fd_key(call.process, call.args[0]));
  }
  return emit(call);
}

Status StraceImporter::State::show_fds(const Call& call, const StraceArgs& args, const StraceResult& result) {
  const Syscall* known = find_syscall(call.number);
  for (const StraceFd& fd : args.fds) {
    if (fd.fd < 0) continue;
    FdRecord record = parse_fd_annotation(fd.annotation, fd.deleted);
    bool folder = starts_a_path(known, args, fd) || std::ranges::count(kOnFolders, call.number) > 0;
    if (folder && record.kind == FdKind::file) record.kind = FdKind::folder;
    add_peer(call, args, fd.fd, record);
    RETURN_IF_ERROR(show_fd(call, fd.fd, std::move(record), fd.nested ? call.end_ns() : call.start_ns));
  }
  if (result.annotation.empty() || call.result < 0) return Ok{};
  FdRecord record = parse_fd_annotation(result.annotation, result.deleted);
  record.flags = open_flags_of(known, call);
  if ((record.flags & kDirectory) != 0 && record.kind == FdKind::file) record.kind = FdKind::folder;
  return show_fd(call, call.result, std::move(record), call.end_ns());
}

// Before a connection is there, and again when it was refused, a socket shows no peer. It is the one that connect was
// to reach, as long as the socket shows what it showed then: just who refused is what matters.
void StraceImporter::State::add_peer(const Call& call, const StraceArgs& args, int32_t fd, FdRecord& record) {
  if (record.kind != FdKind::socket || !record.peer.empty()) return;
  uint64_t key = fd_key(call.process, static_cast<uint32_t>(fd));
  uint64_t shown = identity(record);
  std::string peer = call.number == kConnect ? strace_peer(args) : "";
  if (!peer.empty()) {
    if (wanted.size() >= kMostSeenFds) wanted.clear();
    wanted[key] = {shown, std::move(peer)};
  }
  auto it = wanted.find(key);
  if (it != wanted.end() && it->second.shown == shown) record.peer = it->second.peer;
}

// Only what is new. A descriptor that was just opened is, if its flags tell something.
Status StraceImporter::State::show_fd(const Call& call, int64_t fd, FdRecord record, int64_t t_ns) {
  if (fd > INT32_MAX || (record.name.empty() && record.kind != FdKind::socket)) return Ok{};
  uint64_t key = fd_key(call.process, static_cast<uint64_t>(fd));
  uint64_t what = identity(record);
  auto it = seen_fds.find(key);
  if (it != seen_fds.end() && it->second == what && record.flags == 0) return Ok{};
  if (seen_fds.size() >= kMostSeenFds) seen_fds.clear();
  seen_fds[key] = what;
  record.t_ns = t_ns;
  record.process = call.process;
  record.fd = static_cast<int32_t>(fd);
  ++report.fds;
  return sink.fd(record);
}

Status StraceImporter::State::show_failed_path(const Call& call, const StraceArgs& args) {
  const Syscall* known = find_syscall(call.number);
  if (!known || !call.failed() || call.errno_value() >= kFirstKernelErrno) return Ok{};
  FdRecord record;
  record.name = strace_path(*known, args);
  if (record.name.empty()) return Ok{};
  record.kind = FdKind::path;
  record.t_ns = call.end_ns();
  record.process = call.process;
  record.sequence = call.sequence;
  ++report.fds;
  return sink.fd(record);
}

Status StraceImporter::State::on_signal(const StraceLine& line) {
  Call call = begin(line, CallKind::signal, signal_number(line.name));
  std::string_view inside = line.arguments;
  if (inside.starts_with('{')) inside.remove_prefix(1);
  if (inside.ends_with('}')) inside.remove_suffix(1);
  for (std::string_view field : split_strace_args(inside).list) {
    size_t equals = std::min(field.find('='), field.size() - 1);
    std::string_view value = field.substr(equals + 1);
    if (field.starts_with("si_code=")) call.args[0] = static_cast<uint64_t>(signal_code(value));
    if (field.starts_with("si_pid=")) call.args[1] = static_cast<uint64_t>(parse_int(value).value_or(0));
  }
  return emit(call);
}

Status StraceImporter::State::on_end(const StraceLine& line) {
  RETURN_IF_ERROR(abandon(line.thread));
  const StraceThreads::End end = threads.ends(line.thread);
  Call call = begin(line, CallKind::exit, end.last ? 1 : 0, end.process);
  call.result = line.status;
  return emit(call);
}

// An exec by another thread than the process's first: it goes on under that one's number, and the first one is gone.
Status StraceImporter::State::on_superseded(const StraceLine& line) {
  if (line.other == line.thread) return Ok{};
  RETURN_IF_ERROR(abandon(line.thread));
  auto open = pending.find(line.other);
  if (open != pending.end() && is_exec(open->second.number)) {
    auto moved = pending.extract(open);
    moved.key() = line.thread;
    pending.insert(std::move(moved));
  }
  RETURN_IF_ERROR(abandon(line.other));
  threads.leaves(line.other);
  return Ok{};
}

Status StraceImporter::State::emit(const Call& call) {
  if (call.kind == CallKind::signal) ++report.signals;
  if (call.kind == CallKind::exit) ++report.ends;
  if (call.kind == CallKind::call) {
    ++report.calls;
    if (!call.finished() && !never_returns(call.number)) ++report.unfinished;
  }
  report.last_ns = std::max(report.last_ns, call.end_ns());
  return sink.call(call);
}

void StraceImporter::State::add_notes() {
  auto note = [&](int64_t count, std::string_view rest) {
    if (count > 0) report.notes.push_back(cat(count, " ", rest));
  };
  note(report.skipped, cat("lines were not understood and left out, the first is line ", first_skipped));
  note(long_lines, "lines were longer than 64 KiB and left out");
  note(unknown_calls, cat("calls were left out because their names are not known: ", join(unknown_names, ", ")));
  note(untimed, "calls have no duration and count as 0 s: strace -T writes it");
  note(anonymous, "lines do not say whose they are and count as process 0: strace -f -o FILE writes it");
  note(report.unfinished, "calls had not returned when their thread or the text ended");
  note(cut, "calls lost their arguments: too many were under way at a time");
  note(halves, "calls were left out: their second half is missing, though their threads went on");
  note(threads.mistaken(), "threads were first taken for those of another process");
  note(threads.before() > 1 ? threads.before() : 0, "threads were there before and count as one process");
  if (report.calls > 0 && report.fds == 0)
    report.notes.push_back("no descriptor has a name, so no call belongs to a file or socket: strace -yy writes them");
}

StraceImporter::StraceImporter(StraceSink sink, std::string name_for_errors, bool of_server)
    : state_(std::make_unique<State>()) {
  state_->sink = std::move(sink);
  state_->name = std::move(name_for_errors);
  state_->of_server = of_server;
}
StraceImporter::StraceImporter(StraceImporter&&) noexcept = default;
StraceImporter& StraceImporter::operator=(StraceImporter&&) noexcept = default;
StraceImporter::~StraceImporter() = default;

Status StraceImporter::line(std::string_view text) {
  ++state_->report.lines;
  if (text.size() > kMostStraceLine) {
    ++state_->long_lines;
    return Ok{};
  }
  StraceLine parsed = parse_strace_line(text);
  if (parsed.kind == StraceKind::idle) return Ok{};
  if (parsed.kind == StraceKind::unknown) return state_->skip();
  if (parsed.time != StraceTime::absolute) return state_->refuse_without_time(parsed);
  return state_->event(parsed);
}

Result<StraceReport> StraceImporter::finish() {
  if (state_->events == 0) return input_error(cat(state_->name, " holds no line of strace"), kHint);
  std::vector<std::pair<uint64_t, int32_t>> left;  // sequence, thread
  for (const auto& [thread, open] : state_->pending) left.emplace_back(open.sequence, thread);
  std::sort(left.begin(), left.end());
  for (const auto& [sequence, thread] : left) RETURN_IF_ERROR(state_->abandon(thread));
  state_->add_notes();
  return state_->report;
}

int64_t StraceImporter::first_ns() const {
  return state_->report.first_ns;
}

}  // namespace culprit
