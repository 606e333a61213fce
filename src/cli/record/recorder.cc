// One thread is enough: a feed's turn is a few system calls, and hundreds of nodes a second are a few per cent of a
// core. Samples of a tick are committed together, at the latest a fraction of the interval after the first of them.
#include "cli/record/recorder.h"

#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/record/console.h"
#include "cli/record/node_track.h"
#include "cli/record/notes.h"
#include "cli/record/registry.h"
#include "cli/record/signals.h"
#include "cli/record/summary.h"
#include "cli/record/timing.h"
#include "sample/sampler.h"
#include "store/run_schema.h"
#include "store/run_writer.h"

namespace culprit {

namespace {

constexpr int64_t kFirstSave = 3 * kNsPerSecond;  // by then every node that is well has said what it is
constexpr int64_t kSavePeriod = 60 * kNsPerSecond;
constexpr int64_t kDrift = 50 * kNsPerMs;         // a clock that moved this much against ours is worth a note
constexpr int64_t kMaxOffset = kMaxOffsetNs - 1;  // so that two of them can be subtracted
constexpr size_t kMaxEnvironment = 2048;          // facts about a node

struct NodeState {
  NodeTrack track;
  NodeSummary summary;
  bool failed = false;  // its first attempt, so that we need not wait for it
  int64_t cost_ns = 0;
  bool drift_noted = false;
};

double own_cpu_seconds() {
  double seconds = 0;
  for (int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    ::getrusage(who, &usage);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime})
      seconds += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  }
  return seconds;
}

int64_t own_rss_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

bool usable(const ClockOffset& clock) {
  return clock.offset_ns >= -kMaxOffset && clock.offset_ns <= kMaxOffset;
}

class Recorder : public FeedSink {
 public:
  Recorder(const RecordPlan& plan, RunWriter writer, std::vector<std::unique_ptr<Feed>> feeds);
  Status run(const StopSignals& signals);
  Result<RecordOutcome> finish();
  void abandon();  // nothing was recorded: leaves no run behind

  void on_connected(size_t node, const std::map<std::string, std::string>& environment) override;
  void on_sample(size_t node, const Sample& sample) override;
  void on_lost(size_t node, const Error& why) override;
  void on_clock(size_t node, const ClockOffset& offset, const ClockOffset& first) override;

 private:
  const std::string& name(size_t node) const { return plan_.cluster.nodes[node].name; }
  void wait(const StopSignals& signals);
  void turn_feeds();
  int64_t wait_ns();
  void keep(const Status& status);
  void event(int64_t t_ns, const std::string& node, const std::string& kind, const std::string& text);
  void note(size_t node, const std::string& text);
  void go_silent(size_t node, const std::string& reason, const std::string& hint);
  void find_silent_nodes();
  void commit_if_due(bool now);
  void save_manifest_if_due();
  void check_limits(const StopSignals& signals);
  // --for begins when the first sample arrives: connecting is not recording. The last tick's samples still arrive.
  int64_t over_ns() const { return first_mono_ns_ + plan_.for_ns + commit_within(plan_.interval_ns); }
  bool nobody_answers() const;
  Error nobody_error() const;
  Progress progress() const;
  void fill_manifest();
  RecordOutcome outcome(const std::string& path) const;

  const RecordPlan& plan_;
  RunWriter writer_;
  std::vector<std::unique_ptr<Feed>> feeds_;
  std::vector<NodeState> nodes_;
  Console console_;
  std::vector<pollfd> polls_;
  std::vector<size_t> first_poll_;  // of each feed, and the end
  Notes notes_;
  int64_t start_ns_;  // wall clock
  int64_t first_sample_ns_ = std::numeric_limits<int64_t>::max();
  int64_t last_sample_ns_ = 0;
  int64_t first_mono_ns_ = 0;  // when the first sample arrived: no clock that is set moves the end
  int64_t start_mono_ns_;
  int64_t end_ns_ = 0;
  int64_t samples_ = 0;
  int64_t fresh_samples_ = 0;  // since the last commit
  int64_t pending_since_ns_ = 0;
  int64_t size_bytes_ = 0;
  int64_t next_save_ns_;
  bool manifest_changed_ = true;
  std::string stopped_;
  Error first_failure_;
  Error write_failure_;
};

