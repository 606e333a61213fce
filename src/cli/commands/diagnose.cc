// culprit diagnose: which server is the culprit, which resource, since when, on what evidence.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/analysis.h"
#include "explain/verdict_text.h"
#include "store/profile_file.h"

namespace culprit {

namespace {

constexpr int kMostEvents = 20;  // a screenful

struct Setup {
  const DetectorInfo* detector = nullptr;
  std::optional<Profile> profile;
};

// Without a profile the baseline answers, because it needs none; where only system calls were captured, their errors
// do.
std::string default_detector(const RunReader& run) {
  return run.samples().empty() && has_calls(run) ? "hotdep09_errors" : "median_ratio";
}

// The profile says which detector.
Result<Setup> choose(const Args& args, const RunReader& run) {
  Setup setup;
  if (auto path = args.given("profile")) {
    ASSIGN_OR_RETURN(setup.profile, read_profile(*path));
  }
  std::string name = setup.profile ? setup.profile->detector : default_detector(run);
  if (setup.profile && !find_detector(name))
    return input_error(cat(*args.given("profile"), " is for a detector that this culprit does not have"),
                       "train it again");
  if (auto asked = args.given("detector")) name = *asked;
  ASSIGN_OR_RETURN(setup.detector, find_detector(name));
  if (setup.profile && setup.profile->detector != name && setup.detector->can_train())
    return usage_error(cat("the profile was trained for ", printable(setup.profile->detector), ", not for ", name),
                       "leave --detector out, or train a profile for it");
  return setup;
}

// What a profile says is input: nobody typed the parameter that is wrong.
Status take_parameters(const Args& args, const Setup& setup, Parameters& parameters) {
  if (!setup.profile || !setup.detector->can_train()) return Ok{};
  const Status taken = parameters.set_all(setup.profile->parameters);
  if (taken) return Ok{};
  return input_error(cat(args.get("profile"), " is not a usable profile: ", taken.error().what),
                     "train it again with this culprit");
}

int exit_code(Answer answer) {
  if (answer == Answer::culprit) return kExitCulprit;
  return answer == Answer::healthy ? kExitHealthy : kExitUndecided;
}

void fill_in(const SeriesSet& series, Verdict& verdict) {
  verdict.run = series.run;
  verdict.origin = series.origin;
  verdict.partial = series.partial;
  verdict.servers = series.servers;
  verdict.interval_ns = series.interval_ns;
  verdict.ticks = static_cast<int64_t>(series.ticks);
  verdict.from_ns = series.start_ns;
  verdict.until_ns = series.time_of(series.ticks);
  verdict.notes.insert(verdict.notes.end(), series.notes.begin(), series.notes.end());
}

void fill_in(const CallData& calls, Verdict& verdict) {
  verdict.run = calls.run;
  verdict.origin = calls.origin;
  verdict.partial = calls.partial;
  for (const NodeCalls& server : calls.servers) verdict.servers.push_back(server.name);
  verdict.interval_ns = kNsPerSecond;
  verdict.ticks = std::max<int64_t>(0, (calls.end_ns - calls.start_ns) / kNsPerSecond);
  verdict.from_ns = calls.start_ns;
  verdict.until_ns = calls.end_ns;
}

void note_profile(const Setup& setup, Verdict& verdict) {
  if (setup.profile && !setup.detector->can_train())
    verdict.notes.push_back(cat(setup.detector->name, " needs no profile; the one given was not used"));
  if (setup.profile && setup.profile->simulated && verdict.origin != "simulated")
    verdict.notes.push_back("the profile was trained on simulated runs, which says nothing about real servers");
}

// What people and the recorder wrote down meanwhile: a mark or a gap near the onset often is the explanation.
Status add_events(const RunReader& run, Verdict& verdict) {
  ASSIGN_OR_RETURN(const std::vector<Event> events, run.events());
  int shown = 0;
  for (const Event& event : events) {
    if ((event.kind != "mark" && event.kind != "gap") || event.t_ns < verdict.from_ns || event.t_ns > verdict.until_ns)
      continue;
    if (++shown > kMostEvents) continue;
    verdict.notes.push_back(cat(event.kind, " at ", format_time(event.t_ns),
                                event.node.empty() ? "" : cat(" on ", event.node), ": ", printable(event.text, 200)));
  }
  if (shown > kMostEvents) verdict.notes.push_back(cat(shown - kMostEvents, " more marks and gaps"));
  return Ok{};
}

void say_next(const Args& args, const RunReader& run, const Setup& setup, const Verdict& verdict) {
  if (!setup.detector->reads_calls() && has_calls(run))
    say(cat("hint: this run holds system calls, too: culprit diagnose ", args.positionals[0],
            " --detector hotdep09_errors or hotdep09_hang looks at them"));
  if (!setup.profile && setup.detector->name == "median_ratio" && !args.has("detector"))
    say("hint: without a profile only the baseline answers; culprit train FAULT_FREE_RUN... makes one");
  if (verdict.answer != Answer::culprit) return;
  say(setup.detector->reads_calls()
          ? cat("next: culprit syscap show ", args.positionals[0], " --node ", verdict.culprits.front().server,
                " --errno any")
          : cat("next: culprit export ", args.positionals[0], " --format csv --out metrics.csv"));
}

template <class Options>
Options options_of(const Args& args) {
  Options options;
  options.exclude = args.all("exclude");
  options.since = args.get("since");
  options.until = args.get("until");
  return options;
}

Result<Verdict> diagnose(const Args& args, const RunReader& reader, const Setup& setup, const Parameters& parameters) {
  const Profile* profile = setup.profile ? &*setup.profile : nullptr;
  if (setup.detector->reads_calls()) {
    ASSIGN_OR_RETURN(const CallData calls, load_call_data(reader, options_of<CallOptions>(args)));
    ASSIGN_OR_RETURN(Verdict verdict, setup.detector->diagnose_calls(calls, profile, parameters));
    fill_in(calls, verdict);
    return verdict;
  }
  SeriesOptions options = options_of<SeriesOptions>(args);
  if (parameters.all().count("cwnd_span")) options.cwnd_span = parameters.integer("cwnd_span");
  ASSIGN_OR_RETURN(const SeriesSet series, load_series(reader, options));
  ASSIGN_OR_RETURN(Verdict verdict, setup.detector->diagnose(series, profile, parameters));
  fill_in(series, verdict);
  return verdict;
}

Result<int> run(const Args& args) {
  ASSIGN_OR_RETURN(const RunReader reader, RunReader::open(args.positionals[0]));
  ASSIGN_OR_RETURN(const Setup setup, choose(args, reader));
  Parameters parameters(setup.detector->parameters);
  RETURN_IF_ERROR(take_parameters(args, setup, parameters));
  RETURN_IF_ERROR(apply_parameters(args.all("param"), *setup.detector, false, parameters));
  ASSIGN_OR_RETURN(Verdict verdict, diagnose(args, reader, setup, parameters));
  verdict.detector = setup.detector->name;
  note_profile(setup, verdict);
  for (const std::string& note : reader.manifest().notes) verdict.notes.push_back(note);
  RETURN_IF_ERROR(add_events(reader, verdict));

  print(args.has("json") ? verdict_json(verdict) : verdict_text(verdict));
  if (!args.has("no-save") && !verdict.partial) {  // a partial run may still grow: its verdict would be stale
    if (Status saved = write_file_atomically(reader.path() + "/verdict.json", verdict_json(verdict)); !saved)
      say(cat("note: verdict.json was not saved: ", saved.error().message()));
  }
  say_next(args, reader, setup, verdict);
  return exit_code(verdict.answer);
}

}  // namespace

extern const CommandInfo command_diagnose;
const CommandInfo command_diagnose = {
    "diagnose",
    "culprit servers, resource, onset and evidence",
    {{"RUN", "the run to look at, also a partial one"}},
    {{"profile", "FILE", "", "thresholds from culprit train"},
     {"detector", "NAME", "", "another detector than the profile's (culprit list detectors)"},
     {"param", "NAME=VALUE", "", "a parameter of the detector", true},
     {"since", "TIME", "", "look only at what came later: a time, or +60s from the run's start"},
     {"until", "TIME", "", "look only at what came earlier"},
     {"exclude", "SERVER", "", "leave a server out", true},
     {"json", "", "", "the verdict as JSON"},
     {"no-save", "", "", "do not write verdict.json into the run"}},
    "Exit code: 0 healthy, 10 culprit, 11 undecided, 1 could not run, 2 usage.",
    run,
    false,
    Group::diagnose};

}  // namespace culprit
