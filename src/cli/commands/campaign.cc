// culprit campaign: an experiment matrix on real servers, each run kept with its truth.
#include "study/campaign.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/record/signals.h"
#include "lab/lab_fs.h"

namespace culprit {

namespace {

constexpr std::string_view kSeedLine = "# --seed ";

std::string whole_path(const std::string& path) {
  std::error_code failed;
  std::filesystem::path whole = std::filesystem::absolute(path, failed).lexically_normal();
  return (whole.filename().empty() ? whole.parent_path() : whole).string();
}

std::string own_program() {
  std::error_code failed;
  return std::filesystem::read_symlink("/proc/self/exe", failed).string();
}

std::string count(size_t number, std::string_view noun) {
  return cat(number, " ", noun, number == 1 ? "" : "s");
}

// What will be done, before it is done.
std::string overview(const CampaignPlan& plan, const std::vector<Experiment>& experiments) {
  size_t sets[4] = {};
  int64_t all_ns = 0;
  for (const Experiment& it : experiments) {
    ++sets[static_cast<size_t>(it.set)];
    all_ns += estimate_ns(plan, it.set);
  }
  return cat("campaign ", plan.name, ", seed ", plan.seed, ": ", count(sets[0], "training run"), ", ",
             count(sets[1], "scored run"), " (", plan.score_workloads.size(), " workloads x ", plan.faults.size(),
             " faults x ", plan.iterations, "), ", count(sets[2], "control"), ", ", count(sets[3], "timed run"),
             sets[3] == experiments.size() ? "" : cat("; each ", plan.before + plan.during + plan.after, " samples"),
             " at ", format_duration(plan.interval_ns), "; about ",
             format_duration(all_ns / kNsPerSecond * kNsPerSecond), " in all\n");
}

Result<int> dry_run(const CampaignPlan& plan) {
  ASSIGN_OR_RETURN(const std::vector<std::string> servers, campaign_servers(plan));
  const std::vector<Experiment> experiments = plan_experiments(plan, servers);
  print(overview(plan, experiments));
  for (const Experiment& it : experiments) print(cat(it.id, it.victim.empty() ? "" : cat(" on ", it.victim), "\n"));
  return kExitHealthy;
}

// `again`: the words that go on with it.
int report(const CampaignPlan& plan, const std::string& folder, const std::string& again,
           const CampaignOutcome& outcome) {
  print(cat(outcome.kept, " of ", outcome.planned, " runs kept in ", folder, ", ", count(outcome.discarded, "attempt"),
            " discarded\n"));
  if (outcome.stopped) {
    say(cat("next: ", again, "    goes on where it was stopped"));
    if (outcome.given_up == 0) return kExitHealthy;
  }
  const double share = 100.0 * static_cast<double>(outcome.discarded) /
                       static_cast<double>(std::max<size_t>(1, outcome.kept + outcome.discarded));
  if (!outcome.stopped) say(cat("next: culprit score ", folder, outcome.planned == outcome.timed ? " --overhead" : ""));
  if (outcome.given_up == 0 && share <= plan.spoiled.most_discarded) return kExitHealthy;
  print_error(
      input_error(outcome.given_up > 0
                      ? cat("the campaign failed: ", count(outcome.given_up, "experiment"), " never succeeded")
                      : fmt::format("the campaign failed: {:.0f} % of the attempts were discarded, the plan allows "
                                    "{:.0f} %",
                                    share, plan.spoiled.most_discarded),
                  cat(folder, "/journal.jsonl has the reasons; a busy machine is the usual one",
                      outcome.given_up > 0 ? "; started again, it tries them anew" : "")));
  return kExitFailed;
}

// A plan in a campaign's folder ends with the seed that it was begun with, where that was not its own.
std::optional<int64_t> take_seed(std::string& text) {
  const size_t at = text.rfind(kSeedLine);
  if (at == std::string::npos || (at > 0 && text[at - 1] != '\n')) return std::nullopt;
  const std::string_view line = trim(std::string_view(text).substr(at + kSeedLine.size()));
  auto seed = parse_int(line);
  if (!seed || *seed < 0) return std::nullopt;
  text.resize(at);
  return *seed;
}

Result<int> run(const Args& args) {
  const std::string& path = args.positionals[0];
  ASSIGN_OR_RETURN(CampaignPlan plan, read_campaign_plan(path));
  ASSIGN_OR_RETURN(std::string text, read_file(path));
  std::optional<int64_t> seed = take_seed(text);
  if (args.has("seed")) {
    ASSIGN_OR_RETURN(seed, args.integer("seed", 0, INT64_MAX));
  }
  if (seed) {
    plan.seed = static_cast<uint64_t>(*seed);
    text += cat(text.ends_with('\n') ? "" : "\n", kSeedLine, *seed, "\n");  // another seed is another campaign
  }
  if (args.has("dry-run")) return dry_run(plan);
  CampaignOptions options;
  options.culprit = own_program();
  options.folder = whole_path(args.has("out") ? args.get("out") : plan.name + ".campaign");
  options.plan_text = text;
  if (args.has("runs")) {
    ASSIGN_OR_RETURN(const int64_t runs, args.integer("runs", 1, 1'000'000));
    options.most_runs = static_cast<int>(runs);
  }
  if (!plan.on_site()) RETURN_IF_ERROR(can_run_lab(*find_lab_fs(plan.lab.fs), plan.lab.format));
  ASSIGN_OR_RETURN(const std::vector<std::string> servers, campaign_servers(plan));
  say(trim(overview(plan, plan_experiments(plan, servers))));
  StopSignals signals;
  options.stop = [&signals] {
    std::vector<pollfd> none;
    signals.wait(none, 0);
    return signals.asked();
  };
  options.say = [](std::string_view line) { say(line); };
  ASSIGN_OR_RETURN(const CampaignOutcome outcome, run_campaign(plan, options));
  return report(plan, options.folder,
                cat("culprit campaign ", path, seed ? cat(" --seed ", *seed) : "", " --out ", options.folder), outcome);
}

}  // namespace

extern const CommandInfo command_campaign;
const CommandInfo command_campaign{
    .name = "campaign",
    .summary = "workloads x faults x servers on a lab or a site, each run kept with its truth",
    .positionals = {{"PLAN", "a plan: docs/formats/campaign.md"}},
    .options =
        {
            {"out", "DIR", "", "where runs and journal go; without it: the plan's name.campaign here"},
            {"seed", "N", "", "another seed than the plan's: other victims, another order"},
            {"runs", "N", "", "stop after so many runs; started again it goes on"},
            {"dry-run", "", "", "list the runs and the time they take, and do nothing"},
        },
    .text =
        "Killed or stopped, it goes on where it was when it is started again with the same plan and folder;\n"
        "finished runs are not repeated. Ctrl-C takes the fault back and the lab down.\n"
        "\n"
        "  culprit campaign campaigns/fast10.toml --out fast10.campaign\n"
        "  culprit score fast10.campaign\n",
    .run = run,
    .group = Group::diagnose,
};

}  // namespace culprit
