// culprit score: how good is the diagnosis? Trains on a campaign's training set, diagnoses its other runs, and counts
// as the FAST'10 paper does. Recorded runs are scored again in seconds, with another detector or other parameters.
#include <filesystem>
#include <set>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/analysis.h"
#include "study/campaign_folder.h"
#include "study/overhead.h"
#include "study/tables.h"

namespace culprit {

namespace {

constexpr int64_t kProgressNs = 2 * kNsPerSecond;

struct Method {
  const DetectorInfo* detector;
  Parameters parameters;
};

// A line every few seconds, so that short work stays silent.
RunProgress progress_lines(std::string verb, std::string noun) {
  return [verb = std::move(verb), noun = std::move(noun), next_ns = monotonic_now_ns() + kProgressNs](
             size_t done, size_t total) mutable {
    if (monotonic_now_ns() < next_ns) return;
    next_ns = monotonic_now_ns() + kProgressNs;
    say(cat(verb, " ", done, " of ", total, " ", noun));
  };
}

bool is_folder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

Result<By> by_of(const Args& args) {
  const std::string by = args.get("by");
  if (by.empty()) return By::fault_and_workload;
  if (by == "fault") return By::fault;
  if (by == "workload") return By::workload;
  if (by == "cell") return By::cell;
  return unknown_word("way to sum up", by, {"fault", "workload", "cell"}, "--by workload, fault or cell");
}

Status check_usage(const Args& args) {
  size_t folders = 0;
  for (const std::string& path : args.positionals) folders += is_folder(path);
  if (folders == 0 && (args.has("detector") || args.has("param")))
    return usage_error("rows are not diagnosed again, so --detector and --param change nothing",
                       "give the campaign's directory");
  if (args.has("sweep") && folders < args.positionals.size())
    return usage_error("--sweep diagnoses again, which rows cannot be", "give campaign directories only");
  if (args.has("pairs") && args.positionals.size() != 2)
    return usage_error("--pairs needs two campaigns", "culprit score --pairs SLOW FAST");
  if (args.has("pairs") && (args.has("sweep") || args.has("rows") || args.has("paper") || args.has("by")))
    return usage_error("--pairs goes with none of --sweep, --rows, --paper and --by");
  if (args.has("overhead") && (args.has("sweep") || args.has("rows") || args.has("paper") || args.has("by") ||
                               args.has("pairs") || args.has("detector") || args.has("param")))
    return usage_error("--overhead goes with --json only", "nothing is diagnosed there");
  if (args.has("sweep") && (args.has("paper") || args.has("by")))
    return usage_error("--sweep goes with neither --paper nor --by");
  return Ok{};
}

Result<Method> chosen_method(const Args& args) {
  ASSIGN_OR_RETURN(const DetectorInfo* detector, find_detector(args.get("detector")));
  Method method{detector, Parameters(detector->parameters)};
  RETURN_IF_ERROR(apply_parameters(args.all("param"), *detector, true, method.parameters));
  return method;
}

Result<SweepCampaign> load(const std::string& path, const Method& method) {
  SweepCampaign out;
  ASSIGN_OR_RETURN(out.runs, open_campaign(path));
  ASSIGN_OR_RETURN(out.loaded, load_runs(out.runs, *method.detector, method.parameters,
                                         progress_lines("loaded", cat("runs of ", printable(out.runs.name)))));
  return out;
}

// The rows of a campaign's directory or of a file. What was loaded is kept where a sweep needs it again.
Result<RowFile> rows_of(const std::string& path, const Method& method, std::vector<SweepCampaign>* keep) {
  if (!is_folder(path)) return read_rows(path);
  ASSIGN_OR_RETURN(SweepCampaign campaign, load(path, method));
  RowFile out;
  ASSIGN_OR_RETURN(out.rows, score_runs(campaign.runs, campaign.loaded, *method.detector, method.parameters));
  out.discards = campaign.runs.discards;
  if (keep) keep->push_back(std::move(campaign));
  return out;
}

Result<int> score_pairs(const Args& args, const Method& method) {
  ASSIGN_OR_RETURN(const RowFile a, rows_of(args.positionals[0], method, nullptr));
  ASSIGN_OR_RETURN(const RowFile b, rows_of(args.positionals[1], method, nullptr));
  ASSIGN_OR_RETURN(const RunPairs pairs, pair_rows(a.rows, b.rows));
  print(args.has("json") ? pairs_json(pairs) : pairs_text(pairs));
  return kExitHealthy;
}

Result<int> score_overhead(const Args& args) {
  std::vector<std::vector<Attempt>> all;
  std::set<int64_t> intervals;
  std::set<std::string> seen;
  for (const std::string& path : args.positionals) {
    if (!is_folder(path)) return usage_error("--overhead needs campaign directories");
    std::error_code unknown;
    if (!seen.insert(std::filesystem::canonical(path, unknown).string()).second)
      return usage_error(cat(printable(path), " is given twice"));
    ASSIGN_OR_RETURN(all.emplace_back(), read_journal(path));
    for (const Attempt& attempt : all.back())
      if (attempt.experiment.set == RunSet::overhead) intervals.insert(attempt.interval_ns);
  }
  const std::vector<OverheadRow> rows = tally_overhead(all);
  if (rows.empty())
    return input_error("there is no pair with and without recording", "a plan with [overhead] makes them");
  if (intervals.size() > 1)
    return input_error("the campaigns recorded at different intervals, which cost differently",
                       "score them one by one");
  print(args.has("json") ? overhead_json(rows, *intervals.begin()) : overhead_text(rows, *intervals.begin()));
  return kExitHealthy;
}

void print_tables(const Args& args, By by, const RowFile& file) {
  std::vector<Tally> tallies;
  for (const auto& [method, rows] : rows_by_method(file.rows)) tallies.push_back(tally_rows(rows));
  const Discards discards = tally_discards(file);
  if (args.has("json")) return print(tallies_json(tallies, discards, args.has("paper")));
  for (const Tally& tally : tallies) print(tally_text(tally, by, args.has("paper")));
  print(discards_text(discards));
}

Result<int> run(const Args& args) {
  RETURN_IF_ERROR(check_usage(args));
  ASSIGN_OR_RETURN(const By by, by_of(args));
  ASSIGN_OR_RETURN(const Method method, chosen_method(args));
  if (args.has("pairs")) return score_pairs(args, method);
  if (args.has("overhead")) return score_overhead(args);
  RowFile all;
  std::vector<SweepCampaign> campaigns;
  for (const std::string& path : args.positionals) {
    ASSIGN_OR_RETURN(const RowFile rows, rows_of(path, method, args.has("sweep") ? &campaigns : nullptr));
    RETURN_IF_ERROR(add_rows(all, rows));
  }
  if (all.rows.empty())
    return input_error("there is nothing to score",
                       "give a campaign's directory, or rows that culprit score --rows wrote");
  if (args.has("rows")) RETURN_IF_ERROR(write_file_atomically(args.get("rows"), format_rows(all)));
  if (args.has("sweep")) {
    ASSIGN_OR_RETURN(const std::vector<SweepRow> sweep,
                     run_sweep(campaigns, *method.detector, method.parameters, progress_lines("tried", "settings")));
    print(args.has("json") ? sweep_json(sweep) : sweep_text(sweep));
    return kExitHealthy;
  }
  print_tables(args, by, all);
  if (args.has("rows"))
    say(cat("next: culprit score ", args.get("rows"), " MORE_ROWS... adds up campaigns of several days"));
  return kExitHealthy;
}

}  // namespace

extern const CommandInfo command_score{
    .name = "score",
    .summary = "how good the diagnosis is: the paper's tables over the runs of campaigns",
    .positionals = {{"CAMPAIGN", "a campaign's directory, or a file of rows that --rows wrote", true, true}},
    .options =
        {
            {.name = "detector",
             .value = "NAME",
             .fallback = "fast10",
             .help = "who diagnoses (culprit list detectors)"},
            {.name = "param",
             .value = "NAME=VALUE",
             .help = "a parameter of the detector, for training and diagnosis alike",
             .repeated = true},
            {.name = "by", .value = "WHAT", .help = "one table only: per fault, workload or cell"},
            {.name = "paper", .help = "put the FAST'10 paper's tables beside ours"},
            {.name = "sweep", .help = "vary one parameter at a time instead, as in the paper's section 11.2"},
            {.name = "pairs", .help = "compare the same runs of two campaigns instead, for example at 1s and at 100ms"},
            {.name = "overhead", .help = "what recording cost instead: the pairs with and without it"},
            {.name = "rows", .value = "FILE", .help = "write one line per run: truth, verdict, evidence"},
            {.name = "json", .help = "the tables as JSON"},
        },
    .text =
        "Trains on the campaign's training set and diagnoses all its other runs; nothing that was\n"
        "trained on is scored. ITP: the faulty server was found; IFP: another was accused; DTP: the\n"
        "right cause was named; DFP: a wrong cause or server. docs/formats/campaign_rows.md.\n"
        "Example:\n"
        "  culprit score monday.campaign tuesday.jsonl --paper\n",
    .run = run,
    .group = Group::diagnose,
};

}  // namespace culprit
