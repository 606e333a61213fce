#include "analyse/call_reduce.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "analyse/call_errors.h"
#include "analyse/call_kinds.h"
#include "analyse/call_links.h"
#include "analyse/call_pieces.h"
#include "analyse/call_verdict.h"
#include "base/units.h"
#include "calls/fd_map.h"

namespace culprit {

namespace {

constexpr size_t kMostSeconds = 1'000'000;        // eleven days; more is a damaged clock
constexpr size_t kMostPairs = 4096;               // of call and errno; real servers have some fifty
constexpr size_t kMostMoments = 4096;             // more than an hour of errors in every second
constexpr size_t kMostExamples = 64;              // enough to find the file
constexpr size_t kMostAppCalls = 20'000;          // failed or slow ones
constexpr size_t kMostProcesses = 1'000'000;      // a client may run a shell loop
constexpr size_t kMostOther = 4096;               // ends, signals, gaps, calls under way
constexpr size_t kMostStretched = 10'000'000;     // seconds of long calls; more than any disk's queue makes in a day
constexpr int64_t kNotable = 5 * kNsPerSecond;    // a gap or a call that somebody might have to explain
constexpr int64_t kStartUp = 5 * kNsPerSecond;    // in which a new process looks for files that need not be there
constexpr int64_t kBeginning = 2 * kNsPerSecond;  // until the probes are in place everywhere
constexpr int64_t kFarTime = int64_t{1} << 62;    // the year 2116; with the two below added nothing overflows
constexpr int64_t kLongest = kFarTime / 2;
constexpr int64_t kLargestOffset = kFarTime / 4;
constexpr uint64_t kMinorBits = 20;  // of a device number: what is above is the major number

// Signals that stop a process, or end it unless it minds them.
constexpr int kSignals[] = {SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGTERM, SIGINT,  SIGQUIT, SIGABRT,
                            SIGSEGV, SIGBUS,  SIGILL,  SIGFPE,  SIGSYS,  SIGXFSZ, SIGXCPU, SIGKILL};

// Folders in which no parallel file system is mounted: what fails there is the machine's own.
constexpr std::string_view kSystemFolders[] = {"/usr/", "/etc/",  "/lib/",  "/lib32/", "/lib64/",
                                               "/bin/", "/sbin/", "/proc/", "/sys/",   "/dev/"};

// Whether a process serves with this call: it moves data, or accepts a client. What a helper has inherited and closes
// makes it no daemon.
bool serves(const Call& call, const FdRecord* target) {
  if (!target || !call.finished() || call.failed()) return false;
  if (target->fd_class != FdClass::storage && target->fd_class != FdClass::to_client) return false;
  const Transfer transfer = transfer_of(call);
  if (transfer == Transfer::none) return is_named(call, "accept") || is_named(call, "accept4");
  return transfer == Transfer::sync || call.result > 0;
}

// What is not known to be something else (strace without -yy, sums, lost records) and breaks like a connection is one.
bool breaks_like_socket(int number, int error) {
  return path_argument(number) < 0 && is_connection_error(error);
}

bool on_socket(const Call& call, const FdRecord* target) {
  if (is_network(call)) return true;
  if (target) return target->kind == FdKind::socket;
  return call.kind == CallKind::call && breaks_like_socket(call.number, call.errno_value());
}

void add_moment(int64_t first_ns, int64_t last_ns, ErrorCount& out) {
  auto second = [](int64_t t_ns) { return t_ns / kNsPerSecond; };
  if (!out.moments.empty() && second(out.moments.back().first_ns) == second(first_ns)) {
    out.moments.back().last_ns = std::max(out.moments.back().last_ns, last_ns);
    return;
  }
  if (out.moments.size() < kMostMoments) out.moments.push_back({first_ns, last_ns});
}

void add_error(uint64_t count, int64_t first_ns, int64_t last_ns, ErrorCount& out) {
  out.first_ns = out.count == 0 ? first_ns : std::min(out.first_ns, first_ns);
  out.last_ns = out.count == 0 ? last_ns : std::max(out.last_ns, last_ns);
  out.count += count;
  add_moment(first_ns, last_ns, out);
}

void add_time(SecondSums& sums, int64_t second, uint64_t count, double ns) {
  auto found = sums.find(second);
  if (found == sums.end()) {
    if (sums.size() >= kMostSeconds) return;
    found = sums.emplace(second, TimeSum{}).first;
  }
  found->second.count += count;
  found->second.sum_ns += ns;
}

class Reducer {
 public:
  Reducer(const LogHeader& header, const std::vector<FdRecord>& fds, const ReduceOptions& options);
  void add(const Call& call);
  void add(const CallSum& sum);
  NodeCalls finish(const std::optional<LogEnd>& end);

