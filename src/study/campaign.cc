#include "study/campaign.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "base/clock.h"
#include "base/fd.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "base/units.h"
#include "lab/lab.h"
#include "store/cluster_file.h"
#include "study/campaign_folder.h"
#include "study/child_words.h"
#include "study/one_run.h"
#include "vdisk/client.h"
#include "vdisk/disk_model.h"

namespace culprit {

namespace {

constexpr int kMostAttempts = 3;
constexpr int64_t kPerRun = 10 * kNsPerSecond;     // mounting, settling, stopping
constexpr int64_t kDryRun = 60 * kNsPerSecond;     // an injector that only looks
constexpr int64_t kFixedWork = 10 * kNsPerSecond;  // a piece of work in a lab of ours

struct Pace {  // of this start: also what a run needs before and after
  int64_t took_ns = 0;
  int64_t attempts = 0;
};

class Campaign {
 public:
  Campaign(const CampaignPlan& plan, const CampaignOptions& options) : plan_(plan), options_(options) {}
  Result<CampaignOutcome> run();

 private:
  Status open_folder(const std::vector<std::string>& servers);
  Status lock_folder();
  Status set_up();  // a new stage, files included; whatever was there before is taken down
  enum class LabFound { none, ours, another };
  LabFound find_lab() const;
  Status lab_up_anew();
  Status open_stage();
  Status make_uneven(const Lab& lab);
  Status check_program(const Workload& workload) const;
  Status check_faults();
  Status prepare_workloads();
  Status prepare_own(const OwnWorkload& own) const;
  Status take_down();
  Status begin_anew();  // clients as after a reboot
  Status make_ready();
  void set_aside(Attempt& attempt) const;
  std::string mark() const { return options_.folder + "/up"; }  // there is something to take down
  std::string cluster_file() const { return plan_.on_site() ? plan_.site_cluster : options_.folder + "/cluster.toml"; }
  RunSetup run_setup() const {
    return {&plan_, &*stage_, options_.culprit, cluster_file(), options_.folder, options_.stop};
  }
  Result<bool> do_first(std::span<const Experiment> rest);
  Status run_all(const std::vector<Experiment>& experiments);
  std::vector<std::string> workloads() const;
  void count(const Attempt& attempt);
  int64_t left_ns(std::span<const Experiment> rest) const;
  void report(const Attempt& attempt, int64_t left_ns);

  const CampaignPlan& plan_;
  const CampaignOptions& options_;
  Fd lock_;
  std::optional<Lab> lab_;
  std::optional<Stage> stage_;
  std::map<std::string, int> attempts_;  // by id
  std::set<std::string> kept_;
  std::map<RunSet, Pace> paces_;
  bool faults_checked_ = false;
  bool fault_left_ = false;  // it could not be taken back: that is said, also when the campaign was to stop
  CampaignOutcome outcome_;
};

// Two campaigns in one folder would each take the other's lab down.
Status Campaign::lock_folder() {
  const std::string path = options_.folder + "/lock";
  lock_ = Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock_.valid()) return system_error(cat("cannot open ", path), errno);
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0)
    return input_error(cat(options_.folder, " is being worked on by another culprit campaign"));
  return Ok{};
}

// Writes it at the first start; at a later one it must be the same.
Status same_as_before(const std::string& path, const std::string& text, Error another) {
  if (!path_exists(path)) return write_file_atomically(path, text);
  ASSIGN_OR_RETURN(const std::string before, read_file(path));
  if (before != text) return another;
  return Ok{};
}

Status Campaign::open_folder(const std::vector<std::string>& servers) {
  std::error_code failed;
  std::filesystem::create_directories(options_.folder + "/runs", failed);
  if (failed) return system_error(cat("cannot make ", options_.folder), failed.value());
  RETURN_IF_ERROR(lock_folder());
  RETURN_IF_ERROR(same_as_before(options_.folder + "/plan.toml", options_.plan_text,
                                 input_error(cat(options_.folder, " was begun with another plan"),
                                             "give it another --out, or the plan it was begun with")));
  if (plan_.on_site())  // other servers would be other victims
    RETURN_IF_ERROR(same_as_before(
        options_.folder + "/servers", join(servers, "\n") + "\n",
        input_error(
            cat("the servers of ", plan_.site_cluster, " are not those that ", options_.folder, " was begun with"),
            cat("give it another --out; they were: ", options_.folder, "/servers"))));
  if (!path_exists(options_.folder + "/journal.jsonl")) return Ok{};
  ASSIGN_OR_RETURN(const std::vector<Attempt> done, read_journal(options_.folder));
  for (const Attempt& attempt : done) count(attempt);
  return Ok{};
}

