#include "inject/controller.h"

#include <algorithm>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "inject/part_text.h"

namespace culprit {

namespace {

using Phase = PartState::Phase;

constexpr int64_t kReadyLimit =
    90 * kNsPerSecond;  // connect, send the program, preflight, and an earlier orphan's undo
constexpr int64_t kBeginLimit = 120 * kNsPerSecond;  // inconsistency copies a disk's image
constexpr int64_t kEndLimit = 300 * kNsPerSecond;    // a restart of daemons, a check of a file system, five tries
constexpr int64_t kLongestBeat = kNsPerSecond;
constexpr size_t kMostNotes = 20;  // of one node

bool all(const std::vector<PartState>& parts, Phase phase) {
  return std::all_of(parts.begin(), parts.end(), [=](const PartState& part) { return part.phase == phase; });
}

}  // namespace

Injection::Injection(InjectPlan plan, const StartLink& start, bool dry_run, Listener listener)
    : plan_(std::move(plan)), dry_run_(dry_run), listener_(std::move(listener)), since_ns_(monotonic_now_ns()) {
  for (const PlannedPart& planned : plan_.parts) parts_.emplace_back().planned = planned;
  for (PartState& part : parts_) {
    auto link = start(*part.planned.node, {"fault", dry_run ? "check" : "guard"});
    if (!link) {
      fail(part, link.error());
      stop();
      return;
    }
    part.link = std::move(*link);
    part.link->send(format_part(part.planned.part));
  }
}

void Injection::fail(PartState& part, Error error) {
  if (part.error.what.empty()) part.error = std::move(error);
  if (!part.link) part.clean = true;  // it was never reached
  if (!part.link) part.phase = Phase::over;
}

bool Injection::over() const {
  return all(parts_, Phase::over);
}

bool Injection::active() const {
  return all(parts_, Phase::active);
}

bool Injection::clean() const {
  return std::all_of(parts_.begin(), parts_.end(), [](const PartState& part) {
    return part.phase == Phase::over && part.clean && part.error.what.empty() && !part.faded;
  });
}

void Injection::add_polls(std::vector<pollfd>& fds) const {
  for (const PartState& part : parts_) {
    if (part.link && part.phase != Phase::over) part.link->add_polls(fds);
  }
}

int64_t Injection::wait_ns() const {
  return std::clamp<int64_t>(next_beat_ns_ - monotonic_now_ns(), 0, kLongestBeat);
}

void Injection::turn() {
  for (PartState& part : parts_) {
    if (!part.link || part.phase == Phase::over) continue;
    std::vector<std::string> lines;
    part.link->turn(lines);
    for (const std::string& line : lines) take(part, line);
    if (part.link->ended()) link_ended(part);
  }
  advance();
  beat();
  check_limits();
}

// Times of nodes with a clock of their own are those of the arrival here.
void Injection::take(PartState& part, std::string_view line) {
  auto report = parse_report(line);
  if (!report) return;
  if (!part.link->same_clock() || report->t_ns == 0) report->t_ns = wall_now_ns();
  switch (report->kind) {
    case GuardReport::Kind::note:
      if (part.notes.size() < kMostNotes) part.notes.push_back(printable(report->text, 300));
      break;
    case GuardReport::Kind::prepared:
      part.phase = Phase::prepared;
      break;
    case GuardReport::Kind::active:
      part.phase = Phase::active;
      part.active_ns = report->t_ns;
      break;
    case GuardReport::Kind::faded:
      part.faded = true;
      break;
    case GuardReport::Kind::failed:
      fail(part, report->error);
      break;
    case GuardReport::Kind::removed:
      part.removed_ns = report->t_ns;
      part.clean = report->clean;
      part.reason = printable(report->text, 200);
      if (!report->clean) fail(part, report->error);
      break;
  }
  if (listener_) listener_(part, *report);
}

void Injection::link_ended(PartState& part) {
  bool touched = part.told_to_go;
  part.phase = Phase::over;
  Error why = part.link->why();
  if (!touched) part.clean = true;  // it never began
  if (touched && part.removed_ns == 0) {
    std::string how = why.what.empty() ? "" : cat(": ", why.message());
    fail(part, system_error(cat("the guard on ", part.planned.node->name, " ended without a word on the undo", how), 0,
                            "culprit inject --undo-all looks there again"));
  }
  bool as_planned = touched || (dry_run_ && part.error.what.empty() && why.what.empty()) || stopping_;
  if (!as_planned) {
    if (why.what.empty()) why = system_error(cat("the guard on ", part.planned.node->name, " ended too early"), 0);
    fail(part, std::move(why));
  }
}

// The parts of one role begin at once, those of the next when all of them are in force: a sink before its source.
void Injection::begin_next_role() {
  auto next = std::find_if(parts_.begin(), parts_.end(), [](const PartState& p) { return !p.told_to_go; });
  if (next == parts_.end()) return;
  std::string role = next->planned.part.role;
  for (; next != parts_.end() && next->planned.part.role == role; ++next) {
    next->told_to_go = true;
    next->begun_ns = wall_now_ns();
    next->phase = Phase::beginning;
    next->link->send("go\n");
  }
  since_ns_ = monotonic_now_ns();
}

void Injection::advance() {
  // Also while it is being taken back: what came into force is said, however short it was.
  ever_active_ = ever_active_ ||
                 std::all_of(parts_.begin(), parts_.end(), [](const PartState& part) { return part.active_ns != 0; });
  if (stopping_) return;
  bool wrong = std::any_of(parts_.begin(), parts_.end(), [](const PartState& part) {
    return part.phase == Phase::over || !part.error.what.empty() || part.removed_ns != 0;
  });
  if (dry_run_ && all(parts_, Phase::prepared)) wrong = true;  // all is said: end
  if (wrong) return stop();
  bool ready = std::none_of(parts_.begin(), parts_.end(), [](const PartState& p) {
    return p.phase == Phase::preparing || p.phase == Phase::beginning;
  });
  if (ready && !dry_run_) begin_next_role();
}

void Injection::stop() {
  if (stopping_) return;
  stopping_ = true;
  since_ns_ = monotonic_now_ns();
  for (PartState& part : parts_) {
    if (!part.link) fail(part, {});
    if (!part.link || part.phase == Phase::over) continue;
    part.link->send("undo\n");
    if (!part.told_to_go) part.link->finish();
  }
}

void Injection::beat() {
  int64_t now = monotonic_now_ns();
  if (now < next_beat_ns_) return;
  int64_t period = kLongestBeat;
  for (PartState& part : parts_) {
    period = std::min(period, part.planned.part.lease_ns / 4);
    if (part.link && part.told_to_go && part.phase != Phase::over) part.link->send("beat\n");
  }
  next_beat_ns_ = now + period;
}

// While it is in force the guards end it by themselves; one that is stopped or stuck does not.
int64_t Injection::limit_ns() const {
  if (stopping_) return kEndLimit;
  bool begun = std::any_of(parts_.begin(), parts_.end(), [](const PartState& part) { return part.told_to_go; });
  if (!begun) return kReadyLimit;
  if (!active()) return kBeginLimit;
  int64_t longest = 0;
  for (const PartState& part : parts_)
    longest = std::max(longest, part.planned.part.duration_ns + part.planned.part.lease_ns);
  return longest + kBeginLimit;
}

// A guard that does not end is left alone: killing it would take away who undoes. What it did is then unknown.
void Injection::check_limits() {
  int64_t limit = limit_ns();
  if (monotonic_now_ns() - since_ns_ < limit) return;
  for (PartState& part : parts_) {
    bool late =
        stopping_ ? part.phase != Phase::over : part.phase == Phase::preparing || part.phase == Phase::beginning;
    if (!late) continue;
    fail(part, system_error(cat(part.planned.node->name, " did not answer within ", format_duration(limit)), 0,
                            "culprit inject --undo-all looks there again"));
    if (!stopping_) continue;
    part.phase = Phase::over;
    part.clean = !part.told_to_go;
    part.link.reset();
  }
  if (!stopping_) stop();
}

namespace {

// True when there is no more to come.
bool take_answer(NodeLink& link, NodeJournals& answer) {
  std::vector<std::string> lines;
  link.turn(lines);
  for (const std::string& line : lines) {
    auto journal = parse_journal_report(line);
    auto report = parse_report(line);
    if (journal) answer.journals.push_back(std::move(*journal));
    if (report && report->kind == GuardReport::Kind::failed) answer.error = report->error;
    answer.complete = answer.complete || line == "done";
  }
  if (!link.ended()) return false;
  if (answer.complete || !answer.error.what.empty()) return true;
  answer.error = link.why();
  if (answer.error.what.empty())
    answer.error = system_error(cat(answer.node->name, " ended in the middle of its answer"), 0,
                                "what is left there is not known; ask again");
  return true;
}

}  // namespace

std::vector<NodeJournals> ask_journals(const std::vector<const Node*>& nodes, const StartLink& start,
                                       std::string_view what, int64_t limit_ns) {
  std::vector<NodeJournals> answers;
  std::vector<std::unique_ptr<NodeLink>> links;
  for (const Node* node : nodes) {
    answers.emplace_back().node = node;
    auto link = start(*node, {"fault", std::string(what), "--node", node->name});
    if (!link) answers.back().error = link.error();
    links.push_back(link ? std::move(*link) : nullptr);
    if (links.back()) links.back()->finish();
  }
  int64_t deadline = monotonic_now_ns() + limit_ns;
  auto waiting = [&] {
    return std::any_of(links.begin(), links.end(), [](const auto& link) { return link != nullptr; });
  };
  while (waiting() && monotonic_now_ns() < deadline) {
    std::vector<pollfd> fds;
    for (const auto& link : links) {
      if (link) link->add_polls(fds);
    }
    ::poll(fds.data(), fds.size(), 50);
    for (size_t i = 0; i < links.size(); ++i) {
      if (links[i] && take_answer(*links[i], answers[i])) links[i].reset();
    }
  }
  for (size_t i = 0; i < links.size(); ++i) {
    if (links[i])
      answers[i].error = system_error(cat(nodes[i]->name, " did not answer within ", format_duration(limit_ns)), 0);
  }
  return answers;
}

}  // namespace culprit