 private:
  struct ProcessState {
    int64_t last_ns = 0;     // of its last completed call; before there is one, the start of what it waits for
    int64_t started_ns = 0;  // of its fork or exec; 0: it was there before
    bool completed = false;
    bool served = false;  // since its fork or exec
  };
  struct OpenCall {
    int32_t process;
    int64_t start_ns;
    CallTime which;
  };
  struct FastKey {  // cheaper than ErrorKey: EAGAIN comes a thousand times a second
    CallKind kind;
    int32_t number;
    int error;
    bool socket;
    auto operator<=>(const FastKey&) const = default;
  };

  int64_t ours(int64_t t_ns) const { return t_ns - options_.offset_ns; }
  bool in_range(int64_t t_ns) const { return ours(t_ns) >= options_.since_ns && ours(t_ns) <= options_.until_ns; }
  int64_t begin() const { return std::max(ours(start_ns_), options_.since_ns); }
  bool is_application(const Call& call) const { return !fuse_.count(call.process) && !to_server_.count(call.process); }
  bool holds_served(int32_t process) const { return storage_.count(process) || to_client_.count(process); }
  // A manager beside the data daemons may sleep as long as it likes, so those with storage decide where there are any.
  bool is_serving(int32_t process) const {
    return storage_.empty() ? to_client_.count(process) > 0 : storage_.count(process) > 0;
  }
  ProcessState* see_process(const Call& call);  // null when it has ended, or there are too many
  void end_silence(int32_t process, const ProcessState& state, int64_t until_ns);
  void on_exit(const Call& call);
  void on_signal(const Call& call);
  void on_server_call(const Call& call, const FdRecord* target);
  void on_disk_call(const Call& call, CallTime which);
  void stretch(int64_t start_ns, int64_t end_ns, CallTime which);
  void on_client_call(const Call& call, const FdRecord* target);
  void on_link(const Call& call, const FdRecord& target);
  void on_application(const Call& call, const FdRecord* target);
  void count_error(const Call& call, const FdRecord* target, const std::string& name);
  std::string name_of_target(const Call& call, const FdRecord* target) const;
  bool in_start_up(const Call& call) const;
  const Surroundings::Peer* peer_at(const std::string& endpoint);

