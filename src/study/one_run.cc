// The workload, the recorder, the capture and the injector are children; this loop only starts them at the right moment
// and looks whether they live. Whatever happens, it returns when all of them have ended.
#include "study/one_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "store/manifest.h"
#include "study/campaign_folder.h"
#include "study/child_words.h"
#include "study/node_logs.h"

namespace culprit {

namespace {

constexpr int64_t kSettle = 3 * kNsPerSecond;  // connections open, windows grow, files are created
constexpr int64_t kSlack = 30 * kNsPerSecond;  // past its time before a command counts as stuck
constexpr int64_t kPoll = 5 * kNsPerMs;        // also how exactly a piece of work is timed
constexpr int64_t kAway = 10 * kNsPerSecond;   // how long a server is away before it is healed
constexpr int64_t kLongestWork = 600 * kNsPerSecond;
constexpr int64_t kCaptureMargin = 2 * kNsPerSecond;  // a capture takes a moment to begin, and must end before the run
constexpr int64_t kStopGrace = 2 * kNsPerSecond;      // for a workload that is told to end
constexpr size_t kMostOutput = 1 << 20;
constexpr size_t kMostSaid = 16'000;  // bytes of what all workloads said: a journal's line has a limit

// A child with what it said.
struct Task {
  std::string name;
  Child child;
  std::string out, err;
  std::string node;  // of a workload

  bool running() {
    const bool lives = child.running();  // first: what it said last is read, too
    listen();
    return lives;
  }
  void listen() {
    read_ends(child.out.get(), out, kMostOutput);
    read_ends(child.err.get(), err, kMostOutput);
  }
  std::string complaint() const {
    std::string_view said = trim(err.empty() ? out : err);
    size_t line = said.rfind('\n');
    if (line != std::string_view::npos) said = said.substr(line + 1);
    return cat(name, " ended with exit code ", child.exit_code(), said.empty() ? "" : ": ", printable(said, 200));
  }
};

Result<Task> start_task(std::string name, const std::vector<std::string>& argv) {
  ASSIGN_OR_RETURN(Child child, Child::start(argv));
  return Task{std::move(name), std::move(child), "", "", ""};
}

// A script that ends when its stdin does, which closes with the connection, also behind ssh; and after `seconds` at the
// latest. Everything is in one process group, ours.
std::string bounded(const std::string& script, int64_t seconds) {
  return cat("exec 3<&0 </dev/null\n( while read -r x; do :; done; kill 0 ) <&3 >/dev/null 2>&1 & e=$!\n( sleep ",
             seconds, " & s=$!; trap \"kill $s; exit 0\" TERM; wait $s; kill 0 ) 3<&- & w=$!\n( ", script,
             "\n) 3<&-\nc=$?\nkill $w $e 2>/dev/null\nexit $c\n");
}

std::string in_ns(int64_t ns) {
  return cat(ns, "ns");
}

class OneRun {
 public:
  OneRun(const RunSetup& setup, const Experiment& experiment)
      : setup_(setup), it_(experiment), logs_(*setup.stage, setup.plan->logs) {
    attempt_.experiment = experiment;
    attempt_.interval_ns = setup.plan->interval_ns;
    attempt_.run = cat("runs/", experiment.id, ".run");
  }
  Result<RunResult> carry_out();

 private:
  // All return false when the attempt has failed; attempt_.reason says why.
  bool fail(std::string reason) {
    attempt_.reason = std::move(reason);
    return false;
  }
  bool fail(const Error& error) { return fail(error.message()); }
  bool ready();
  bool start_loads(int64_t seconds);
  bool loads_run();
  bool timed_run();
  bool fixed_run();
  bool start_recording(int64_t for_ns);
  bool finish_recording(int64_t time_ns);
  bool start_capture(int64_t end_ns);
  bool captures();
  bool finish_capture(int64_t time_ns);
  bool inject(const std::string& fault, int64_t for_ns);
  bool wait_until(int64_t time_ns);
  bool wait_for(Task& task, int64_t time_ns, bool loads_matter);
  void note_injection(const std::string& json);
  void note_capture(const std::string& json);
  void note_cost();
  void end_loads();
  bool may_break() const { return setup_.plan->loads_may_end && it_.set == RunSet::score && it_.fault != "none"; }
  std::string machine_reason();

