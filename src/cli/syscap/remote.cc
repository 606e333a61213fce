#include "cli/syscap/remote.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "base/clock.h"
#include "base/procfile.h"
#include "base/text.h"
#include "base/units.h"

namespace culprit {

namespace {

constexpr size_t kReadChunk = 4 << 20;              // of one turn
constexpr size_t kKeptStderr = 4096;                // enough to explain a failure
constexpr size_t kMostNotes = 50;                   // of a node, which can send as many as it likes
constexpr int64_t kStartLimit = 60 * kNsPerSecond;  // connect, send the program, get its header
constexpr int64_t kEndLimit = 60 * kNsPerSecond;    // what is in the buffers of a loaded node is to arrive
constexpr int64_t kExitLimit = 2 * kNsPerSecond;    // from the end of the stream to the end of the process
constexpr int64_t kPingPeriod = 60 * kNsPerSecond;  // between rounds of questions for its clock
constexpr int64_t kPongLimit = 10 * kNsPerSecond;   // then the question is forgotten
constexpr int64_t kMostEvents = int64_t{1} << 50;   // the sum of what all nodes claim must not overflow
constexpr int kLookMs = 500;                        // limits are looked at this often

const char* ending(size_t file) {
  return file == static_cast<size_t>(LogFile::calls) ? ".sclog" : ".fdlog";
}

}  // namespace

RemoteCapture::RemoteCapture(const Node& node, CaptureOrders orders, std::shared_ptr<const Program> program,
                             std::string stem)
    : node_(node), orders_(std::move(orders)), program_(std::move(program)), stem_(std::move(stem)) {
  outcome_.node = node.name;
}

Result<std::unique_ptr<RemoteCapture>> RemoteCapture::start(const Node& node, CaptureOrders orders,
                                                            std::shared_ptr<const Program> program,
                                                            const std::string& stem) {
  std::unique_ptr<RemoteCapture> capture(new RemoteCapture(node, std::move(orders), std::move(program), stem));
  ASSIGN_OR_RETURN(capture->runner_, make_runner(node));
  capture->wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!capture->wake_.valid()) return system_error("cannot make an event descriptor", errno);
  RETURN_IF_ERROR(capture->open_logs());
  RemoteCapture* self = capture.get();
  capture->thread_ = std::thread([self] { self->run(); });
  return capture;
}

RemoteCapture::~RemoteCapture() {
  finish();
  if (thread_.joinable()) thread_.join();
}

Status RemoteCapture::open_logs() {
  for (size_t file = 0; file < 2; ++file) {
    std::string path = stem_ + ending(file);
    logs_[file].reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
    if (logs_[file].valid()) continue;
    int error = errno;
    if (file > 0) ::unlink((stem_ + ending(0)).c_str());  // that one is ours; what stands in the way may be another's
    return system_error(cat("cannot make ", path), error);
  }
  return Ok{};
}

void RemoteCapture::finish() {
  finishing_ = true;
  uint64_t one = 1;
  if (wake_.valid())
    static_cast<void>(write_all(wake_.get(), {reinterpret_cast<const char*>(&one), sizeof one}, "the wake-up"));
}

RemoteOutcome RemoteCapture::wait() {
  if (thread_.joinable()) thread_.join();
  for (size_t file = 0; file < 2; ++file) {
    struct stat info {};
    if (logs_[file].valid() && ::fstat(logs_[file].get(), &info) == 0 && info.st_size == 0)
      ::unlink((stem_ + ending(file)).c_str());
    logs_[file].reset();
  }
  outcome_.calls = calls_;
  outcome_.lost = lost_;
  outcome_.bytes = bytes_;
  outcome_.clock = clock_.best();
  return outcome_;
}

// The child lives and dies with this thread: its death signal is bound to the thread that started it.
void RemoteCapture::run() {
  Status talked = talk();
  if (!talked && outcome_.failure.what.empty()) outcome_.failure = talked.error();
  child_.stop(0);
  child_ = Child();
  ended_ = true;
}

Status RemoteCapture::talk() {
  started_ns_ = monotonic_now_ns();
  std::vector<std::string> words = {"syscap"};
  if (node_.sampler.empty()) {
    deploy_.emplace(program_->machine);
    words = deploy_command(*program_, words);
  } else {
    words.insert(words.begin(), node_.sampler);
  }
  ASSIGN_OR_RETURN(child_, Child::start(runner_->argv(words)));
  while (child_.out.valid()) {
    poll_streams();
    RETURN_IF_ERROR(read_output());
    write_input();
    RETURN_IF_ERROR(check_limits());
  }
  if (done_) return Ok{};
  return explain_end();
}

void RemoteCapture::poll_streams() {
  std::vector<pollfd> fds = {{wake_.get(), POLLIN, 0}, {child_.out.get(), POLLIN, 0}};
  if (child_.err.valid()) fds.push_back({child_.err.get(), POLLIN, 0});
  if (child_.in.valid() && (uploading_ || !input_.empty())) fds.push_back({child_.in.get(), POLLOUT, 0});
  ::poll(fds.data(), fds.size(), kLookMs);
  uint64_t count = 0;
  if (fds[0].revents != 0 && ::read(wake_.get(), &count, sizeof count) < 0) return;  // seen again at the next turn
}