void Campaign::count(const Attempt& attempt) {
  ++attempts_[attempt.experiment.id];
  if (attempt.outcome == Outcome::kept)
    kept_.insert(attempt.experiment.id);
  else
    ++outcome_.discarded;
}

Status Campaign::make_uneven(const Lab& lab) {
  if (plan_.slower.empty()) return Ok{};
  ASSIGN_OR_RETURN(DiskClient disks, DiskClient::connect(lab.socket_path()));
  for (const auto& [server, factor] : plan_.slower) {
    ASSIGN_OR_RETURN(DiskModel model, parse_disk_model(lab.plan().disk));
    model.rate = static_cast<int64_t>(static_cast<double>(model.rate) / factor);
    model.seek_ns = static_cast<int64_t>(static_cast<double>(model.seek_ns) * factor);
    if (auto done = disks.ask(cat("model ", lab.find(server)->disk, " ", format_disk_model(model))); !done)
      return std::move(done).error();
  }
  return Ok{};
}

// One that an earlier start left behind is ours, also half-way up; another one is not to be touched.
Campaign::LabFound Campaign::find_lab() const {
  const std::vector<std::string> there = lab_names();
  if (std::find(there.begin(), there.end(), plan_.lab.name) == there.end()) return LabFound::none;
  auto old = open_lab(plan_.lab.name);
  return old && old->plan().cluster_file != cluster_file() ? LabFound::another : LabFound::ours;
}

Status Campaign::lab_up_anew() {
  const LabFound found = find_lab();
  if (found == LabFound::another)
    return input_error(cat("a lab named ", plan_.lab.name, " is up that does not belong to this campaign"),
                       cat("culprit lab down --name ", plan_.lab.name, ", or another name in [lab]"));
  RETURN_IF_ERROR(write_file_atomically(mark(), "a lab is up, or was when the campaign was killed\n"));
  if (found == LabFound::ours) RETURN_IF_ERROR(lab_down(plan_.lab.name, [](std::string_view) {}));
  LabPlan lab_plan = plan_.lab;
  lab_plan.cluster_file = options_.folder + "/cluster.toml";
  lab_plan.seed = plan_.seed;
  lab_.emplace(lab_plan);
  RETURN_IF_ERROR(lab_up(
      *lab_, [](std::string_view) {}, options_.stop));
  return make_uneven(*lab_);
}

std::vector<std::string> Campaign::workloads() const {
  std::vector<std::string> all;
  for (const auto* list :
       {&plan_.train_workloads, &plan_.score_workloads, &plan_.control_workloads, &plan_.overhead_workloads})
    for (const std::string& name : *list)
      if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(name);
  return all;
}

Status Campaign::check_program(const Workload& workload) const {
  if (workload.program.empty()) return Ok{};
  const bool ours = workload.program == kNodeProgram;
  Status there = stage_->sh_all(
      stage_->clients(),
      [&](const Node& client, size_t) {
        return cat("command -v ", ours ? shell_quote(stage_->node_program(client)) : std::string(workload.program));
      },
      20 * kNsPerSecond);
  if (there) return Ok{};
  return unsupported_error(
      cat(workload.name, " needs ", workload.program, " on the clients: ", there.error().message()),
      ours ? "put it into the PATH there, or name its place: sampler = \"PATH\" in cluster.toml"
           : cat("apt install ", workload.package));
}

// Our workloads' files first: the folder is emptied for them.
Status Campaign::prepare_workloads() {
  for (const std::string& name : workloads()) {
    if (plan_.own.count(name)) continue;
    ASSIGN_OR_RETURN(const Workload* workload, find_workload(name));
    RETURN_IF_ERROR(check_program(*workload));
    if (workload->prepare != nullptr) RETURN_IF_ERROR(workload->prepare(*stage_));
    if (workload->check != nullptr) RETURN_IF_ERROR(workload->check(*stage_));
  }
  for (const std::string& name : workloads()) {
    auto own = plan_.own.find(name);
    if (own != plan_.own.end() && !own->second.prepare.empty()) RETURN_IF_ERROR(prepare_own(own->second));
  }
  return Ok{};
}

Status Campaign::prepare_own(const OwnWorkload& own) const {
  return stage_->sh_all(
      stage_->clients(),
      [&](const Node&, size_t i) {
        std::string folder = shell_quote(stage_->data_folder(i));
        return cat("mkdir -p ", folder, "; FOLDER=", folder, "; DATA=", folder, "; CLIENT=", i + 1,
                   "; export FOLDER DATA CLIENT; cd ", folder, " || exit 1\n", own.prepare);
      },
      600 * kNsPerSecond);
}