  std::string run_path() const { return setup_.campaign + "/" + attempt_.run; }
  std::string client_script(size_t client, int64_t seconds) const;

  const RunSetup& setup_;
  const Experiment& it_;
  Attempt attempt_;
  std::vector<Task> loads_;
  bool loads_may_end_ = false;  // the fault is, or was, in force
  Task recording_;
  Task capture_;
  NodeLogs logs_;
  Error fatal_;  // its `what` is empty as long as the campaign can go on
};

bool OneRun::ready() {
  for (const std::string& old : {run_path(), run_path() + ".partial"}) {
    std::error_code ignored;
    std::filesystem::remove_all(old, ignored);
  }
  Status empty = setup_.stage->sh_all(
      setup_.stage->clients(),
      [&](const Node&, size_t i) {
        std::string folder = shell_quote(setup_.stage->scratch_folder(i));
        return cat("rm -rf ", folder, " && mkdir -p ", folder);
      },
      kLongestWork);
  if (!empty) return fail(empty.error());
  if (setup_.plan->logs.empty()) return true;
  Status begun = logs_.begin();
  return begun ? true : fail(begun.error());
}

std::string OneRun::client_script(size_t client, int64_t seconds) const {
  auto own = setup_.plan->own.find(it_.workload);
  if (own == setup_.plan->own.end()) return (*find_workload(it_.workload))->script(*setup_.stage, client, seconds);
  return cat("FOLDER=", shell_quote(setup_.stage->scratch_folder(client)), "; CLIENT=", client + 1,
             "; DATA=", shell_quote(setup_.stage->data_folder(client)), "; SECONDS_LEFT=", seconds,
             "; export FOLDER CLIENT DATA SECONDS_LEFT; cd \"$FOLDER\" || exit 1\n", own->second.run);
}

bool OneRun::start_loads(int64_t seconds) {
  const Stage& stage = *setup_.stage;
  const int64_t limit = seconds == 0 ? kLongestWork / kNsPerSecond : seconds + kSlack / kNsPerSecond;
  auto start = [&](const Node& node, const std::string& script) {
    auto task = start_task(cat("the workload on ", node.name), stage.command(node, bounded(script, limit)));
    if (!task) return fail(task.error());
    task->node = node.name;
    loads_.push_back(std::move(*task));
    return true;
  };
  for (size_t i = 0; i < stage.clients().size(); ++i)
    if (!start(*stage.clients()[i], client_script(i, seconds))) return false;
  auto known = find_workload(it_.workload);
  if (!known || (*known)->server_script == nullptr || seconds == 0) return true;
  for (const Node* server : stage.servers()) {
    const std::string script = (*known)->server_script(stage, *server);
    if (!script.empty() && !start(*server, script)) return false;
  }
  return true;
}

// A workload that is over before the recording is would make the rest of the run idle, unless the fault is meant to do
// that.
bool OneRun::loads_run() {
  for (Task& load : loads_)
    if (!load.running() && !loads_may_end_) return fail(cat(load.complaint(), ", before the recording did"));
  return true;
}

void OneRun::end_loads() {
  size_t room = kMostSaid;
  for (Task& load : loads_) {
    load.child.stop(kStopGrace);
    load.listen();
    std::string said = first_and_last(load.out, load.err);
    if (said.empty() || said.size() > room) continue;
    room -= said.size();
    attempt_.said[load.node] = std::move(said);
  }
  loads_.clear();
}

bool OneRun::wait_until(int64_t time_ns) {
  while (monotonic_now_ns() < time_ns) {
    if (setup_.stop()) return fail("it was stopped");
    if (!loads_run()) return false;
    std::this_thread::sleep_for(std::chrono::nanoseconds(kPoll));
  }
  return true;
}

bool OneRun::wait_for(Task& task, int64_t time_ns, bool loads_matter) {
  while (task.running()) {
    for (Task& load : loads_) load.listen();
    if (setup_.stop()) return fail("it was stopped");
    if (loads_matter && !loads_run()) return false;
    if (monotonic_now_ns() > time_ns) return fail(cat(task.name, " did not end in time"));
    std::this_thread::sleep_for(std::chrono::nanoseconds(kPoll));
  }
  return true;
}

void OneRun::note_injection(const std::string& text) {
  const nlohmann::json said = nlohmann::json::parse(text, nullptr, false);
  if (!said.is_object()) return;
  attempt_.begun_ns = said.value("begun_ns", int64_t{0});
  attempt_.on_ns = said.value("on_ns", int64_t{0});
  attempt_.off_ns = said.value("off_ns", int64_t{0});
  if (!said.contains("cost") || !said["cost"].is_array() || said["cost"].empty()) return;
  attempt_.measured["before_mb"] = std::round(said["cost"][0].value("before_bytes_per_s", 0.0) / 1e4) / 100;
  attempt_.measured["during_mb"] = std::round(said["cost"][0].value("during_bytes_per_s", 0.0) / 1e4) / 100;
}

// Blocks until the fault is gone. When it may not be gone, the campaign ends: whatever follows would be worthless.
bool OneRun::inject(const std::string& fault, int64_t for_ns) {
  Experiment what = it_;
  if (fault != it_.fault) what.params.clear();
  what.fault = fault;
  auto task = start_task(cat("inject ", fault), inject_words(setup_, what, for_ns));
  if (!task) return fail(task.error());
  if (fault == it_.fault) loads_may_end_ = may_break();
  const bool ended = wait_for(*task, monotonic_now_ns() + for_ns + kSlack, true);
  task->child.stop(kSlack);  // asked to stop it takes the fault back
  read_available(task->child.out.get(), task->out, kMostOutput);
  if (fault == it_.fault) note_injection(task->out);
  const bool good = task->child.exit_code() == 0 || (loads_may_end_ && only_faded(task->out));
  if (ended && good) return true;
  if (ended) fail(task->complaint());
  auto undone = run_command({setup_.culprit, "inject", "--undo-all", "--cluster", setup_.cluster_file}, 4 * kSlack);
  if (!undone || undone->exit_code != 0)
    fatal_ = input_error(cat(fault, " on ", it_.victim, " could not be taken back: ", attempt_.reason),
                         "culprit inject --status, and culprit inject --undo-all");
  return false;
}

bool OneRun::start_recording(int64_t for_ns) {
  std::vector<std::string> words = {
      setup_.culprit, "record",   "--cluster", setup_.cluster_file, "--interval", in_ns(setup_.plan->interval_ns),
      "--out",        run_path(), "--quiet"};
  if (for_ns > 0) words.insert(words.end(), {"--for", in_ns(for_ns)});
  const std::pair<std::string_view, std::string> truth[] = {{"set", std::string(name_of(it_.set))},
                                                            {"workload", it_.workload},
                                                            {"fault", it_.fault},
                                                            {"server", it_.victim},
                                                            {"seed", std::to_string(it_.seed)},
                                                            {"id", it_.id}};
  for (const auto& [name, value] : truth) words.insert(words.end(), {"--truth", cat(name, "=", value)});
  auto task = start_task("record", words);
  if (!task) return fail(task.error());
  recording_ = std::move(*task);
  const int64_t limit = monotonic_now_ns() + kSlack;
  while (!path_exists(run_path() + ".partial") && !path_exists(run_path())) {
    if (!recording_.running()) return fail(recording_.complaint());
    if (monotonic_now_ns() > limit) return fail("record does not begin");
    std::this_thread::sleep_for(std::chrono::nanoseconds(kPoll));
  }
  return true;
}

bool OneRun::finish_recording(int64_t time_ns) {
  if (!wait_for(recording_, time_ns, true)) return false;
  return recording_.child.exit_code() == 0 ? true : fail(recording_.complaint());
}

// It joins the run that is being recorded, so the recorder must have it: the manifest is written under its lock.
bool OneRun::start_capture(int64_t end_ns) {
  const int64_t limit = monotonic_now_ns() + kSlack;
  while (!path_exists(run_path() + ".partial/manifest.json")) {
    if (!recording_.running()) return fail(recording_.complaint());
    if (monotonic_now_ns() > limit) return fail("record does not begin");
    std::this_thread::sleep_for(std::chrono::nanoseconds(kPoll));
  }
  const int64_t for_ns = std::max(end_ns - monotonic_now_ns() - kCaptureMargin, kNsPerSecond);
  std::vector<std::string> words = {setup_.culprit, "syscap",      "--cluster", setup_.cluster_file,
                                    "--out",        run_path(),    "--backend", setup_.plan->backend,
                                    "--for",        in_ns(for_ns), "--quiet",   "--json"};
  if (!setup_.plan->calls.empty()) words.insert(words.end(), {"--calls", setup_.plan->calls});
  auto task = start_task("syscap", words);
  if (!task) return fail(task.error());
  capture_ = std::move(*task);
  return true;
}

// A fault that nobody watches is worth nothing.
bool OneRun::captures() {
  if (!capture_.running()) return fail(capture_.complaint());
  const std::string log = cat(run_path(), ".partial/syscalls/", it_.victim, ".sclog");
  return path_exists(log) ? true : fail("syscap had not begun when the fault was due");
}

bool OneRun::finish_capture(int64_t time_ns) {
  if (!wait_for(capture_, time_ns, true)) return false;
  note_capture(capture_.out);
  return capture_.child.exit_code() == 0 ? true : fail(capture_.complaint());
}

void OneRun::note_capture(const std::string& text) {
  const nlohmann::json said = nlohmann::json::parse(text, nullptr, false);
  if (!said.is_object() || !said.contains("nodes")) return;
  double calls = 0, bytes = 0;
  for (const nlohmann::json& node : said["nodes"]) {
    calls += node.value("calls", 0.0);
    bytes += node.value("bytes", 0.0);
  }
  attempt_.measured["calls"] = calls;
  attempt_.measured["calls_lost"] = said.value("lost", 0.0);
  attempt_.measured["calls_mb"] = std::round(bytes / 1e4) / 100;
}

bool OneRun::timed_run() {
  const CampaignPlan& plan = *setup_.plan;
  auto known = find_workload(it_.workload);
  const std::string disturbed_by(known ? (*known)->disturbed_by : "");
  const int64_t away = disturbed_by.empty() ? 0 : kAway + kSettle;
  // The first sample lies on a multiple of the interval, so the recording may end one interval later.
  const int64_t longest = plan.run_ns() + plan.interval_ns;
  if (!start_loads((away + 2 * kSettle + longest) / kNsPerSecond + 3)) return false;
  if (!wait_until(monotonic_now_ns() + kSettle)) return false;
  if (away > 0 && !inject(disturbed_by, kAway)) return false;
  if (!start_recording(plan.run_ns())) return false;
  const int64_t begin = monotonic_now_ns();
  if (plan.syscalls && !start_capture(begin + plan.run_ns())) return false;
  if (it_.fault != "none") {
    if (!wait_until(begin + plan.before * plan.interval_ns)) return false;
    if (plan.syscalls && !captures()) return false;
    if (!inject(it_.fault, plan.during * plan.interval_ns)) return false;
  }
  const int64_t limit = begin + longest + kSlack;
  return (!plan.syscalls || finish_capture(limit)) && finish_recording(limit);
}

// A piece of work of fixed size: how long does it take with, and how long without a recorder?
bool OneRun::fixed_run() {
  if (it_.recorded && !start_recording(0)) return false;
  if (!wait_until(monotonic_now_ns() + kSettle / 2)) return false;
  const int64_t begin = monotonic_now_ns();
  if (!start_loads(0)) return false;
  for (Task& load : loads_) {
    if (!wait_for(load, begin + kLongestWork, false)) return false;
    if (load.child.exit_code() != 0) return fail(load.complaint());
  }
  attempt_.measured["seconds"] = static_cast<double>((monotonic_now_ns() - begin) / kNsPerMs) / 1e3;
  loads_.clear();
  if (!it_.recorded) return true;
  ::kill(recording_.child.pid(), SIGTERM);  // a job in the background may ignore SIGINT
  if (!finish_recording(monotonic_now_ns() + kSlack)) return false;
  note_cost();
  return true;
}

// What the recorder took, as the run itself says.
void OneRun::note_cost() {
  auto manifest = read_manifest(run_path());
  if (!manifest) return;
  const double seconds = static_cast<double>(manifest->end_ns - manifest->start_ns) / 1e9;
  double samplers = 0;
  for (const NodeReport& node : manifest->nodes) {
    auto cpu = node.environment.find("sampler_cpu_ms");
    if (cpu != node.environment.end()) samplers += parse_double(cpu->second).value_or(0);
  }
  double bytes = 0;
  std::error_code failed;
  for (const auto& file : std::filesystem::directory_iterator(run_path(), failed))
    if (file.is_regular_file(failed)) bytes += static_cast<double>(file.file_size(failed));
  const double nodes = static_cast<double>(std::max<size_t>(1, manifest->nodes.size()));
  attempt_.measured["recorder_cpu_percent"] = 100 * manifest->own_cpu_seconds / seconds;
  attempt_.measured["node_cpu_percent"] = samplers / 10 / seconds / nodes;
  attempt_.measured["bytes_per_node_second"] = bytes / seconds / nodes;
}

// Why the run must not count although it was carried out; "": it counts. What the fault broke is no reason, as the next
// run begins with a look at it; but the other servers must be there.
std::string OneRun::machine_reason() {
  const bool lab = !setup_.plan->on_site();
  Status well = may_break() ? Status(Ok{}) : setup_.stage->check();
  if (well && lab) well = setup_.stage->check_daemons(may_break() ? it_.victim : "");
  if (!well) return well.error().message();
  if (!it_.recorded) return "";
  auto reason = spoiled_reason(setup_.plan->spoiled, run_path(), attempt_);
  return reason ? *reason : reason.error().message();
}

Result<RunResult> OneRun::carry_out() {
  attempt_.begin_ns = wall_now_ns();
  const bool good = ready() && (it_.set == RunSet::overhead ? fixed_run() : timed_run());
  end_loads();
  capture_.child.stop(kSlack);
  recording_.child.stop(kSlack);
  attempt_.end_ns = wall_now_ns();
  if (setup_.stop() && fatal_.what.empty()) return input_error("it was stopped");
  attempt_.outcome = Outcome::failed;
  if (!good) return RunResult{attempt_, fatal_};
  if (!setup_.plan->logs.empty() && it_.recorded) {
    if (Status kept = logs_.keep(run_path()); !kept) {
      fail(kept.error());
      return RunResult{attempt_, fatal_};
    }
  }
  attempt_.reason = machine_reason();
  attempt_.outcome = attempt_.reason.empty() ? Outcome::kept : Outcome::spoiled;
  return RunResult{attempt_, fatal_};
}

}  // namespace

std::vector<std::string> inject_words(const RunSetup& setup, const Experiment& it, int64_t for_ns) {
  const size_t participants = 2 + setup.stage->clients().size();
  std::vector<std::string> words = {setup.culprit, "inject", it.fault, "--on", it.victim};
  words.insert(words.end(), {"--for", in_ns(for_ns), "--cluster", setup.cluster_file});
  words.insert(words.end(), {"--seed", std::to_string(it.seed), "--json"});
  if (participants > 4) words.insert(words.end(), {"--max-targets", std::to_string(participants)});
  if (setup.plan->owns_cluster) words.emplace_back("--i-own-this-cluster");
  if (!setup.plan->from.empty()) words.insert(words.end(), {"--from", setup.plan->from});
  for (const auto& [name, value] : it.params) words.insert(words.end(), {"--param", cat(name, "=", value)});
  return words;
}

Result<RunResult> carry_out(const RunSetup& setup, const Experiment& experiment) {
  return OneRun(setup, experiment).carry_out();
}

}  // namespace culprit
