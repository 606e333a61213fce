#include "inject/guard.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/clock.h"
#include "base/process.h"
#include "base/text.h"
#include "base/units.h"
#include "inject/fault.h"
#include "inject/journal.h"
#include "inject/named_lock.h"
#include "inject/part_text.h"
#include "inject/preflight.h"
#include "inject/report.h"
#include "inject/undo.h"

namespace culprit {

namespace {

constexpr int64_t kGoLimit = 60 * kNsPerSecond;  // all nodes of an injection get ready meanwhile
constexpr int64_t kLockWait = 3 * kNsPerSecond;  // a guard whose controller just died is undoing
constexpr int64_t kLookPeriod = 250 * kNsPerMs;  // for the kill-switch file
constexpr int64_t kLongestDuration = 3600 * kNsPerSecond;
constexpr int64_t kLongestLease = 60 * kNsPerSecond;

// What the controller says: lines on stdin. "" while there is none.
class Commands {
 public:
  explicit Commands(int fd) : fd_(fd) {}

  bool ended() const { return ended_; }
  int fd() const { return fd_; }
  int64_t heard_ns() const { return heard_ns_; }

  // Reads what is there; at most one read, so that it never blocks after a poll.
  void fill() {
    char block[4096];
    ssize_t n = ::read(fd_, block, sizeof block);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0 || text_.size() > kMaxPartBytes) {
      ended_ = true;
      return;
    }
    text_.append(block, static_cast<size_t>(n));
    heard_ns_ = monotonic_now_ns();
  }

  std::string next() {
    size_t end = text_.find('\n');
    if (end == std::string::npos) return "";
    std::string line = text_.substr(0, end);
    text_.erase(0, end + 1);
    return line;
  }

 private:
  int fd_;
  std::string text_;
  bool ended_ = false;
  int64_t heard_ns_ = monotonic_now_ns();
};

class Guard {
 public:
  Guard(int in, int out, bool check_only) : commands_(in), out_(out), check_only_(check_only) {}

  int run() {
    Status begun = begin();
    if (!begun) return fail(begun.error());
    if (check_only_ || !wait_for_go()) return 0;
    Status applied = apply();
    std::string reason = applied ? stay() : "it could not be applied";
    if (!applied) fail(applied.error());
    return take_back(reason) && applied && !failed_ ? 0 : 1;
  }

 private:
  Result<FaultPart> read_part();
  Status begin();
  Status clean_up_orphans();
  bool wait_for_go();
  Status apply();
  std::string stay();
  std::string reason_to_end(int64_t now_ns);
  void keep_alive(int64_t now_ns);
  bool take_back(const std::string& reason);
  void wait(int64_t ns);
  int fail(const Error& error);
  void say(const GuardReport& report) {
    static_cast<void>(write_all(out_, format_report(report), "the controller"));  // it may be gone: then nobody listens
  }

  Commands commands_;
  int out_;
  bool check_only_;
  Fd signals_;
  std::string signalled_;
  const FaultInfo* fault_ = nullptr;
  FaultWork work_;
  std::optional<NamedLock> lock_;
  std::optional<Journal> journal_;
  bool asked_ = false;   // "undo" came
  bool failed_ = false;  // it was not in force all the time
  int64_t end_ns_ = 0;   // monotonic, as all below
  int64_t prolonged_ns_ = 0;
  int64_t next_prolong_ns_ = 0;
};

int Guard::fail(const Error& error) {
  say({.kind = GuardReport::Kind::failed, .error = error});
  return 1;
}

// Blocked for good and read from a descriptor: no signal ever interrupts an undo.
Fd catch_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) sigaddset(&set, number);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  return Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

