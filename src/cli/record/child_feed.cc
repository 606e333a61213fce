// A node whose sampler runs elsewhere: in a namespace of this machine or behind ssh. Its life is a small machine of
// states (resting, deploying, streaming, ending); a connection that breaks is made again after a pause.
#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/record/feed.h"
#include "cli/record/timing.h"
#include "sample/node_options.h"
#include "sample/stream.h"

namespace culprit {

namespace {

constexpr size_t kReadChunk = 1 << 20;              // of one turn, so that one node cannot keep the loop
constexpr size_t kKeptStderr = 4096;                // enough to explain a failure
constexpr int64_t kStartLimit = 60 * kNsPerSecond;  // connect, send the sampler, get its header
constexpr int64_t kEndLimit = kNsPerSecond;         // from the end of the stream to the end of the process
constexpr int64_t kLookPeriod = 10 * kNsPerMs;
constexpr int64_t kPingPeriod = 60 * kNsPerSecond;  // between rounds
constexpr int64_t kPongLimit = 10 * kNsPerSecond;   // then the question is forgotten

class ChildFeed : public Feed {
 public:
  ChildFeed(size_t node, SampleEnv env, std::unique_ptr<Runner> runner, std::shared_ptr<const Program> program)
      : node_(node), env_(std::move(env)), runner_(std::move(runner)), program_(std::move(program)) {}

  void add_polls(std::vector<pollfd>& fds) const override;
  int64_t wait_ns(int64_t wall_ns, int64_t mono_ns) override;
  void turn(FeedSink& sink) override;
  bool same_clock() const override { return runner_->same_machine(); }
  void finish() override { child_.in.reset(); }

 private:
  enum class State { resting, deploying, streaming, ending };

  bool sends_program() const { return !runner_->same_machine() && env_.node.sampler.empty(); }
  std::vector<std::string> command() const;
  void start(FeedSink& sink);
  void read(FeedSink& sink);
  void write();
  void upload();
  Status take_output(FeedSink& sink);
  Status take_stream(FeedSink& sink);
  void take_event(StreamEvent& event, FeedSink& sink);
  void ping();
  void take_pong(const StreamEvent& event, FeedSink& sink);
  void check_limits(FeedSink& sink);
  Error with_what_came(Error why);
  void end(FeedSink& sink);
  void fail(FeedSink& sink, const Error& why);

  size_t node_;
  SampleEnv env_;
  std::unique_ptr<Runner> runner_;
  std::shared_ptr<const Program> program_;

