#include "cli/inject/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/inject/run_events.h"
#include "cli/record/signals.h"
#include "inject/journal.h"
#include "store/run_writer.h"

namespace culprit {

namespace {

using Json = nlohmann::ordered_json;
using Kind = GuardReport::Kind;

constexpr int64_t kFollowUpLimit = 120 * kNsPerSecond;

std::string names_of(const std::vector<const Node*>& nodes) {
  std::vector<std::string> names;
  for (const Node* node : nodes) names.push_back(node->name);
  return join(names, ", ");
}

std::string params_of(const FaultPart& part) {
  std::string out;
  for (const auto& [name, value] : part.params) {
    if (!value.empty()) out += cat(out.empty() ? "" : " ", name, "=", printable(value, 60));
  }
  return out;
}

std::string who_ends_it(const FaultInfo& fault) {
  if (fault.held == HeldBy::kernel) return "ends alone also without controller and guard";
  return "held by the guard on the node; without it: culprit inject --undo-all";
}

std::string plan_text(const InjectPlan& plan) {
  const FaultPart& first = plan.parts[0].part;
  std::string params = params_of(first);
  std::string out = cat(plan.fault->name, " on ", names_of(plan.targets), " for ", format_duration(first.duration_ns),
                        ", id ", first.id, ", seed ", first.seed, params.empty() ? "" : ", ", params, "\n");
  out += cat("class ", fault_class_name(plan.fault->kind), ", lease ", format_duration(first.lease_ns), ", ",
             who_ends_it(*plan.fault), "\n");
  for (const PlannedPart& each : plan.parts) {
    out += cat("  ", each.node->name, " (", each.node->reach, ") as ", each.part.role,
               each.part.peers.empty() ? "" : " with ", join(each.part.peers, ", "), "\n");
  }
  return out;
}

class Session {
 public:
  Session(InjectPlan plan, const StartLink& start, const SessionOptions& options)
      : options_(options),
        start_(start),
        injection_(std::move(plan), start, options.dry_run,
                   [this](const PartState& part, const GuardReport& report) { hear(part, report); }) {}

  int run();

 private:
  void loop();
  void hear(const PartState& part, const GuardReport& report);
  void note_begin();
  void note_end();
  void follow_up();
  void measure(const std::set<std::string>& runs);
  std::set<std::string> recordings() const;
  int64_t begun_ns() const;  // from then on it may be felt
  int64_t on_ns() const;     // on all nodes
  int64_t off_ns() const;
  bool cut_short() const;
  int answer() const;
  std::string as_text() const;
  std::string as_json() const;

