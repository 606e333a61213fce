#include "cli/syscap/session.h"

#include <algorithm>
#include <map>
#include <memory>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "capture/recorder.h"
#include "cli/record/signals.h"
#include "cli/syscap/far_command.h"
#include "cli/syscap/progress.h"
#include "cli/syscap/run_place.h"

namespace culprit {

namespace {

constexpr int64_t kLookPeriod = 100 * kNsPerMs;      // while only others capture
constexpr int64_t kCommandGrace = 2 * kNsPerSecond;  // after Ctrl-C: how a command ends belongs to its capture
constexpr int64_t kFarExit = 2 * kNsPerSecond;       // from the end of a command behind ssh to its exit code

constexpr size_t kMostNamed = 3;  // nodes with the same note; more are meant by all of it

class Session {
 public:
  Session(const SyscapPlan& plan, RunPlace& place, const StopSignals& signals)
      : plan_(plan),
        place_(place),
        signals_(signals),
        progress_(plan.quiet || has_command(), plan.for_ns),
        start_ns_(monotonic_now_ns()) {}

  Status run();
  bool began() const { return began_; }
  SyscapOutcome outcome();

 private:
  Status start_remotes();
  void wait_for_begin();
  void wait_for_remotes();
  void look_at_remotes();
  bool all_remotes(bool (RemoteCapture::*has)() const) const;
  bool asked();
  bool should_stop();
  bool has_command() const { return !plan_.targets.command.empty() || !plan_.targets.far_command.empty(); }
  RecorderOptions here_options();
  Status capture_here();
  void show_progress();
  void add_here(SyscapOutcome& outcome) const;
  void add_remote(RemoteOutcome from, SyscapOutcome& outcome);