void Guard::wait(int64_t ns) {
  pollfd fds[2] = {{signals_.get(), POLLIN, 0}, {commands_.ended() ? -1 : commands_.fd(), POLLIN, 0}};
  int ms = static_cast<int>(std::clamp<int64_t>((ns + kNsPerMs - 1) / kNsPerMs, 0, 60'000));
  if (::poll(fds, 2, ms) <= 0) return;
  if (fds[1].revents) commands_.fill();
  signalfd_siginfo info{};
  if (fds[0].revents && ::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info))
    signalled_ = cat("signal ", info.ssi_signo);
}

Result<FaultPart> Guard::read_part() {
  std::string text;
  int64_t deadline = monotonic_now_ns() + kGoLimit;
  while (monotonic_now_ns() < deadline && signalled_.empty()) {
    for (std::string line = commands_.next(); !line.empty(); line = commands_.next()) {
      text += line + "\n";
      if (line == "end") return parse_part(text);
    }
    if (commands_.ended() || text.size() > kMaxPartBytes) break;
    wait(kLookPeriod);
  }
  return input_error("no complete part of a fault came on stdin", "culprit inject starts this program; see its help");
}

std::string lock_path(const FaultPart& part) {
  return cat(faults_folder(), "/", part.node, ".", network_namespace(), ".lock");
}

Status check_times(const FaultPart& part) {
  if (part.duration_ns > kLongestDuration || part.lease_ns > kLongestLease)
    return input_error(cat("a fault of ", format_duration(part.duration_ns), " with a lease of ",
                           format_duration(part.lease_ns), " is too long"),
                       "at most 1h and 60s");
  return Ok{};
}

Status Guard::begin() {
  signals_ = catch_signals();
  widen_path();
  ASSIGN_OR_RETURN(work_.part, read_part());
  FaultPart& part = work_.part;
  fault_ = find_fault(part.fault);
  if (!fault_)
    return unsupported_error(cat("culprit-node on ", part.node, " does not know the fault ", part.fault),
                             "it is of another version");
  ASSIGN_OR_RETURN(part.params, fill_params(*fault_, part.params));
  RETURN_IF_ERROR(check_times(part));
  RETURN_IF_ERROR(check_node(*fault_, work_));
  RETURN_IF_ERROR(make_faults_folder());
  if (fault_->leaves_files && !check_only_) RETURN_IF_ERROR(make_kept_faults_folder());
  std::string holder = cat("process ", static_cast<int>(::getpid()), " with ", part.fault, ", id ", part.id);
  ASSIGN_OR_RETURN(NamedLock lock,
                   NamedLock::take(lock_path(part), holder, cat("another fault is at work on ", part.node), kLockWait));
  lock_ = std::move(lock);
  if (!check_only_) RETURN_IF_ERROR(clean_up_orphans());
  if (fault_->prepare) RETURN_IF_ERROR(fault_->prepare(work_));
  say({.kind = GuardReport::Kind::prepared});
  return Ok{};
}

// What an earlier guard left when it was killed.
Status Guard::clean_up_orphans() {
  for (const JournalReport& report : undo_all(journal_folders(), work_.part.node, Scope::orphans)) {
    std::string what = cat(report.fault, ", id ", report.id, ", left on ", work_.part.node, " by an earlier injection");
    if (report.state != "undone")
      return system_error(cat(what, " cannot be taken back: ", report.detail), 0,
                          cat("take it back by hand, then remove its journal from ", join(journal_folders(), " or ")));
    say({.kind = GuardReport::Kind::note, .text = cat(what, ": taken back")});
  }
  return Ok{};
}

bool Guard::wait_for_go() {
  int64_t deadline = monotonic_now_ns() + kGoLimit;
  while (monotonic_now_ns() < deadline && signalled_.empty()) {
    for (std::string line = commands_.next(); !line.empty(); line = commands_.next()) {
      if (line == "go") return true;
      if (line == "undo") return false;
    }
    if (commands_.ended()) return false;
    wait(kLookPeriod);
  }
  return false;
}

Status Guard::apply() {
  JournalText text;
  text.part = work_.part;
  text.notes = work_.notes;
  text.netns = network_namespace();
  text.boot = boot_id();
  text.written_ns = wall_now_ns();
  auto self = identify_process(::getpid());
  text.guard = format_process(self ? *self : ProcessId{::getpid(), 0});
  std::string folder = fault_->leaves_files ? kept_faults_folder() : faults_folder();
  ASSIGN_OR_RETURN(Journal journal, Journal::create(folder, text));
  journal_ = std::move(journal);
  if (fault_->apply) RETURN_IF_ERROR(fault_->apply(work_));
  FaultParams fresh;
  for (const auto& [name, value] : work_.notes) {
    auto before = text.notes.find(name);
    if (before == text.notes.end() || before->second != value) fresh[name] = value;
  }
  int64_t now = wall_now_ns();
  prolonged_ns_ = monotonic_now_ns();
  RETURN_IF_ERROR(journal_->append(format_notes(fresh) + "applied\n"));
  if (fault_->active) {
    ASSIGN_OR_RETURN(bool there, fault_->active(work_));
    if (!there) return system_error(cat(fault_->name, " was applied, and a look says that it is not in force"), 0);
  }
  end_ns_ = prolonged_ns_ + work_.part.duration_ns;
  next_prolong_ns_ = prolonged_ns_ + work_.part.lease_ns / 3;
  say({.kind = GuardReport::Kind::active, .t_ns = now});
  return Ok{};
}

std::string Guard::reason_to_end(int64_t now_ns) {
  for (std::string line = commands_.next(); !line.empty(); line = commands_.next()) asked_ = asked_ || line == "undo";
  if (!signalled_.empty()) return signalled_;
  if (asked_) return std::string(kReasonAsked);
  if (commands_.ended()) return "the controller is gone";
  if (now_ns >= end_ns_) return std::string(kReasonTime);
  if (now_ns - commands_.heard_ns() > work_.part.lease_ns) return "the controller is silent";
  if (path_exists(stop_file())) return "kill switch";
  if (now_ns - prolonged_ns_ > work_.part.lease_ns) return "the lease ran out";
  return "";
}

// Prolongs the lease, and looks whether the fault is still there.
void Guard::keep_alive(int64_t now_ns) {
  Status prolonged = fault_->prolong ? fault_->prolong(work_) : Status(Ok{});
  if (prolonged) prolonged_ns_ = now_ns;
  if (!prolonged && !failed_) fail(prolonged.error());
  next_prolong_ns_ = now_ns + (prolonged ? work_.part.lease_ns / 3 : kLookPeriod);
  auto there = fault_->active ? fault_->active(work_) : Result<bool>(true);
  if ((!there || !*there) && !failed_) say({.kind = GuardReport::Kind::faded, .t_ns = wall_now_ns()});
  failed_ = failed_ || !prolonged || !there || !*there;
}

std::string Guard::stay() {
  while (true) {
    wait(0);  // what was said while something took long is heard before silence is judged
    int64_t now = monotonic_now_ns();
    std::string reason = reason_to_end(now);
    if (!reason.empty()) return reason;
    if (now >= next_prolong_ns_) keep_alive(now);
    wait(std::min({kLookPeriod, end_ns_ - now, std::max<int64_t>(next_prolong_ns_ - now, 0)}));
  }
}

bool Guard::take_back(const std::string& reason) {
  UndoResult result = undo_verified(*fault_, work_);
  if (result.clean && journal_) {
    if (Status removed = journal_->remove(); !removed) {
      result.clean = false;
      result.error = removed.error();
    }
  }
  say({.kind = GuardReport::Kind::removed,
       .t_ns = result.t_ns,
       .clean = result.clean,
       .text = reason,
       .error = result.error});
  return result.clean;
}

}  // namespace

int run_guard(int in, int out, bool check_only) {
  ::mlockall(MCL_CURRENT);  // a hung or full disk must not keep us from undoing; where it is not allowed we go without
  return Guard(in, out, check_only).run();
}

}  // namespace culprit