  State state_ = State::resting;
  Child child_;
  std::optional<DeployReader> deploy_;
  StreamParser parser_;
  std::vector<StreamEvent> events_;
  std::string output_;
  std::string errors_;
  size_t upload_at_ = 0;  // how much of the program is written
  bool uploading_ = false;
  std::string questions_;  // pings that were not written yet
  bool announced_ = false;
  int attempt_ = 0;
  int64_t retry_ns_ = 0;  // all times are monotonic
  int64_t state_since_ns_ = 0;
  int64_t heard_ns_ = 0;
  int64_t next_look_ns_ = 0;  // for the end of a process whose stream has ended
  OffsetEstimator clock_;
  int64_t ping_number_ = 0;
  int64_t asked_ns_ = 0;  // 0: no question is open
  int64_t next_round_ns_ = 0;
};

std::vector<std::string> ChildFeed::command() const {
  std::vector<std::string> arguments = node_arguments(env_);
  if (sends_program()) return runner_->argv(deploy_command(*program_, arguments));
  arguments.insert(arguments.begin(), env_.node.sampler.empty() ? program_->path : env_.node.sampler);
  return runner_->argv(arguments);
}

void ChildFeed::add_polls(std::vector<pollfd>& fds) const {
  if (state_ == State::resting) return;
  if (child_.out.valid()) fds.push_back({child_.out.get(), POLLIN, 0});
  if (child_.err.valid()) fds.push_back({child_.err.get(), POLLIN, 0});
  if (child_.in.valid() && (uploading_ || !questions_.empty())) fds.push_back({child_.in.get(), POLLOUT, 0});
}

int64_t ChildFeed::wait_ns(int64_t, int64_t mono_ns) {
  switch (state_) {
    case State::resting:
      return retry_ns_ - mono_ns;
    case State::deploying:
      return state_since_ns_ + kStartLimit - mono_ns;
    case State::ending:
      return next_look_ns_ - mono_ns;
    case State::streaming:
      break;
  }
  return std::min(next_round_ns_, heard_ns_ + stuck_after(env_.interval_ns)) - mono_ns;
}

void ChildFeed::start(FeedSink& sink) {
  parser_ = StreamParser();
  output_.clear();
  errors_.clear();
  uploading_ = false;
  questions_.clear();
  announced_ = false;
  asked_ns_ = 0;
  deploy_.reset();
  if (sends_program()) deploy_.emplace(program_->machine);
  state_since_ns_ = heard_ns_ = monotonic_now_ns();
  auto child = Child::start(command());
  if (!child) return fail(sink, child.error());
  child_ = std::move(*child);
  state_ = State::deploying;
}

void ChildFeed::turn(FeedSink& sink) {
  if (state_ == State::resting) {
    if (monotonic_now_ns() < retry_ns_) return;
    start(sink);
  }
  if (state_ == State::resting) return;
  read(sink);
  if (state_ == State::ending) return end(sink);
  if (state_ != State::resting) write();
  if (state_ != State::resting) check_limits(sink);
}

void ChildFeed::read(FeedSink& sink) {
  if (child_.err.valid()) {
    if (read_available(child_.err.get(), errors_, errors_.size() + kReadChunk) == ReadState::ended) child_.err.reset();
    if (errors_.size() > kKeptStderr) errors_.erase(0, errors_.size() - kKeptStderr);
  }
  if (!child_.out.valid()) return;
  size_t before = output_.size();
  bool ended = read_available(child_.out.get(), output_, output_.size() + kReadChunk) == ReadState::ended;
  if (output_.size() > before) heard_ns_ = monotonic_now_ns();
  Status taken = take_output(sink);
  if (!taken) return fail(sink, taken.error());
  if (!ended) return;
  child_.out.reset();
  child_.in.reset();
  state_ = State::ending;
  state_since_ns_ = next_look_ns_ = monotonic_now_ns();
}

Status ChildFeed::take_output(FeedSink& sink) {
  if (deploy_) {
    ASSIGN_OR_RETURN(DeployReader::State answer, deploy_->read(output_));
    if (answer == DeployReader::State::send) uploading_ = true;
    if (answer == DeployReader::State::send) upload_at_ = 0;
    if (answer != DeployReader::State::running) return Ok{};
    deploy_.reset();
  }
  return take_stream(sink);
}

Status ChildFeed::take_stream(FeedSink& sink) {
  events_.clear();
  Status fed = parser_.feed(output_, events_);
  output_.clear();
  if (parser_.began() && state_ == State::deploying) {
    state_ = State::streaming;
    next_round_ns_ = monotonic_now_ns();
  }
  for (StreamEvent& event : events_) take_event(event, sink);
  return fed;
}

void ChildFeed::take_event(StreamEvent& event, FeedSink& sink) {
  if (!announced_) {
    announced_ = true;
    auto environment = parser_.environment();
    environment["culprit_node"] = parser_.version();
    sink.on_connected(node_, environment);
  }
  if (event.kind == StreamEvent::Kind::pong) return take_pong(event, sink);
  attempt_ = 0;
  sink.on_sample(node_, event.sample);
}

// One question at a time, five to a round; the next one follows the answer.
void ChildFeed::ping() {
  int64_t now = monotonic_now_ns();
  if (runner_->same_machine()) {
    next_round_ns_ = now + kPingPeriod;
    return;
  }
  if (asked_ns_ > 0 && now - asked_ns_ < kPongLimit) {
    next_round_ns_ = asked_ns_ + kPongLimit;
    return;
  }
  if (clock_.round_complete()) clock_.start_round();
  questions_ += format_ping(++ping_number_);
  asked_ns_ = now;
  next_round_ns_ = now + kPongLimit;
}

void ChildFeed::take_pong(const StreamEvent& event, FeedSink& sink) {
  int64_t now = monotonic_now_ns();
  if (asked_ns_ == 0 || event.pong_number != ping_number_) return;  // of a question that was given up
  clock_.add(asked_ns_, now, event.pong_wall_ns, wall_now_ns() - now);
  asked_ns_ = 0;
  next_round_ns_ = clock_.round_complete() ? now + kPingPeriod : now;
  if (clock_.round_complete()) sink.on_clock(node_, *clock_.best(), *clock_.first());
}

void ChildFeed::upload() {
  auto bytes = program_->block(upload_at_);
  auto n = bytes ? write_some(child_.in.get(), *bytes) : Result<size_t>(bytes.error());
  if (!n) child_.in.reset();  // the script then ends, and its end says why
  if (n) upload_at_ += *n;
  uploading_ = n.ok() && upload_at_ < program_->size;
}

void ChildFeed::write() {
  if (state_ == State::streaming && monotonic_now_ns() >= next_round_ns_) ping();
  if (!child_.in.valid()) return;
  if (uploading_) {
    upload();
  } else if (!questions_.empty()) {
    auto n = write_some(child_.in.get(), questions_);
    questions_.erase(0, n ? *n : questions_.size());
  }
}

void ChildFeed::check_limits(FeedSink& sink) {
  int64_t now = monotonic_now_ns();
  if (state_ == State::deploying && now - state_since_ns_ > kStartLimit)
    return fail(sink, with_what_came(system_error(
                          cat(runner_->name(), " did not answer within ", format_duration(kStartLimit)), 0)));
  if (state_ == State::streaming && now - heard_ns_ > stuck_after(env_.interval_ns))
    fail(sink, system_error(cat("its sampler says nothing for ", format_duration(stuck_after(env_.interval_ns)),
                                " and is started anew"),
                            0));
}

// Of a stream that never began, what the node printed instead often says more than the exit code.
Error ChildFeed::with_what_came(Error why) {
  if (parser_.began()) return why;
  Status fed = Ok{};
  if (deploy_) fed = parser_.feed(cat(deploy_->skipped(), output_), events_);
  if (!fed || parser_.preamble().empty()) return why;
  Status ended = parser_.finish();
  why.what = cat(why.what, "; ", ended.error().what);
  if (why.hint.empty()) why.hint = ended.error().hint;
  return why;
}

// The stream is over: the process says why, if it ends soon.
void ChildFeed::end(FeedSink& sink) {
  bool ended = !child_.running();
  next_look_ns_ = monotonic_now_ns() + kLookPeriod;
  if (!ended && monotonic_now_ns() - state_since_ns_ < kEndLimit) return;
  if (!ended) child_.stop(0);
  if (child_.err.valid()) read_available(child_.err.get(), errors_, errors_.size() + kKeptStderr);
  Error why = runner_->explain(child_.exit_code(), errors_);
  fail(sink, why.what.empty() ? with_what_came(explain_deploy(child_.exit_code(), errors_)) : why);
}

void ChildFeed::fail(FeedSink& sink, const Error& why) {
  child_.stop(0);
  child_ = Child();
  state_ = State::resting;
  retry_ns_ = monotonic_now_ns() + reconnect_delay(attempt_++);
  sink.on_lost(node_, why);
}

}  // namespace

std::unique_ptr<Feed> make_child_feed(size_t node, SampleEnv env, std::unique_ptr<Runner> runner,
                                      std::shared_ptr<const Program> program) {
  return std::make_unique<ChildFeed>(node, std::move(env), std::move(runner), std::move(program));
}

}  // namespace culprit
