#include "cli/syscap/far_command.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <iterator>
#include <utility>

#include "base/clock.h"
#include "base/procfile.h"
#include "base/text.h"
#include "base/units.h"

namespace culprit {

namespace {

constexpr int64_t kStartLimit = 60 * kNsPerSecond;   // connect and get its number
constexpr int64_t kSignalLimit = 10 * kNsPerSecond;  // a second connection
constexpr int64_t kExitLimit = 10 * kNsPerSecond;    // from the end of the streams to the end of ssh
constexpr size_t kBlock = 64 << 10;                  // of a stream in one turn
constexpr size_t kMostGreeting = 1 << 20;            // what a login says before the command begins
constexpr std::string_view kMark = "culprit-command ";
// The fifth field of stat is the process group; the name before it is the shell's own, without blanks.
constexpr const char* kScript =
    "echo \"culprit-command $$ $(cut -d' ' -f5 /proc/$$/stat)\"; read -r word && [ \"$word\" = go ] && exec \"$@\"";

void sleep_a_moment() {
  timespec pause{0, 10 * kNsPerMs};
  ::nanosleep(&pause, nullptr);
}

// Passes on what has come. False when nobody wants it any more.
bool pass_on(std::string& text, int to) {
  for (std::string_view rest = text; !rest.empty();) {
    auto n = write_some(to, rest);
    if (!n) return false;
    if (*n == 0) {  // somebody made our stream non-blocking
      pollfd fd{to, POLLOUT, 0};
      ::poll(&fd, 1, -1);
    }
    rest.remove_prefix(*n);
  }
  text.clear();
  return true;
}

void relay(Fd& from, std::string& buffer, int to) {
  if (!from.valid()) return;
  const bool ended = read_available(from.get(), buffer, kBlock) == ReadState::ended;
  if (!pass_on(buffer, to) || ended) from.reset();
}

}  // namespace

Result<std::unique_ptr<FarCommand>> FarCommand::start(const Node& node, const std::vector<std::string>& command,
                                                      const std::function<bool()>& stop) {
  ASSIGN_OR_RETURN(std::unique_ptr<Runner> runner, make_runner(node));
  std::unique_ptr<FarCommand> far(new FarCommand(std::move(runner)));
  far->wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!far->wake_.valid()) return system_error("cannot make an event descriptor", errno);
  std::vector<std::string> words = {"sh", "-c", kScript, "sh"};
  words.insert(words.end(), command.begin(), command.end());
  ASSIGN_OR_RETURN(far->child_, Child::start(far->runner_->argv(words)));
  RETURN_IF_ERROR(far->wait_for_number(stop));
  FarCommand* self = far.get();
  far->thread_ = std::thread([self] { self->pump(); });
  return far;
}

FarCommand::~FarCommand() {
  leaving_ = true;
  if (going_ && exit_code_ < 0) signal_group("HUP");
  wake();
  if (thread_.joinable()) thread_.join();
}

// A login may greet before it. False while it has not come.
Result<bool> FarCommand::take_number() {
  const size_t at = output_.find(kMark);
  const size_t end = at == std::string::npos ? at : output_.find('\n', at);
  if (end == std::string::npos) return false;
  std::string_view numbers = std::string_view(output_).substr(at + kMark.size(), end - at - kMark.size());
  int64_t pid = 0;
  int64_t group = 0;
  const bool good = next_number(numbers, pid) && next_number(numbers, group) && std::min(pid, group) > 1 &&
                    std::max(pid, group) <= INT32_MAX;
  if (!good)
    return input_error(cat(runner_->name(), " did not say which process is the command"), "is /proc mounted there?");
  pid_ = static_cast<pid_t>(pid);
  group_ = static_cast<pid_t>(group);
  output_.erase(0, end + 1);
  return true;
}

Status FarCommand::wait_for_number(const std::function<bool()>& stop) {
  const int64_t limit = monotonic_now_ns() + kStartLimit;
  while (monotonic_now_ns() < limit) {
    const bool ended = read_available(child_.out.get(), output_, kMostGreeting) == ReadState::ended;
    read_available(child_.err.get(), errors_, kMostGreeting);
    ASSIGN_OR_RETURN(const bool came, take_number());
    if (came) return Ok{};
    if (ended && !child_.running()) return why_ended();
    if (stop()) return system_error("it was stopped before the command began", 0);
    sleep_a_moment();
  }
  return system_error(cat(runner_->name(), " did not start a shell within ", format_duration(kStartLimit)), 0);
}

Error FarCommand::why_ended() const {
  Error why = runner_->explain(child_.exit_code(), errors_);
  if (!why.what.empty()) return why;
  return system_error(cat("the shell on ", runner_->name(), " ended at once"), 0, printable(trim(errors_), 300));
}

void FarCommand::wake() {
  const uint64_t one = 1;
  if (wake_.valid())
    static_cast<void>(write_all(wake_.get(), {reinterpret_cast<const char*>(&one), sizeof one}, "the wake-up"));
}

void FarCommand::go() {
  going_ = true;
  wake();
}

// A failure is no news: then the connection is gone, and with it the command's streams.
void FarCommand::signal_group(const char* name) {
  static_cast<void>(runner_->run({"sh", "-c", cat("kill -s ", name, " -- -", group_)}, kSignalLimit));
}

void FarCommand::interrupt() {
  if (std::exchange(interrupted_, true) || !going_ || exit_code_ >= 0) return;
  signal_group("INT");
}

int FarCommand::wait_exit(int64_t limit_ns) {
  const int64_t limit = monotonic_now_ns() + limit_ns;
  while (exit_code_ < 0 && monotonic_now_ns() < limit) sleep_a_moment();
  return exit_code_;
}

void FarCommand::read_stdin() {
  char block[kBlock];
  const ssize_t n = ::read(STDIN_FILENO, block, sizeof block);
  if (n > 0) input_.append(block, static_cast<size_t>(n));
  if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) stdin_open_ = false;
}

void FarCommand::feed() {
  if (going_ && !std::exchange(told_, true)) input_ = "go\n";
  if (!child_.in.valid() || !told_) return;
  if (!input_.empty()) {
    auto n = write_some(child_.in.get(), input_);
    if (!n) return child_.in.reset();  // the command does not want it
    input_.erase(0, *n);
  }
  if (input_.empty() && !stdin_open_) child_.in.reset();
}

void FarCommand::pump() {
  while (!leaving_ && (child_.out.valid() || child_.err.valid())) {
    const bool wants = told_ && stdin_open_ && child_.in.valid() && input_.empty();
    pollfd fds[] = {{wake_.get(), POLLIN, 0},
                    {child_.out.get(), POLLIN, 0},
                    {child_.err.get(), POLLIN, 0},
                    {wants ? STDIN_FILENO : -1, POLLIN, 0},
                    {input_.empty() ? -1 : child_.in.get(), POLLOUT, 0}};
    ::poll(fds, std::size(fds), -1);
    uint64_t count = 0;
    if (fds[0].revents != 0 && ::read(wake_.get(), &count, sizeof count) < 0) continue;
    relay(child_.out, output_, STDOUT_FILENO);
    relay(child_.err, errors_, STDERR_FILENO);
    if (fds[3].revents != 0) read_stdin();
    feed();
  }
  const int64_t limit = monotonic_now_ns() + kExitLimit;
  while (!leaving_ && child_.running() && monotonic_now_ns() < limit) sleep_a_moment();
  const bool ended = !child_.running();
  child_.stop(0);
  if (ended) exit_code_ = child_.exit_code();
}

}  // namespace culprit