Recorder::Recorder(const RecordPlan& plan, RunWriter writer, std::vector<std::unique_ptr<Feed>> feeds)
    : plan_(plan),
      writer_(std::move(writer)),
      feeds_(std::move(feeds)),
      console_(plan.quiet),
      notes_(feeds_.size()),
      start_ns_(writer_.manifest().start_ns),
      start_mono_ns_(monotonic_now_ns()),
      next_save_ns_(start_mono_ns_ + kFirstSave) {
  for (const auto& feed : feeds_) nodes_.push_back({NodeTrack(start_ns_, plan.interval_ns, feed->same_clock()), {}});
}

// A full disk ends the recording; any other failure to write too, but it is said.
void Recorder::keep(const Status& status) {
  if (status || !stopped_.empty()) return;
  int error = status.error().errno_value;
  stopped_ = error == ENOSPC || error == EDQUOT ? "disk full" : "cannot write";
  write_failure_ = status.error();
}

void Recorder::event(int64_t t_ns, const std::string& node, const std::string& kind, const std::string& text) {
  keep(writer_.add_event({std::max<int64_t>(0, t_ns), node, kind, text}));  // readers refuse a negative time
  if (pending_since_ns_ == 0) pending_since_ns_ = monotonic_now_ns();
}

void Recorder::note(size_t node, const std::string& text) {
  std::optional<std::string> kept = notes_.take(node, text);
  if (!kept) return;
  std::string whole = cat(name(node), ": ", *kept);
  writer_.manifest().notes.push_back(whole);
  event(wall_now_ns(), name(node), "note", *kept);
  console_.line(cat("note: ", whole));
  manifest_changed_ = true;
}

void Recorder::on_connected(size_t node, const std::map<std::string, std::string>& environment) {
  writer_.reset_keys(node);
  nodes_[node].summary.restart();
  NodeReport& report = writer_.manifest().nodes[node];
  for (const auto& [key, value] : environment)
    if (report.environment.size() < kMaxEnvironment || report.environment.contains(key))
      report.environment[key] = value;
  manifest_changed_ = true;
}

void Recorder::on_sample(size_t node, const Sample& sample) {
  NodeState& state = nodes_[node];
  Status added = writer_.add(node, sample);
  if (!added && added.error().kind == ErrorKind::input)
    return note(node, cat("a sample was refused: ", added.error().what));
  keep(added);
  bool was_silent = state.track.silent();
  if (auto gap = state.track.sample(sample.t_ns, wall_now_ns(), monotonic_now_ns(), sample.mono_ns)) {
    event(gap->from_ns, name(node), "gap", gap_text(*gap));
    if (was_silent)
      console_.line(
          cat(name(node), " is back: ", gap->ticks, gap->ticks == 1 ? " tick" : " ticks", " without samples"));
  }
  state.failed = false;
  state.cost_ns += sample.cost_ns;
  if (plan_.summary) state.summary.add(sample);
  for (const std::string& text : sample.notes) note(node, text);
  first_sample_ns_ = std::min(first_sample_ns_, state.track.our_time(sample.t_ns));
  last_sample_ns_ = std::max(last_sample_ns_, state.track.our_time(sample.t_ns));
  if (samples_++ == 0) first_mono_ns_ = monotonic_now_ns();
  ++fresh_samples_;
  if (pending_since_ns_ == 0) pending_since_ns_ = monotonic_now_ns();
}

void Recorder::go_silent(size_t node, const std::string& reason, const std::string& hint) {
  if (!nodes_[node].track.lost(reason)) return;
  event(wall_now_ns(), name(node), "note", cat("silent: ", reason));
  console_.line(cat(name(node), " is silent: ", reason, hint.empty() ? "" : "\nhint: ", hint));
}

void Recorder::on_lost(size_t node, const Error& why) {
  nodes_[node].failed = true;
  if (first_failure_.what.empty()) first_failure_ = why;
  go_silent(node, why.message(), why.hint);
}

void Recorder::on_clock(size_t node, const ClockOffset& offset, const ClockOffset& first) {
  if (!usable(offset)) return note(node, "its clock is more than a century off: its times cannot be corrected");
  NodeReport& report = writer_.manifest().nodes[node];
  report.clock_offset_ns = offset.offset_ns;
  report.clock_uncertainty_ns = std::max<int64_t>(1, offset.uncertainty_ns);  // 0 would say: the same clock
  nodes_[node].track.set_clock(offset.offset_ns);
  manifest_changed_ = true;
  if (nodes_[node].drift_noted || !usable(first)) return;
  int64_t moved = offset.offset_ns - first.offset_ns;
  if (std::abs(moved) < kDrift + offset.uncertainty_ns + first.uncertainty_ns) return;
  nodes_[node].drift_noted = true;
  note(node, cat("its clock moved by ", format_duration(moved), " against ours during the recording"));
}