  const Surroundings& around_;
  int64_t start_ns_;
  ReduceOptions options_;
  FdMap fds_;
  NodeCalls out_;
  PieceReader pieces_;
  LinkTracker links_;
  std::set<int32_t> storage_, to_client_, to_server_, fuse_;  // processes that have such a descriptor
  std::map<int32_t, ProcessState> processes_;
  bool served_before_ = false;        // somebody with storage or a client's socket has completed a call or ended
  std::map<int32_t, int64_t> ended_;  // those with such a descriptor: a thread's last call may come after the end
  std::map<FastKey, ErrorCount> errors_;
  std::map<std::string, const Surroundings::Peer*> peers_;  // by endpoint
  std::vector<OpenCall> under_way_;                         // disk calls that have not returned
  size_t stretched_ = 0;
  int64_t last_ns_ = 0;
};

Reducer::Reducer(const LogHeader& header, const std::vector<FdRecord>& fds, const ReduceOptions& options)
    : around_(header.around),
      start_ns_(std::clamp(header.start_ns, int64_t{0}, kFarTime)),
      options_(options),
      fds_(fds) {
  out_.name = header.node;
  out_.server = options.server.value_or(header.around.server);
  out_.sums = header.sums;
  out_.wanted = header.calls;
  options_.offset_ns = std::clamp(options.offset_ns, -kLargestOffset, kLargestOffset);
  out_.start_ns = ours(start_ns_);
  for (const FdRecord& record : fds) {
    if (record.fd_class == FdClass::storage) storage_.insert(record.process);
    if (record.fd_class == FdClass::to_client) to_client_.insert(record.process);
    if (record.fd_class == FdClass::to_server) to_server_.insert(record.process);
    if (record.fd_class == FdClass::fuse) fuse_.insert(record.process);
  }
  out_.serves = !storage_.empty() || !to_client_.empty();
}

void Reducer::add(const Call& call) {
  const bool damaged =
      call.start_ns < 0 || call.start_ns > kFarTime || call.duration_ns < kUnfinished || call.duration_ns > kLongest;
  if (damaged || !in_range(call.end_ns())) return;
  ++out_.calls;
  last_ns_ = std::max(last_ns_, call.end_ns());
  if (call.kind == CallKind::signal) return on_signal(call);
  if (call.kind == CallKind::exit) return on_exit(call);
  ProcessState* state = see_process(call);
  const FdRecord* target = target_of(call, fds_);
  if (state && serves(call, target)) state->served = true;
  if (out_.server)
    on_server_call(call, target);
  else
    on_client_call(call, target);
}

Reducer::ProcessState* Reducer::see_process(const Call& call) {
  auto found = processes_.find(call.process);
  if (found == processes_.end()) {
    auto ended = ended_.find(call.process);
    const bool is_late = ended != ended_.end() && call.start_ns <= ended->second;
    if (is_late || processes_.size() >= kMostProcesses) return nullptr;
    found = processes_.emplace(call.process, ProcessState{}).first;
    if (call.start_ns > start_ns_ + kBeginning && begins_process(call)) found->second.started_ns = call.start_ns;
  }
  ProcessState& state = found->second;
  if (is_exec(call) && call.finished() && call.result == 0) {
    state.started_ns = call.end_ns();
    state.served = false;  // it is another program now
  }
  if (!call.finished()) {  // all that a daemon shows that hangs from the beginning
    const bool first = state.last_ns == 0 || call.start_ns < state.last_ns;
    if (!state.completed && first) state.last_ns = call.start_ns;
    return &state;
  }
  // Who was there and completes its first call late was silent from the beginning. Where some calls were not captured
  // nobody knows, and where another served before it has perhaps just begun.
  if (!state.completed && state.started_ns == 0)
    state.last_ns = out_.wanted == "all" && !served_before_
                        ? begin() + options_.offset_ns
                        : std::min(call.start_ns, state.last_ns == 0 ? INT64_MAX : state.last_ns);
  end_silence(call.process, state, call.end_ns());
  state.completed = true;
  served_before_ = served_before_ || holds_served(call.process);
  state.last_ns = std::max(state.last_ns, call.end_ns());
  return &state;
}

void Reducer::end_silence(int32_t process, const ProcessState& state, int64_t until_ns) {
  if (state.last_ns == 0 || until_ns - state.last_ns < kNotable || !out_.server || !is_serving(process)) return;
  if (out_.gaps.size() >= kMostOther) keep_longer_half(out_.gaps);
  out_.gaps.push_back({process, ours(state.last_ns), ours(until_ns)});
}

void Reducer::on_signal(const Call& call) {
  const bool notable = std::find(std::begin(kSignals), std::end(kSignals), call.number) != std::end(kSignals);
  if (out_.server && notable && out_.signals.size() < kMostOther)
    out_.signals.push_back({ours(call.start_ns), call.process, call.number, static_cast<int64_t>(call.args[1])});
}

void Reducer::on_exit(const Call& call) {
  if (call.number != 1) return;  // a thread's
  auto found = processes_.find(call.process);
  const bool there = found == processes_.end() || found->second.started_ns == 0;
  bool serving = there ? holds_served(call.process) : found->second.served;
  if (out_.sums) serving = call.result != 0;  // sums know no descriptors: a clean end may be a helper's, others may not
  if (found != processes_.end()) {
    end_silence(call.process, found->second, call.end_ns());  // a kill ends a hang, but it does not undo it
    processes_.erase(found);                                  // its number may be used again
  }
  if (holds_served(call.process)) {
    ended_[call.process] = call.end_ns();
    served_before_ = true;
  }
  if (to_server_.count(call.process)) links_.ended(call.process, ours(call.end_ns()));
  if (!out_.server) return;
  const bool tells =
      serving || (there && signal_of(static_cast<int>(call.result)) != 0);  // helpers must not take the daemons' room
  if (out_.ends.size() >= (tells ? kMostOther : kMostOther / 2)) return;
  out_.ends.push_back({ours(call.end_ns()), call.process, static_cast<int>(call.result), serving, there});
}

void Reducer::on_server_call(const Call& call, const FdRecord* target) {
  if (call.failed()) return count_error(call, target, name_of_target(call, target));
  const Transfer transfer = transfer_of(call);
  if (!target || transfer == Transfer::none) return;
  if (target->fd_class == FdClass::storage && transfer != Transfer::sync)
    on_disk_call(call, transfer == Transfer::read ? CallTime::dread : CallTime::dwrite);
  if (!call.finished() || target->fd_class != FdClass::to_client || transfer != Transfer::read || only_peeks(call))
    return;
  const EndedPieces ended = pieces_.add(call, target->fd);
  for (size_t i = 0; i < ended.count; ++i)
    add_time(out_.times[static_cast<size_t>(CallTime::nsread)], ours(ended.piece[i].until_ns) / kNsPerSecond, 1,
             static_cast<double>(ended.piece[i].until_ns - ended.piece[i].from_ns));
}

void Reducer::on_disk_call(const Call& call, CallTime which) {
  if (!call.finished()) {
    if (under_way_.size() < kMostOther) under_way_.push_back({call.process, call.start_ns, which});
    return;
  }
  stretch(call.start_ns, call.end_ns(), which);
  add_time(out_.times[static_cast<size_t>(which)], ours(call.end_ns()) / kNsPerSecond, 1,
           static_cast<double>(call.duration_ns));
}

// A disk that takes seconds for a call must not look like one that has nothing to do: a call of a second and more
// counts in every second that it was under way, too, with its age at the second's end.
void Reducer::stretch(int64_t start_ns, int64_t end_ns, CallTime which) {
  if (end_ns - start_ns < kNsPerSecond) return;
  const int64_t start = ours(start_ns);
  const int64_t last = std::min(ours(end_ns), options_.until_ns) / kNsPerSecond;
  for (int64_t second = std::max(start, begin()) / kNsPerSecond; second < last; ++second) {
    if (stretched_++ >= kMostStretched) return;
    add_time(out_.times[static_cast<size_t>(which)], second, 1,
             static_cast<double>((second + 1) * kNsPerSecond - start));
  }
}

void Reducer::on_client_call(const Call& call, const FdRecord* target) {
  if (target && target->fd_class == FdClass::to_server)
    on_link(call, *target);
  else if (is_application(call))
    on_application(call, target);
}

// Looking an address up means parsing it, and there are a few addresses and millions of calls.
const Surroundings::Peer* Reducer::peer_at(const std::string& endpoint) {
  auto found = peers_.find(endpoint);
  if (found != peers_.end()) return found->second;
  const Surroundings::Peer* peer = around_.peer_at(endpoint);
  if (peers_.size() < kMostOther) peers_[endpoint] = peer;
  return peer;
}

void Reducer::on_link(const Call& call, const FdRecord& target) {
  const Surroundings::Peer* peer = peer_at(target.peer);
  if (!peer || peer->kind != NodeKind::server || !call.finished()) return;
  const int64_t t_ns = ours(call.end_ns());
  const int error = call.errno_value();
  if (is_connection_error(error)) return links_.failed(peer->node, target.peer, error, t_ns);
  const Transfer transfer = transfer_of(call);
  if (transfer == Transfer::write && call.result > 0) return links_.wrote(call.process, peer->node, target.peer, t_ns);
  if (transfer != Transfer::read || only_peeks(call)) return;
  if (call.result > 0) links_.read(peer->node, target.peer, t_ns);
  if (call.result == 0 && bytes_asked(call) != 0) links_.failed(peer->node, target.peer, 0, t_ns);
  const EndedPieces ended = pieces_.add(call, target.fd);
  for (size_t i = 0; i < ended.count; ++i)
    add_time(out_.reads_from[peer->node], ours(ended.piece[i].until_ns) / kNsPerSecond, 1,
             static_cast<double>(ended.piece[i].until_ns - ended.piece[i].from_ns));
}

// Files of the mount are not marked as such. What is left out is surely not there: the machine's own folders and files
// on its own disks (a parallel file system has no block device at its client).
bool may_be_mounted(const FdRecord* target, const std::string& name) {
  if (target && target->device >> kMinorBits != 0) return false;
  return std::none_of(std::begin(kSystemFolders), std::end(kSystemFolders),
                      [&](std::string_view folder) { return name.starts_with(folder); });
}

void Reducer::on_application(const Call& call, const FdRecord* target) {
  const bool by_path = call.kind == CallKind::call && path_argument(call.number) >= 0 && !is_exec(call);
  const bool on_file =
      target && target->fd_class == FdClass::other && (target->kind == FdKind::file || target->kind == FdKind::folder);
  if (!by_path && !on_file) return;
  out_.applications = true;
  const bool slow = !call.finished() || call.duration_ns >= kNotable;
  if (!slow && !call.failed()) return;
  const std::string name = name_of_target(call, target);
  const std::string where = name.empty() && target ? target->name + "/" : name;
  if (!may_be_mounted(by_path ? nullptr : target, where)) return;
  if (call.failed()) count_error(call, target, name);
  const ErrorKey key{label_of(call), call.errno_value(), false};
  if (!slow && (means_not_now(key) || is_answer(key))) return;
  std::vector<AppCall>& list = slow ? out_.slow : out_.failed;
  if (list.size() >= kMostAppCalls) return;
  list.push_back({key.call, name, ours(call.start_ns), call.finished() ? ours(call.end_ns()) : 0, call.finished(),
                  call.errno_value(), call.thread});
}

bool Reducer::in_start_up(const Call& call) const {
  auto found = processes_.find(call.process);
  return found != processes_.end() && found->second.started_ns != 0 &&
         call.start_ns - found->second.started_ns < kStartUp;
}

std::string Reducer::name_of_target(const Call& call, const FdRecord* target) const {
  if (const FdRecord* path = fds_.failed_path(call.sequence)) return path->name;
  if (const int32_t fd = made_fd(call); fd >= 0)
    target = fds_.find(call.process, fd, call.end_ns());
  else if (call.kind == CallKind::call && folder_argument(call.number) >= 0 && target && target->kind != FdKind::file)
    return "";  // the descriptor is the folder's, not the file's
  if (!target) return "";
  return target->name.empty() ? target->peer : target->name;
}

void Reducer::count_error(const Call& call, const FdRecord* target, const std::string& name) {
  if (out_.server && in_start_up(call)) {
    ++out_.startup_errors;
    return;
  }
  const FastKey key{call.kind, call.number, call.errno_value(), on_socket(call, target)};
  auto found = errors_.find(key);
  if (found == errors_.end()) {
    if (errors_.size() >= kMostPairs) return;
    found = errors_.emplace(key, ErrorCount{}).first;
  }
  const int64_t t_ns = ours(call.end_ns());
  add_error(1, t_ns, t_ns, found->second);
  if (found->second.examples.size() >= kMostExamples) return;
  const FdRecord* path = fds_.failed_path(call.sequence);
  const FdRecord* about = path ? path : target;
  found->second.examples.push_back({t_ns, name, about ? about->fd_class : FdClass::other, call.thread});
}

// Sums know neither process nor file: a server's are all its daemons', a client's are everybody's there.
void Reducer::add(const CallSum& sum) {
  if (sum.second < 0 || sum.second > kFarTime / kNsPerSecond) return;
  const int64_t start_ns = sum.second * kNsPerSecond;
  if (!in_range(start_ns)) return;
  out_.calls += static_cast<int64_t>(std::min(sum.count, uint64_t{1} << 32));
  last_ns_ = std::max(last_ns_, start_ns + kNsPerSecond);
  const Syscall* known = find_syscall(sum.number);
  const Transfer transfer = known ? known->transfer : Transfer::none;
  const int64_t second = ours(start_ns) / kNsPerSecond;
  if (out_.server && sum.fd_class == FdClass::storage && (transfer == Transfer::read || transfer == Transfer::write)) {
    const CallTime which = transfer == Transfer::read ? CallTime::dread : CallTime::dwrite;
    add_time(out_.times[static_cast<size_t>(which)], second, sum.count, static_cast<double>(sum.sum_ns));
  }
  const bool socket = sum.fd_class == FdClass::to_client || sum.fd_class == FdClass::to_server ||
                      (known && known->family == Family::network);
  if (!out_.server && (socket || sum.fd_class == FdClass::fuse)) return;
  for (const auto& [error, count] : sum.errors) {
    const bool breaks = sum.fd_class == FdClass::other && breaks_like_socket(sum.number, error);
    const FastKey key{CallKind::call, sum.number, error, socket || breaks};
    if (count > 0 && (errors_.count(key) || errors_.size() < kMostPairs))
      add_error(count, ours(start_ns), ours(start_ns) + kNsPerSecond - 1, errors_[key]);
  }
}

NodeCalls Reducer::finish(const std::optional<LogEnd>& end) {
  const int64_t last = end && end->end_ns > 0 && end->end_ns < kFarTime ? end->end_ns : std::max(last_ns_, start_ns_);
  out_.end_ns = std::min(ours(last), options_.until_ns);
  out_.start_ns = std::max(out_.start_ns, options_.since_ns);
  out_.cut = !end;
  if (end) out_.lost = end->lost;
  if (end) out_.unseen = end->unseen;
  for (const auto& [process, state] : processes_) {
    end_silence(process, state, out_.end_ns + options_.offset_ns);
    out_.serving += is_serving(process);
  }
  for (const OpenCall& call : under_way_) {
    auto ended = ended_.find(call.process);
    const bool died = ended != ended_.end() && ended->second >= call.start_ns;
    stretch(call.start_ns, died ? ended->second : out_.end_ns + options_.offset_ns, call.which);
  }
  std::sort(out_.gaps.begin(), out_.gaps.end(), [](const CallGap& a, const CallGap& b) {
    return std::pair(a.from_ns, a.process) < std::pair(b.from_ns, b.process);
  });
  for (AppCall& call : out_.slow)
    if (!call.finished) call.end_ns = std::max(call.start_ns, out_.end_ns);
  for (auto& [key, count] : errors_) {
    Call call;
    call.kind = key.kind;
    call.number = key.number;
    out_.errors[{label_of(call), key.error, key.socket}] = std::move(count);
  }
  links_.finish(out_.end_ns, out_);
  return std::move(out_);
}

}  // namespace

Result<NodeCalls> reduce_log(CallLogReader& log, const ReduceOptions& options) {
  Reducer reducer(log.header(), log.fds(), options);
  auto take = [&](const auto& each) {
    reducer.add(each);
    return true;
  };
  std::vector<std::string> notes;  // of each reading; some are in both
  if (log.header().sums) {
    RETURN_IF_ERROR(log.each_sum([&](const CallSum& sum) { return take(sum); }));
    notes = log.notes();
  }
  RETURN_IF_ERROR(log.each_call([&](const Call& call) { return take(call); }));  // with sums: signals and ends
  for (const std::string& note : log.notes())
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
  NodeCalls out = reducer.finish(log.end());
  out.notes = std::move(notes);
  return out;
}

}  // namespace culprit