Status RemoteCapture::read_output() {
  if (child_.err.valid()) {
    if (read_available(child_.err.get(), errors_, errors_.size() + kReadChunk) == ReadState::ended) child_.err.reset();
    if (errors_.size() > kKeptStderr) errors_.erase(0, errors_.size() - kKeptStderr);
  }
  bool ended = read_available(child_.out.get(), output_, output_.size() + kReadChunk) == ReadState::ended;
  if (deploy_) {
    ASSIGN_OR_RETURN(DeployReader::State answer, deploy_->read(output_));
    if (answer == DeployReader::State::send) uploading_ = true;
    if (answer == DeployReader::State::running) deploy_.reset();
  }
  if (!deploy_) {
    RETURN_IF_ERROR(frames_.feed(output_, [this](const Frame& frame) { return take(frame); }));
    output_.clear();
  }
  if (ended) child_.out.reset();
  return Ok{};
}

Status RemoteCapture::append(LogFile file, std::string_view bytes) {
  bytes_ += static_cast<int64_t>(bytes.size());
  return write_all(logs_[static_cast<size_t>(file)].get(), bytes, stem_ + ending(static_cast<size_t>(file)));
}

Status RemoteCapture::take(const Frame& frame) {
  std::string_view payload = frame.payload;
  switch (frame.kind) {
    case FrameKind::calls:
      return append(LogFile::calls, payload);
    case FrameKind::fds:
      return append(LogFile::fds, payload);
    case FrameKind::pong:
      take_pong(payload);
      break;
    case FrameKind::began:
      outcome_.backend = printable(payload, 20);
      began_ = true;
      break;
    case FrameKind::status: {
      int64_t calls = 0;
      int64_t lost = 0;
      if (!next_number(payload, calls) || !next_number(payload, lost)) break;
      calls_ = std::clamp<int64_t>(calls, 0, kMostEvents);
      lost_ = std::clamp<int64_t>(lost, 0, kMostEvents);
      break;
    }
    case FrameKind::note:
      if (outcome_.notes.size() < kMostNotes) outcome_.notes.push_back(printable(payload, 500));
      break;
    case FrameKind::error: {
      size_t newline = std::min(payload.find('\n'), payload.size());
      return system_error(printable(payload.substr(0, newline), 300), 0, printable(trim(payload.substr(newline)), 300));
    }
    case FrameKind::done:
      outcome_.stopped = printable(payload, 100);
      done_ = true;
      break;
  }
  return Ok{};
}

void RemoteCapture::take_pong(std::string_view payload) {
  int64_t now = monotonic_now_ns();
  int64_t number = 0;
  int64_t wall = 0;
  if (asked_ns_ == 0 || !next_number(payload, number) || !next_number(payload, wall) || number != ping_number_) return;
  clock_.add(asked_ns_, now, wall, wall_now_ns() - now);
  asked_ns_ = 0;
  next_ask_ns_ = clock_.round_complete() ? now + kPingPeriod : now;
}

// One question at a time, five to a round; the next one follows the answer.
void RemoteCapture::ask_clock() {
  int64_t now = monotonic_now_ns();
  if (!ordered_ || now < next_ask_ns_) return;
  if (asked_ns_ == 0 && clock_.round_complete()) clock_.start_round();
  input_ += cat("ping ", ++ping_number_, "\n");
  asked_ns_ = now;
  next_ask_ns_ = now + kPongLimit;
}

void RemoteCapture::upload() {
  auto bytes = program_->block(upload_at_);
  auto n = bytes ? write_some(child_.in.get(), *bytes) : Result<size_t>(bytes.error());
  if (!n) child_.in.reset();  // the script then ends, and its end says why
  if (n) upload_at_ += *n;
  uploading_ = n.ok() && upload_at_ < program_->size;
}

void RemoteCapture::write_input() {
  if (frames_.began() && !ordered_) {
    input_ = format_orders(orders_);
    ordered_ = true;
  }
  if (!child_.in.valid()) return;
  if (uploading_) return upload();
  ask_clock();
  if (!input_.empty()) {
    auto n = write_some(child_.in.get(), input_);
    input_.erase(0, n ? *n : input_.size());
  }
  if (!finishing_) return;
  if (finish_ns_ == 0) finish_ns_ = monotonic_now_ns();
  child_.in.reset();
}

Status RemoteCapture::check_limits() {
  int64_t now = monotonic_now_ns();
  if (!frames_.began() && (finishing_ || now - started_ns_ > kStartLimit)) {
    return system_error(finishing_ ? "it was stopped before the capture began"
                                   : cat(runner_->name(), " did not answer within ", format_duration(kStartLimit)),
                        0);
  }
  if (finish_ns_ > 0 && now - finish_ns_ > kEndLimit)
    return system_error(cat("it did not end within ", format_duration(kEndLimit), "; what had come is kept"), 0);
  return Ok{};
}

// The stream is over and nobody said why: the process does, if it ends soon.
Error RemoteCapture::explain_end() {
  int64_t limit = monotonic_now_ns() + kExitLimit;
  while (child_.running() && monotonic_now_ns() < limit) {
    timespec pause{0, 10 * kNsPerMs};
    ::nanosleep(&pause, nullptr);
  }
  child_.stop(0);
  if (child_.err.valid()) read_available(child_.err.get(), errors_, errors_.size() + kKeptStderr);
  Error why = runner_->explain(child_.exit_code(), errors_);
  if (why.what.empty()) why = explain_deploy(child_.exit_code(), errors_);
  std::string greeting = deploy_ ? printable(trim(deploy_->skipped()), 300) : frames_.preamble();
  if (!frames_.began() && !greeting.empty()) why.what += cat("; instead of its answer came: ", greeting);
  return why;
}

}  // namespace culprit