  SessionOptions options_;
  StartLink start_;
  bool begun_noted_ = false;
  bool by_switch_ = false;
  bool followed_up_ = false;
  bool followed_clean_ = false;
  std::vector<Cost> costs_;
  Injection injection_;
};

void Session::hear(const PartState& part, const GuardReport& report) {
  const std::string& node = part.planned.node->name;
  switch (report.kind) {
    case Kind::note:
      return say(cat(node, ": ", printable(report.text, 300)));
    case Kind::active:
      return say(cat(node, ": in force since ", format_time(part.active_ns)));
    case Kind::faded:
      return say(cat(node, ": not in force any more at ", format_time(report.t_ns), ", though nobody took it back"));
    case Kind::removed:
      return say(cat(node, report.clean ? ": taken back at " : ": NOT clean at ", format_time(part.removed_ns), " (",
                     part.reason, ")"));
    case Kind::prepared:
    case Kind::failed:
      return;
  }
}

int64_t Session::begun_ns() const {
  int64_t earliest = INT64_MAX;
  for (const PartState& part : injection_.parts())
    if (part.told_to_go) earliest = std::min(earliest, part.begun_ns);
  return earliest;
}

int64_t Session::on_ns() const {
  int64_t latest = 0;
  for (const PartState& part : injection_.parts()) latest = std::max(latest, part.active_ns);
  return latest;
}

int64_t Session::off_ns() const {
  int64_t latest = 0;
  for (const PartState& part : injection_.parts()) latest = std::max(latest, part.removed_ns);
  return latest;
}

// From the last node on which it came into force: before that it was not the fault that was asked for.
void Session::note_begin() {
  begun_noted_ = true;
  for (const std::string& problem :
       write_events(injection_.plan(), on_ns(), "fault", event_text(injection_.plan(), true)))
    say(problem);
  say(cat("in force on all nodes; ends in ", format_duration(injection_.plan().parts[0].part.duration_ns),
          ", or with Ctrl-C"));
}

void Session::note_end() {
  if (!begun_noted_) return;
  std::string state = injection_.clean() || followed_clean_ ? ", clean" : ", NOT clean";
  int64_t at = off_ns() > 0 ? off_ns() : wall_now_ns();
  for (const std::string& problem :
       write_events(injection_.plan(), at, "fault", event_text(injection_.plan(), false) + state))
    say(problem);
}

std::set<std::string> Session::recordings() const {
  std::set<std::string> runs;
  for (const Node* target : injection_.plan().targets) {
    for (const std::string& run : recordings_of(*target)) runs.insert(run);
  }
  return runs;
}

void Session::measure(const std::set<std::string>& runs) {
  for (const std::string& run : runs) {
    auto cost = measure_cost(run, on_ns(), off_ns());
    if (!cost) {
      say(cat("what it cost is not known: ", cost.error().message()));
      continue;
    }
    costs_.push_back(*cost);
    std::string text =
        cat(injection_.plan().fault->name, ", id ", injection_.plan().parts[0].part.id, ": ", cost_text(*cost));
    static_cast<void>(append_event(run, {off_ns(), injection_.plan().targets[0]->name, "note", text}));
  }
  if (runs.empty()) say("no recording of these nodes was running, so what it cost is not known");
}

// Nodes whose guard went away without a word are looked at again: what is unknown is not clean.
void Session::follow_up() {
  std::vector<const Node*> unsure;
  for (const PartState& part : injection_.parts()) {
    if (part.told_to_go && !part.clean) unsure.push_back(part.planned.node);
  }
  if (unsure.empty()) return;
  followed_up_ = followed_clean_ = true;
  for (const NodeJournals& node : ask_journals(unsure, start_, "undo-all", kFollowUpLimit)) {
    bool good = node.error.what.empty();
    for (const JournalReport& journal : node.journals) good = good && journal.state == "undone";
    followed_clean_ = followed_clean_ && good;
    say(cat(node.node->name, ": looked at again: ", good ? "clean now" : "still not clean",
            node.error.what.empty() ? "" : ": ", node.error.message()));
  }
}

void Session::loop() {
  StopSignals signals;
  while (!injection_.over()) {
    bool killed = path_exists(stop_file());
    if (killed && !by_switch_) say(cat("kill switch: ", stop_file(), " exists"));
    by_switch_ = by_switch_ || killed;
    if (signals.asked() || killed) injection_.stop();
    injection_.turn();
    if (injection_.ever_active() && !begun_noted_) note_begin();
    if (injection_.over()) break;
    std::vector<pollfd> fds;
    injection_.add_polls(fds);
    signals.wait(fds, std::min<int64_t>(injection_.wait_ns(), 250 * kNsPerMs));
  }
  if (!options_.dry_run) follow_up();
}

int Session::run() {
  loop();
  if (!options_.dry_run) {
    note_end();
    if (begun_noted_ && off_ns() > 0) measure(recordings());
  }
  return answer();
}

// Ended by somebody else than the time and the user of this command.
bool Session::cut_short() const {
  return by_switch_ || std::any_of(injection_.parts().begin(), injection_.parts().end(), [](const PartState& part) {
           return !part.reason.empty() && part.reason != kReasonTime && part.reason != kReasonAsked;
         });
}

int Session::answer() const {
  for (const PartState& part : injection_.parts()) {
    if (!part.error.what.empty()) print_error(part.error);
  }
  print(options_.json ? as_json() : as_text());
  return injection_.clean() && !cut_short() ? kExitHealthy : kExitFailed;
}

std::string Session::as_text() const {
  const InjectPlan& plan = injection_.plan();
  if (options_.dry_run)
    return injection_.clean() ? cat(plan_text(plan), "nothing was changed: all nodes are ready for it\n") : "";
  if (!begun_noted_) return injection_.clean() ? "ended before it was in force; nothing is left\n" : "";
  std::string times = cat(format_time(on_ns()), " to ", off_ns() > 0 ? format_time(off_ns()) : "an unknown time");
  std::string out = cat(plan.fault->name, " on ", names_of(plan.targets), ": in force from ", times);
  if (off_ns() > 0) out += fmt::format(", {:.1f} s", static_cast<double>(off_ns() - on_ns()) / 1e9);
  out += injection_.clean() ? "\ntaken back, and seen to be gone\n"
         : followed_clean_  ? "\nnot as planned; gone now, seen by looking again\n"
                            : "\nNOT clean: see above; culprit inject --undo-all tries again\n";
  for (const Cost& cost : costs_) out += cat("measured: ", cost_text(cost), "\n");
  return out;
}

std::string Session::as_json() const {
  const InjectPlan& plan = injection_.plan();
  const FaultPart& first = plan.parts[0].part;
  Json parts = Json::array();
  for (const PartState& part : injection_.parts()) {
    Json row = {{"node", part.planned.node->name}, {"role", part.planned.part.role}, {"clean", part.clean}};
    if (part.active_ns) row["active_ns"] = part.active_ns;
    if (part.removed_ns) row["removed_ns"] = part.removed_ns;
    if (!part.reason.empty()) row["reason"] = part.reason;
    if (!part.error.what.empty()) row["error"] = part.error.message();
    if (part.faded) row["faded"] = true;
    if (!part.notes.empty()) row["notes"] = part.notes;
    parts.push_back(std::move(row));
  }
  std::vector<std::string> targets;
  for (const Node* node : plan.targets) targets.push_back(node->name);
  Json costs = Json::array();
  for (const Cost& cost : costs_) {
    costs.push_back({{"run", cost.run},
                     {"whose", cost.whose},
                     {"before_bytes_per_s", cost.before},
                     {"during_bytes_per_s", cost.during},
                     {"text", cost_text(cost)}});
  }
  Json out = {{"fault", plan.fault->name},
              {"class", fault_class_name(plan.fault->kind)},
              {"held_by", plan.fault->held == HeldBy::kernel ? "kernel" : "journal"},
              {"id", first.id},
              {"seed", first.seed},
              {"duration_ns", first.duration_ns},
              {"lease_ns", first.lease_ns},
              {"params", first.params},
              {"targets", targets},
              {"dry_run", options_.dry_run},
              {"clean", injection_.clean()},
              {"followed_up", followed_up_},
              {"parts", parts},
              {"cost", costs}};
  if (begun_noted_) out["begun_ns"] = begun_ns();
  if (begun_noted_) out["on_ns"] = on_ns();
  if (begun_noted_ && off_ns() > 0) out["off_ns"] = off_ns();
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

Result<int> run_session(InjectPlan plan, const StartLink& start, const SessionOptions& options) {
  if (!options.dry_run) {
    const FaultPart& first = plan.parts[0].part;
    say(cat(plan.fault->name, " (", fault_class_name(plan.fault->kind), ") on ", names_of(plan.targets), " for ",
            format_duration(first.duration_ns), ", id ", first.id, ", seed ", first.seed));
  }
  return Session(std::move(plan), start, options).run();
}

}  // namespace culprit