void Recorder::find_silent_nodes() {
  int64_t now = monotonic_now_ns();
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const NodeTrack& track = nodes_[i].track;
    int64_t since =
        track.ever() ? track.last_mono_ns() : start_mono_ns_ + 10 * kNsPerSecond;  // connecting takes its time
    if (!track.silent() && now - since > silent_after(plan_.interval_ns))
      go_silent(i, cat("no sample for ", format_duration(silent_after(plan_.interval_ns))), "");
  }
}

void Recorder::commit_if_due(bool now) {
  if (pending_since_ns_ == 0) return;
  int64_t live =
      std::count_if(nodes_.begin(), nodes_.end(), [](const NodeState& node) { return !node.track.silent(); });
  bool all_here = fresh_samples_ >= live;
  if (!now && !all_here && monotonic_now_ns() - pending_since_ns_ < commit_within(plan_.interval_ns)) return;
  keep(writer_.commit());
  pending_since_ns_ = 0;
  fresh_samples_ = 0;
  size_bytes_ = writer_.size_bytes();
}

// Rarely: it is synced to the disk, and a run that is killed needs the clock offsets and environments, not the newest.
void Recorder::save_manifest_if_due() {
  if (!manifest_changed_ || monotonic_now_ns() < next_save_ns_ || !stopped_.empty()) return;
  keep(writer_.save_manifest());
  manifest_changed_ = false;
  next_save_ns_ = monotonic_now_ns() + kSavePeriod;
}

bool Recorder::nobody_answers() const {
  return samples_ == 0 && std::all_of(nodes_.begin(), nodes_.end(), [](const NodeState& node) { return node.failed; });
}

Error Recorder::nobody_error() const {
  if (first_failure_.what.empty()) return input_error("nothing was recorded: it was stopped before the first sample");
  if (nodes_.size() == 1) return first_failure_;
  return system_error(cat("none of the ", nodes_.size(), " nodes answers; one says: ", first_failure_.message()), 0,
                      first_failure_.hint);
}

void Recorder::check_limits(const StopSignals& signals) {
  if (!stopped_.empty()) return;
  if (signals.asked())
    stopped_ = "asked";
  else if (plan_.max_bytes > 0 && size_bytes_ >= plan_.max_bytes)
    stopped_ = "max-size";
  else if (plan_.for_ns > 0 && samples_ > 0 && monotonic_now_ns() >= over_ns())
    stopped_ = "time over";
}

Progress Recorder::progress() const {
  Progress shown{monotonic_now_ns() - start_mono_ns_, plan_.for_ns, samples_, size_bytes_, nodes_.size(), {}};
  for (size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].track.silent()) shown.silent.push_back(name(i));
  return shown;
}

int64_t Recorder::wait_ns() {
  int64_t wall = wall_now_ns();
  int64_t mono = monotonic_now_ns();
  int64_t wait = kNsPerSecond;  // silence and a wall clock that was set are noticed within a second
  for (const auto& feed : feeds_) wait = std::min(wait, feed->wait_ns(wall, mono));
  if (pending_since_ns_ > 0) wait = std::min(wait, pending_since_ns_ + commit_within(plan_.interval_ns) - mono);
  if (plan_.for_ns > 0 && samples_ > 0) wait = std::min(wait, over_ns() - mono);
  if (console_.next_progress_ns() > 0) wait = std::min(wait, console_.next_progress_ns() - mono);
  return std::max<int64_t>(0, wait);
}

void Recorder::wait(const StopSignals& signals) {
  polls_.clear();
  first_poll_.clear();
  for (const auto& feed : feeds_) {
    first_poll_.push_back(polls_.size());
    feed->add_polls(polls_);
  }
  first_poll_.push_back(polls_.size());
  signals.wait(polls_, wait_ns());
}