  const SyscapPlan& plan_;
  RunPlace& place_;
  const StopSignals& signals_;
  CaptureProgress progress_;
  std::unique_ptr<FarCommand> far_;
  std::vector<std::unique_ptr<RemoteCapture>> remotes_;
  std::vector<bool> said_;  // that this remote has failed
  RecorderOutcome here_;
  Error here_failure_;
  int64_t here_calls_ = 0;
  int64_t here_lost_ = 0;
  int64_t start_ns_;
  int64_t asked_ns_ = 0;  // when the wish to stop was seen
  bool began_ = false;
  std::string stopped_;
};

CaptureOrders orders_for(const SyscapPlan& plan, const NodeOrder& node) {
  CaptureOrders orders;
  orders.node = node;
  orders.backend = plan.asked_for;
  orders.calls = plan.call_set;
  orders.sums = plan.sums;
  orders.buffer_bytes = plan.buffer_bytes;
  orders.hash_key = plan.hash_key;
  return orders;
}

Status Session::start_remotes() {
  std::shared_ptr<const Program> program;
  for (const RemoteTarget& target : plan_.targets.remote) {
    if (target.node.sampler.empty() && !program) {
      ASSIGN_OR_RETURN(Program found, find_node_program());
      program = std::make_shared<Program>(std::move(found));
    }
    NodeOrder order = target.order;
    if (!plan_.targets.far_command.empty()) {
      ASSIGN_OR_RETURN(far_, FarCommand::start(target.node, plan_.targets.far_command, [this] { return asked(); }));
      order.pids = {far_->pid()};
    }
    ASSIGN_OR_RETURN(auto capture, RemoteCapture::start(target.node, orders_for(plan_, order), program,
                                                        place_.stem(target.node.name)));
    place_.claim(target.node.name);
    remotes_.push_back(std::move(capture));
    said_.push_back(false);
  }
  return Ok{};
}

bool Session::all_remotes(bool (RemoteCapture::*has)() const) const {
  return std::all_of(remotes_.begin(), remotes_.end(),
                     [&](const auto& remote) { return remote->ended() || ((*remote).*has)(); });
}

// What happens to the others is said when it happens.
void Session::look_at_remotes() {
  for (size_t i = 0; i < remotes_.size(); ++i) {
    if (!remotes_[i]->ended() || said_[i] || remotes_[i]->failure().what.empty()) continue;
    said_[i] = true;
    const Error& why = remotes_[i]->failure();
    progress_.line(
        cat(remotes_[i]->node(), " is not captured: ", why.message(), why.hint.empty() ? "" : "\nhint: ", why.hint));
  }
}

bool Session::asked() {
  std::vector<pollfd> none;
  signals_.wait(none, 0);  // a signal that waits is taken here
  if (signals_.asked() && asked_ns_ == 0) asked_ns_ = monotonic_now_ns();
  return asked_ns_ > 0;
}

// A command has got the terminal's Ctrl-C, too: it is given a moment to end by itself.
bool Session::should_stop() {
  int64_t grace = has_command() ? kCommandGrace : 0;
  if (asked() && far_) far_->interrupt();
  if (asked() && monotonic_now_ns() - asked_ns_ >= grace) return true;
  int64_t bytes = 0;
  for (const auto& remote : remotes_) bytes += remote->bytes();
  return plan_.max_bytes > 0 && bytes >= plan_.max_bytes;
}

// So that the time of --for begins for all at once.
void Session::wait_for_begin() {
  while (!all_remotes(&RemoteCapture::began) && !asked()) {
    std::vector<pollfd> none;
    signals_.wait(none, kLookPeriod);
    look_at_remotes();
  }
  if (std::any_of(remotes_.begin(), remotes_.end(), [](const auto& remote) { return remote->began(); })) began_ = true;
  start_ns_ = monotonic_now_ns();
}

void Session::wait_for_remotes() {
  while (!all_remotes(&RemoteCapture::ended) && !should_stop()) {
    int64_t left = plan_.for_ns - (monotonic_now_ns() - start_ns_);
    if (plan_.for_ns > 0 && left <= 0) break;
    std::vector<pollfd> none;
    signals_.wait(none, plan_.for_ns > 0 ? std::min(left, kLookPeriod) : kLookPeriod);
    look_at_remotes();
    show_progress();
  }
  if (!stopped_.empty()) return;
  if (asked_ns_ > 0)
    stopped_ = "asked";
  else if (all_remotes(&RemoteCapture::ended))
    stopped_ = "targets ended";
  else
    stopped_ = plan_.for_ns > 0 && monotonic_now_ns() - start_ns_ >= plan_.for_ns ? "time over" : "size reached";
}

void Session::show_progress() {
  int64_t calls = here_calls_;
  int64_t lost = here_lost_;
  for (const auto& remote : remotes_) {
    calls += remote->calls();
    lost += remote->lost();
  }
  progress_.show(calls, lost);
}

RecorderOptions Session::here_options() {
  RecorderOptions options;
  options.capture.nodes = plan_.targets.here;
  options.capture.command = plan_.targets.command;
  options.capture.calls = plan_.calls;
  options.call_set = plan_.call_set;
  options.capture.sums = plan_.sums;
  options.capture.buffer_bytes = static_cast<size_t>(plan_.buffer_bytes);
  options.backend = plan_.backend;
  options.for_ns = plan_.for_ns;
  options.max_bytes = plan_.max_bytes;
  options.hash_key = plan_.hash_key;
  options.tool = "culprit " CULPRIT_VERSION;
  options.what = plan_.targets.what;
  options.stop = [this] { return should_stop(); };
  options.open_log = [this](size_t node, LogHeader header) {
    return place_.open_log(plan_.targets.here[node].name, std::move(header));
  };
  options.make_room = [this] { place_.make_room(); };
  options.progress = [this](int64_t calls, int64_t lost) {
    here_calls_ = calls;
    here_lost_ = lost;
    look_at_remotes();
    show_progress();
  };
  options.began = [this] {
    began_ = true;
    start_ns_ = monotonic_now_ns();
    place_.tell(cat("system calls are captured from now on (", plan_.backend, ")"));
  };
  return options;
}

Status Session::capture_here() {
  auto outcome = record_calls(here_options());
  if (!outcome) return std::move(outcome).error();
  here_ = std::move(*outcome);
  stopped_ = here_.stopped;
  return Ok{};
}

Status Session::run() {
  RETURN_IF_ERROR(start_remotes());
  wait_for_begin();
  if (far_ && began_) far_->go();
  Status ran = Ok{};
  bool others_go_on = true;
  if (!plan_.targets.here.empty() && asked_ns_ == 0) {
    ran = capture_here();
    others_go_on = ran.ok() && stopped_ != "time over" && asked_ns_ == 0;
  }
  if (!ran) here_failure_ = ran.error();
  if (others_go_on && !remotes_.empty()) wait_for_remotes();
  progress_.clear();
  return ran;
}

void Session::add_here(SyscapOutcome& outcome) const {
  for (size_t i = 0; i < here_.ends.size() && i < plan_.targets.here.size(); ++i) {
    const LogEnd& end = here_.ends[i];
    SyscapNode node;
    node.name = plan_.targets.here[i].name;
    node.backend = plan_.backend;
    node.calls = end.calls;
    node.fds = end.fds;
    node.lost = end.all_lost();
    node.unseen = end.unseen;
    node.bytes = i < here_.bytes.size() ? here_.bytes[i] : 0;
    node.notes = end.notes;
    outcome.nodes.push_back(std::move(node));
  }
  // Nodes of one machine share one buffer: a loss is in the end of each of them, and happened once.
  for (const SyscapNode& node : outcome.nodes) outcome.lost = std::max(outcome.lost, node.lost);
}

void Session::add_remote(RemoteOutcome from, SyscapOutcome& outcome) {
  if (Manifest* manifest = place_.manifest(); manifest != nullptr && from.clock) {
    for (NodeReport& report : manifest->nodes) {
      if (report.name != from.node) continue;
      report.clock_offset_ns = from.clock->offset_ns;
      report.clock_uncertainty_ns = std::max<int64_t>(1, from.clock->uncertainty_ns);  // 0 would say: the same clock
    }
  }
  SyscapNode node;
  node.name = from.node;
  node.backend = from.backend;
  node.calls = from.calls;
  node.lost = from.lost;
  node.bytes = from.bytes;
  node.notes = std::move(from.notes);
  node.failure = std::move(from.failure);
  outcome.lost += node.lost;
  outcome.nodes.push_back(std::move(node));
}

SyscapOutcome Session::outcome() {
  SyscapOutcome outcome;
  outcome.stopped = stopped_;
  outcome.duration_ns = here_.duration_ns > 0 ? here_.duration_ns : monotonic_now_ns() - start_ns_;
  outcome.command_status = here_.command_status;
  outcome.failure = here_failure_;
  add_here(outcome);
  const bool over = all_remotes(&RemoteCapture::ended);
  for (const auto& remote : remotes_) remote->finish();  // also when this machine's capture never began
  for (const auto& remote : remotes_) add_remote(remote->wait(), outcome);
  if (far_ && began_) {
    const int code = far_->wait_exit(over ? kFarExit : 0);
    if (code >= 0) outcome.command_status = code << 8;  // as wait(2) has it
  }
  look_at_remotes();
  return outcome;
}

Manifest manifest_for(const SyscapPlan& plan) {
  Manifest manifest;
  manifest.origin = "recorded";
  manifest.source = plan.source;
  manifest.start_ns = wall_now_ns();
  manifest.cluster = plan.targets.cluster;
  manifest.notes = plan.targets.notes;
  for (const Node& node : plan.targets.cluster.nodes) manifest.nodes.emplace_back().name = node.name;
  return manifest;
}

// What a reader of the run should know without opening the logs.
void fill_manifest(const SyscapOutcome& outcome, Manifest& manifest) {
  manifest.end_ns = wall_now_ns();
  manifest.stopped = outcome.stopped;
  manifest.own_cpu_seconds = static_cast<double>(cpu_time_ns()) / 1e9;
  for (const std::string& note : all_notes(outcome)) manifest.notes.push_back(note);
  for (const SyscapNode& node : outcome.nodes) {
    if (!node.failure.what.empty())
      manifest.notes.push_back(cat(node.name, ": its capture failed: ", node.failure.message()));
    for (NodeReport& report : manifest.nodes)
      if (report.name == node.name && !node.backend.empty()) report.environment["syscap_backend"] = node.backend;
  }
  if (!outcome.failure.what.empty()) manifest.notes.push_back(cat("the capture failed: ", outcome.failure.message()));
}

std::vector<std::string> node_names(const SyscapTargets& targets) {
  std::vector<std::string> names;
  for (const CaptureNode& node : targets.here) names.push_back(node.name);
  for (const RemoteTarget& target : targets.remote) names.push_back(target.node.name);
  return names;
}

// Why there is nothing: our own failure, or the first of the others'.
Error nothing_captured(const SyscapOutcome& outcome) {
  if (!outcome.failure.what.empty()) return outcome.failure;
  for (const SyscapNode& node : outcome.nodes) {
    if (node.failure.what.empty()) continue;
    Error error = node.failure;
    error.what = cat(node.name, ": ", error.what);
    return error;
  }
  return input_error("nothing was captured: it was stopped before it began");
}

}  // namespace

std::vector<std::string> all_notes(const SyscapOutcome& outcome) {
  std::vector<std::string> notes = outcome.notes;
  std::map<std::string, std::vector<std::string>> nodes_of;  // by note
  for (const SyscapNode& node : outcome.nodes)
    for (const std::string& note : node.notes) nodes_of[note].push_back(node.name);
  for (const auto& [note, nodes] : nodes_of)
    notes.push_back(nodes.size() > kMostNamed ? note : cat(join(nodes, ", "), ": ", note));
  return notes;
}

Result<SyscapOutcome> capture_run(const SyscapPlan& plan) {
  StopSignals signals;
  ASSIGN_OR_RETURN(RunPlace place, RunPlace::open(plan.out, manifest_for(plan), node_names(plan.targets)));
  SyscapOutcome outcome;
  bool began = false;
  {
    Session session(plan, place, signals);
    Status ran = session.run();
    outcome = session.outcome();
    if (!ran && outcome.failure.what.empty()) outcome.failure = ran.error();
    began = session.began();
  }
  if (!began) {
    place.discard();
    return nothing_captured(outcome);
  }
  outcome.notes = place.notes();
  outcome.joined = place.joined();
  if (Manifest* manifest = place.manifest()) fill_manifest(outcome, *manifest);
  if (outcome.joined) place.tell(cat("the capture of system calls has ended (", outcome.stopped, ")"));
  ASSIGN_OR_RETURN(outcome.run_path, place.close());
  return outcome;
}

}  // namespace culprit
