// culprit train: fault-free runs to a profile of thresholds.
#include <fmt/format.h>

#include <set>

#include "analyse/histogram.h"
#include "base/fd.h"
#include "base/text.h"
#include "cli/analysis.h"
#include "store/profile_file.h"

namespace culprit {

namespace {

constexpr size_t kFewRuns = 3;

// A run that says itself that it holds a fault teaches the detector to overlook it.
Status refuse_faulty(const RunReader& run) {
  const auto& truth = run.manifest().truth;
  auto fault = truth.find("fault");
  bool faulty = fault != truth.end() && fault->second != "none";
  ASSIGN_OR_RETURN(const std::vector<Event> events, run.events());
  for (const Event& event : events) faulty |= event.kind == "fault";
  if (!faulty) return Ok{};
  return input_error(cat(run.path(), " holds an injected fault"),
                     "train on fault-free runs, or add --even-faulty if you know better");
}

Result<RunReader> open_run(const Args& args, const std::string& path) {
  ASSIGN_OR_RETURN(RunReader run, RunReader::open(path));
  if (!args.has("even-faulty")) RETURN_IF_ERROR(refuse_faulty(run));
  return run;
}

Result<std::vector<SeriesSet>> load_all(const Args& args, const Parameters& parameters) {
  std::vector<SeriesSet> all;
  SeriesOptions options;
  options.exclude = args.all("exclude");
  if (parameters.all().count("cwnd_span")) options.cwnd_span = parameters.integer("cwnd_span");
  for (const std::string& path : args.positionals) {
    ASSIGN_OR_RETURN(const RunReader run, open_run(args, path));
    ASSIGN_OR_RETURN(SeriesSet series, load_series(run, options));
    if (!all.empty() && series.interval_ns != all.front().interval_ns)
      return input_error(cat(path, " was sampled at another interval than ", args.positionals.front()),
                         "train on runs of one interval");
    all.push_back(std::move(series));
  }
  return all;
}

Result<std::vector<CallData>> load_all_calls(const Args& args) {
  std::vector<CallData> all;
  CallOptions options;
  options.exclude = args.all("exclude");
  for (const std::string& path : args.positionals) {
    ASSIGN_OR_RETURN(const RunReader run, open_run(args, path));
    ASSIGN_OR_RETURN(CallData calls, load_call_data(run, options));
    all.push_back(std::move(calls));
  }
  return all;
}

std::string metric_line(const std::string& metric, const std::map<std::string, std::map<std::string, double>>& rows,
                        double weak) {
  const auto& any = rows.at("*");
  if (any.count("fraction")) return fmt::format("  {:<18} fraction {:.2f} of the median\n", metric, any.at("fraction"));
  double low = 1e300, high = 0;
  std::string weaklings;
  for (const auto& [server, row] : rows) {
    if (server == "*") continue;
    low = std::min(low, row.at("used"));
    high = std::max(high, row.at("used"));
    if (row.at("used") > weak) weaklings += " " + server;
  }
  if (rows.size() == 1) low = high = any.at("used");
  std::string line = fmt::format("  {:<18} thresholds {:.1f} to {:.1f}\n", metric, low, high);
  if (!weaklings.empty())
    line += fmt::format("    weak (they differ too much from their peers to be judged well):{}\n", weaklings);
  return line;
}

// What makes a profile worse than it need be.
void warn_of_few(size_t runs) {
  if (runs < kFewRuns)
    say(cat(
        "note: ", runs, runs == 1 ? " run is" : " runs are",
        " few: healthy servers that stray a little farther than in training will be accused; the paper has ten runs of "
        "each of three workloads"));
}

void warn_of_quiet(const Profile& profile) {
  std::string quiet;
  for (const MetricInfo& metric : metrics())
    if (metric.indicting && !profile.thresholds.count(std::string(metric.name))) quiet += cat(" ", metric.name);
  if (!quiet.empty())
    say(cat(
        "note: no activity in training, so these will not be judged:", quiet,
        "\nhint: add runs of workloads that use them (reads and writes), with clients recorded for cwnd_from_clients"));
}

Result<Profile> train(const Args& args, const DetectorInfo& detector, const Parameters& parameters) {
  if (detector.reads_calls()) {
    ASSIGN_OR_RETURN(const std::vector<CallData> runs, load_all_calls(args));
    return detector.train_calls(runs, parameters);
  }
  ASSIGN_OR_RETURN(const std::vector<SeriesSet> runs, load_all(args, parameters));
  return detector.train(runs, parameters);
}

std::string profile_text(const Profile& profile, const DetectorInfo& detector, const Parameters& parameters) {
  if (detector.reads_calls()) return call_profile_text(profile);
  std::string out;
  if (parameters.all().count("bins"))
    out += fmt::format("  distances between two servers reach at most {:.4f}; the lower a threshold, the sharper\n",
                       distance_ceiling({parameters.integer("bins"), parameters["epsilon"], 0, 0}));
  for (const auto& [metric, rows] : profile.thresholds) out += metric_line(metric, rows, parameters["weak"]);
  return out;
}

Result<int> run(const Args& args) {
  ASSIGN_OR_RETURN(const DetectorInfo* detector, find_detector(args.get("detector")));
  if (!detector->can_train()) return usage_error(cat(detector->name, " needs no training"));
  Parameters parameters(detector->parameters);
  RETURN_IF_ERROR(apply_parameters(args.all("param"), *detector, true, parameters));
  ASSIGN_OR_RETURN(const Profile profile, train(args, *detector, parameters));
  RETURN_IF_ERROR(write_file_atomically(args.get("out"), format_profile(profile)));
  const size_t runs = args.positionals.size();
  if (args.has("json"))
    print(format_profile(profile));
  else
    print(fmt::format("trained {} on {} run{}:\n{}", detector->name, runs, runs == 1 ? "" : "s",
                      profile_text(profile, *detector, parameters)));
  warn_of_few(runs);
  if (!detector->reads_calls()) warn_of_quiet(profile);
  if (profile.simulated) say("note: trained on simulated runs, so it is good for simulated runs only");
  say(cat("next: culprit diagnose RUN --profile ", args.get("out")));
  return kExitHealthy;
}

}  // namespace

extern const CommandInfo command_train;
const CommandInfo command_train = {
    "train",
    "fault-free runs -> a profile of thresholds",
    {{"RUN", "a run without a fault, under the heaviest load the servers get", true, true}},
    {{"out", "FILE", "culprit.profile", "the profile to write"},
     {"detector", "NAME", "fast10", "what to train (culprit list detectors)"},
     {"param", "NAME=VALUE", "", "a parameter of the detector", true},
     {"exclude", "SERVER", "", "leave a server out", true},
     {"even-faulty", "", "", "take runs that say they hold a fault"},
     {"json", "", "", "print the profile"}},
    "Several runs of several workloads make a better profile: the thresholds lie above\n"
    "whatever difference between healthy servers the runs show.",
    run,
    false,
    Group::diagnose};

}  // namespace culprit