// Only those that have something to do: with hundreds of nodes most of them have nothing at any moment.
void Recorder::turn_feeds() {
  int64_t wall = wall_now_ns();
  int64_t mono = monotonic_now_ns();
  for (size_t i = 0; i < feeds_.size(); ++i) {
    bool ready = feeds_[i]->wait_ns(wall, mono) <= 0;
    for (size_t poll = first_poll_[i]; poll < first_poll_[i + 1]; ++poll) ready = ready || polls_[poll].revents != 0;
    if (ready) feeds_[i]->turn(*this);
  }
}

Status Recorder::run(const StopSignals& signals) {
  while (stopped_.empty()) {
    wait(signals);
    turn_feeds();
    find_silent_nodes();
    commit_if_due(false);
    save_manifest_if_due();
    check_limits(signals);
    if (nobody_answers()) return nobody_error();
    console_.progress(progress(), monotonic_now_ns());
  }
  if (samples_ == 0 && write_failure_.what.empty()) return nobody_error();
  return Ok{};
}

void Recorder::abandon() {
  console_.clear();
  writer_.discard();
}

void Recorder::fill_manifest() {
  Manifest& manifest = writer_.manifest();
  manifest.end_ns = end_ns_;
  manifest.stopped = stopped_;
  manifest.own_cpu_seconds = own_cpu_seconds();
  manifest.own_rss_bytes = own_rss_bytes();
  for (size_t i = 0; i < nodes_.size(); ++i) {
    manifest.nodes[i].skipped = nodes_[i].track.lost_ticks();
    manifest.nodes[i].gaps = nodes_[i].track.gaps();
    manifest.nodes[i].environment["sampler_cpu_ms"] = std::to_string(nodes_[i].cost_ns / kNsPerMs);
  }
}

Result<RecordOutcome> Recorder::finish() {
  console_.clear();
  end_ns_ = wall_now_ns();
  for (const auto& feed : feeds_) feed->finish();
  for (size_t i = 0; i < nodes_.size(); ++i)
    if (auto gap = nodes_[i].track.finish(end_ns_)) event(gap->from_ns, name(i), "gap", gap_text(*gap));
  if (stopped_ != "disk full") commit_if_due(true);
  feeds_.clear();  // ends and reaps the children, whose cost then counts
  fill_manifest();
  auto closed = writer_.close();
  if (!closed) return closed.error();
  return outcome(*closed);
}

RecordOutcome Recorder::outcome(const std::string& path) const {
  RecordOutcome outcome;
  outcome.run_path = path;
  outcome.stopped = stopped_;
  outcome.failure = write_failure_;
  outcome.samples = samples_;
  if (samples_ > 0) outcome.duration_ns = last_sample_ns_ - first_sample_ns_;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    outcome.lost += nodes_[i].track.lost_ticks();
    if (!nodes_[i].track.ever()) continue;
    ++outcome.nodes_seen;
    if (plan_.cluster.nodes[i].kind == NodeKind::server) ++outcome.servers_seen;
    for (const std::string& line : nodes_[i].summary.lines()) outcome.summary.push_back(cat(name(i), ": ", line));
  }
  return outcome;
}

}  // namespace

Result<RecordOutcome> record_run(const RecordPlan& plan, std::vector<std::unique_ptr<Feed>> feeds) {
  CHECK(feeds.size() == plan.cluster.nodes.size()) << feeds.size() << " feeds";
  allow_many_descriptors();
  Manifest manifest;
  manifest.origin = "recorded";
  manifest.source = plan.command_line;
  manifest.start_ns = wall_now_ns();
  manifest.interval_ns = plan.interval_ns;
  manifest.cluster = plan.cluster;
  manifest.notes = plan.notes;
  manifest.truth = plan.truth;
  for (const Node& node : plan.cluster.nodes) manifest.nodes.emplace_back().name = node.name;
  StopSignals signals;
  ASSIGN_OR_RETURN(RunWriter writer, RunWriter::create(plan.out, std::move(manifest)));
  std::error_code ignored;
  auto entry = Registration::enter(registry_folder(), std::filesystem::absolute(writer.path(), ignored).string());
  if (!entry) say(cat("note: `culprit mark` will need --run: ", entry.error().message()));
  Recorder recorder(plan, std::move(writer), std::move(feeds));
  Status ran = recorder.run(signals);
  { auto left = std::move(entry); }  // a mark that comes now is told that nobody records, and does not meet the closing
  if (ran) return recorder.finish();
  recorder.abandon();
  return ran.error();
}

}  // namespace culprit