// What an injector would refuse, it refuses now, and not three times in each cell.
Status Campaign::check_faults() {
  ASSIGN_OR_RETURN(const std::vector<std::string> servers, campaign_servers(plan_));
  for (const PlannedFault& fault : plan_.faults) {
    if (fault.name == "none" || faults_checked_) continue;
    Experiment it;
    it.fault = fault.name;
    it.params = fault.params;
    it.victim = servers.front();
    std::vector<std::string> words = inject_words(run_setup(), it, plan_.during * plan_.interval_ns);
    words.emplace_back("--dry-run");
    ASSIGN_OR_RETURN(const Output said, run_command(words, kDryRun));
    if (said.exit_code == 0) continue;
    const ErrorWords error = first_error(said.err);
    return input_error(cat("the plan's fault ", fault.label, " cannot be injected here: ", error.what), error.hint);
  }
  faults_checked_ = true;
  return Ok{};
}

Status Campaign::set_up() {
  if (!plan_.on_site()) {
    options_.say(cat("lab ", plan_.lab.name, ": ", plan_.lab.fs, " (", plan_.lab.layout, ", ", plan_.lab.preset, "), ",
                     plan_.lab.servers, " servers, ", plan_.lab.clients, " clients"));
    RETURN_IF_ERROR(lab_up_anew());
  }
  RETURN_IF_ERROR(open_stage());
  RETURN_IF_ERROR(stage_->check());
  if (plan_.on_site()) RETURN_IF_ERROR(write_file_atomically(mark(), "the clients' files are on the file system\n"));
  options_.say("making the workloads' files");
  RETURN_IF_ERROR(prepare_workloads());
  return check_faults();  // last: a fault may need files to damage
}

Status Campaign::open_stage() {
  ASSIGN_OR_RETURN(Cluster cluster, read_cluster(cluster_file()));
  std::string tools = std::filesystem::path(options_.culprit).parent_path().string();
  ASSIGN_OR_RETURN(Stage stage, Stage::open(std::move(cluster), plan_.mount, plan_.direct, tools, options_.stop));
  stage_.emplace(std::move(stage));
  return Ok{};
}

// Also what an earlier start left behind: the mark goes with the last of it.
Status Campaign::take_down() {
  if (!path_exists(mark())) return Ok{};
  if (plan_.on_site()) {
    if (!stage_) RETURN_IF_ERROR(open_stage());
    RETURN_IF_ERROR(stage_->clean());
  } else {
    stage_.reset();
    lab_.reset();
    if (find_lab() == LabFound::ours) RETURN_IF_ERROR(lab_down(plan_.lab.name, [](std::string_view) {}));
  }
  if (::unlink(mark().c_str()) != 0) return system_error(cat("cannot remove ", mark()), errno);
  return Ok{};
}

// On a site nobody may unmount: there the caches and windows are as they are. Daemons are looked for twice: first,
// because healing waits in vain for one that is down, and last, because a brick that failed its own health check ends
// half a minute later.
Status Campaign::begin_anew() {
  if (lab_) {
    RETURN_IF_ERROR(stage_->check_daemons());
    RETURN_IF_ERROR(lab_settle(*lab_));
    RETURN_IF_ERROR(lab_remount(*lab_));
    RETURN_IF_ERROR(stage_->check_daemons());
  }
  return stage_->check();
}

// By the time that runs of the same set took so far: a piece of work takes as long as it takes.
int64_t Campaign::left_ns(std::span<const Experiment> rest) const {
  int64_t left = 0;
  for (const Experiment& it : rest) {
    if (kept_.count(it.id)) continue;
    const auto pace = paces_.find(it.set);
    left += pace == paces_.end() ? estimate_ns(plan_, it.set) : pace->second.took_ns / pace->second.attempts;
  }
  return left;
}

void Campaign::report(const Attempt& attempt, int64_t left) {
  const Experiment& it = attempt.experiment;
  options_.say(cat("[", kept_.size(), "/", outcome_.planned, "] ", it.id,
                   it.victim.empty() ? "" : cat(" on ", it.victim), ": ", name_of(attempt.outcome),
                   attempt.reason.empty() ? "" : cat(" (", attempt.reason, ")"),
                   left > 0 ? cat("; about ", format_duration(left / kNsPerSecond * kNsPerSecond), " left") : ""));
}

// A lab that is not well is made anew, once; a site is left alone.
Status Campaign::make_ready() {
  Status fresh = begin_anew();
  if (fresh || plan_.on_site() || options_.stop()) return fresh;
  options_.say(cat("the lab is not well (", fresh.error().message(), "): it is made anew"));
  RETURN_IF_ERROR(take_down());
  return set_up();
}

// What does not count stays to be looked at, under another name.
void Campaign::set_aside(Attempt& attempt) const {
  const std::string from = options_.folder + "/" + attempt.run;
  if (attempt.outcome == Outcome::kept || !path_exists(from)) return;
  const std::string aside = cat("runs/", attempt.experiment.id, "-discarded-", attempt.number, ".run");
  std::error_code failed;
  std::filesystem::remove_all(options_.folder + "/" + aside, failed);  // of an attempt that never got into the journal
  std::filesystem::rename(from, options_.folder + "/" + aside, failed);
  if (!failed) attempt.run = aside;
}

// False when it was given up: until the campaign is started again.
Result<bool> Campaign::do_first(std::span<const Experiment> rest) {
  const Experiment& experiment = rest.front();
  for (int tries = 0; tries < kMostAttempts; ++tries) {
    const int64_t begin = monotonic_now_ns();
    RETURN_IF_ERROR(make_ready());
    ASSIGN_OR_RETURN(RunResult result, carry_out(run_setup(), experiment));
    Attempt& attempt = result.attempt;
    attempt.number = attempts_[experiment.id] + 1;
    set_aside(attempt);
    RETURN_IF_ERROR(append_attempt(options_.folder, attempt));
    count(attempt);
    Pace& pace = paces_[experiment.set];
    pace.took_ns += monotonic_now_ns() - begin;
    ++pace.attempts;
    report(attempt, left_ns(rest));
    fault_left_ = !result.fatal.what.empty();
    if (fault_left_) return std::move(result.fatal);
    if (attempt.outcome == Outcome::kept) return true;
  }
  return false;
}

Status Campaign::run_all(const std::vector<Experiment>& experiments) {
  int done = 0;
  for (size_t i = 0; i < experiments.size(); ++i) {
    if (kept_.count(experiments[i].id)) continue;
    if (options_.stop() || (options_.most_runs > 0 && done == options_.most_runs)) {
      outcome_.stopped = true;
      break;
    }
    Status ready = stage_ ? Status(Ok{}) : set_up();
    Result<bool> good = ready ? do_first(std::span(experiments).subspan(i)) : Result<bool>(std::move(ready).error());
    if (!good && options_.stop() && !fault_left_) {
      outcome_.stopped = true;
      break;
    }
    if (!good) return std::move(good).error();
    if (!*good) ++outcome_.given_up;
    ++done;
  }
  return Ok{};
}

Result<CampaignOutcome> Campaign::run() {
  ASSIGN_OR_RETURN(const std::vector<std::string> servers, campaign_servers(plan_));
  RETURN_IF_ERROR(open_folder(servers));
  std::vector<Experiment> experiments = plan_experiments(plan_, servers);
  // What failed before comes last: it must not keep the others waiting.
  std::stable_partition(experiments.begin(), experiments.end(),
                        [&](const Experiment& it) { return attempts_.count(it.id) == 0; });
  outcome_.planned = experiments.size();
  for (const Experiment& it : experiments) outcome_.timed += it.set == RunSet::overhead;
  Status ran = run_all(experiments);
  Status down = take_down();
  if (!ran) {
    if (down) return std::move(ran).error();
    Error both = std::move(ran).error();
    both.what = cat(both.what, "; and the clean-up failed: ", down.error().message());
    return both;
  }
  if (!down) return std::move(down).error();
  outcome_.kept = kept_.size();
  return outcome_;
}

}  // namespace

Result<std::vector<std::string>> campaign_servers(const CampaignPlan& plan) {
  std::vector<std::string> servers;
  if (plan.on_site()) {
    ASSIGN_OR_RETURN(const Cluster cluster, read_cluster(plan.site_cluster));
    for (const Node& node : cluster.nodes)
      if (node.kind == NodeKind::server && does_io(node)) servers.push_back(node.name);
  } else {
    for (const LabNode& node : plan_nodes(plan.lab))
      if (node.kind == NodeKind::server) servers.push_back(node.name);
  }
  if (servers.empty()) return input_error(cat(plan.site_cluster, " names no server that does I/O"));
  return servers;
}

int64_t estimate_ns(const CampaignPlan& plan, RunSet set) {
  return (set == RunSet::overhead ? kFixedWork : plan.run_ns()) + kPerRun;
}

Result<CampaignOutcome> run_campaign(const CampaignPlan& plan, const CampaignOptions& options) {
  return Campaign(plan, options).run();
}

}  // namespace culprit
