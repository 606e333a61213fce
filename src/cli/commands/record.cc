// culprit record: OS metrics of this machine, or of every node of a cluster, into a run.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/record/disk_under.h"
#include "cli/record/recorder.h"
#include "cli/record/timing.h"
#include "fs/adapter.h"
#include "sample/block.h"
#include "store/cluster_file.h"

namespace culprit {

namespace {

constexpr size_t kLongestTruth = 4096;
constexpr size_t kMinServers = 3;              // of two nobody can say which one is odd
constexpr double kOwnBytesPerCommit = 25'000;  // measured: a page of the journal per table, and the checkpoints
constexpr double kOwnBytesPerNode = 1'500;     // an estimate: rows once into the journal, once into the database

std::string host_name() {
  char name[256] = "localhost";
  ::gethostname(name, sizeof name - 1);
  return name;
}

Cluster this_machine() {
  Cluster cluster;
  cluster.name = host_name();
  Node node;
  node.name = cluster.name;
  cluster.nodes.push_back(node);
  return cluster;
}

std::string default_name() {
  std::time_t now = std::time(nullptr);
  std::tm tm{};
  localtime_r(&now, &tm);
  char text[64];
  std::strftime(text, sizeof text, "culprit-%Y%m%d-%H%M%S.run", &tm);
  return text;
}

Result<int64_t> interval_of(const Args& args) {
  ASSIGN_OR_RETURN(int64_t interval, args.duration("interval"));
  if (interval >= kMinInterval && interval <= kMaxInterval) return interval;
  return usage_error(cat("--interval ", printable(args.get("interval")), " is out of range"), "from 50ms to 1h");
}

Result<RecordPlan> plan_of(const Args& args) {
  RecordPlan plan;
  if (args.has("cluster")) {
    ASSIGN_OR_RETURN(plan.cluster, read_cluster(args.get("cluster")));
    if (plan.cluster.nodes.empty())
      return input_error(cat(args.get("cluster"), " names no node"), "add at least one [[server]]");
  } else {
    plan.cluster = this_machine();
  }
  ASSIGN_OR_RETURN(plan.interval_ns, interval_of(args));
  if (args.has("for")) {
    ASSIGN_OR_RETURN(plan.for_ns, args.duration("for"));
    if (plan.for_ns <= 0) return usage_error("--for 0 records nothing", "leave it out to record until Ctrl-C");
  }
  if (args.has("max-size")) {
    ASSIGN_OR_RETURN(plan.max_bytes, args.bytes("max-size"));
    if (plan.max_bytes <= 0) return usage_error("--max-size 0 records nothing", "write it like 500MB");
  }
  for (const std::string& word : args.all("truth")) {
    size_t equals = word.find('=');
    if (equals == 0 || equals == std::string::npos || word.size() > kLongestTruth)
      return usage_error(cat("--truth takes NAME=VALUE, not ", printable(word)), "--truth fault=disk_hog");
    plan.truth[word.substr(0, equals)] = word.substr(equals + 1);
  }
  plan.out = args.has("out") ? args.get("out") : default_name();
  plan.quiet = args.has("quiet");
  plan.summary = args.has("summary") || !args.has("cluster");
  plan.command_line = cat("culprit record --interval ", args.get("interval"),
                          args.has("cluster") ? cat(" --cluster ", args.get("cluster")) : "");
  return plan;
}

// The disks below `out` that are watched on a node of this machine: writing the run there is seen in the run.
std::vector<std::string> watched_disks_below(const RecordPlan& plan, const std::vector<Reach>& reaches) {
  std::vector<std::string> below = disks_under("", existing_folder(plan.out));
  std::vector<std::string> watched;
  for (const std::string& disk : below) {
    for (size_t i = 0; i < reaches.size(); ++i) {
      if (reaches[i].kind == ReachKind::ssh || plan.cluster.nodes[i].kind != NodeKind::server) continue;
      const std::vector<std::string>& disks = plan.cluster.nodes[i].disks;
      bool named = std::any_of(disks.begin(), disks.end(),
                               [&](const std::string& name) { return kernel_block_name("", name) == disk; });
      if (!disks.empty() && !named) continue;
      watched.push_back(disk);
      break;
    }
  }
  return watched;
}

void warn_about_own_disk(RecordPlan& plan, const std::vector<Reach>& reaches) {
  std::vector<std::string> watched = watched_disks_below(plan, reaches);
  if (watched.empty()) return;
  double per_tick = kOwnBytesPerCommit + kOwnBytesPerNode * static_cast<double>(plan.cluster.nodes.size());
  double per_second = per_tick * 1e9 / static_cast<double>(plan.interval_ns);
  std::string note =
      cat("the run is written to ", join(watched, " and "), ", which is being recorded: about ",
          format_bytes(static_cast<int64_t>(per_second)), "/s of what is written there is culprit's own");
  say(cat("note: ", note, "\nhint: --out on another disk, or in memory such as /dev/shm, keeps it out of the picture"));
  plan.notes.push_back(note);
}

// Three servers that are all this machine would agree with each other perfectly.
Status refuse_twins(const Cluster& cluster, const std::vector<Reach>& reaches) {
  const std::string* first = nullptr;
  for (size_t i = 0; i < reaches.size(); ++i) {
    if (reaches[i].kind != ReachKind::local) continue;
    if (first)
      return input_error(cat(*first, " and ", cluster.nodes[i].name, " are both this machine (reach is local)"),
                         "say how each node is reached: reach = \"ssh:root@HOST\"");
    first = &cluster.nodes[i].name;
  }
  return Ok{};
}

// Ports and daemons come from the file system's adapter: a misspelt name would quietly record less.
Status check_fs(const Cluster& cluster) {
  if (cluster.fs.empty() || find_fs(cluster.fs)) return Ok{};
  std::vector<std::string> names;
  for (const FsInfo* fs : fs_adapters()) names.emplace_back(fs->name);
  const std::string near = did_you_mean(cluster.fs, names);
  return input_error(cat("there is no file system '", printable(cluster.fs), "'"),
                     near.empty()
                         ? cat("file systems: ", join(names, " "), "; or leave fs out and give data_ports and daemons")
                         : cat("did you mean ", near, "?"));
}

Result<std::vector<Reach>> reaches_of(const Cluster& cluster) {
  std::vector<Reach> reaches;
  for (const Node& node : cluster.nodes) {
    auto reach = parse_reach(node.reach);
    if (!reach) return input_error(cat("node ", node.name, ": ", reach.error().what), reach.error().hint);
    reaches.push_back(*reach);
  }
  return reaches;
}

// The sampler for nodes that are not sampled here and do not have one of their own.
Result<std::shared_ptr<const Program>> program_for(const Cluster& cluster, const std::vector<Reach>& reaches) {
  for (size_t i = 0; i < reaches.size(); ++i) {
    if (reaches[i].kind == ReachKind::local || !cluster.nodes[i].sampler.empty()) continue;
    ASSIGN_OR_RETURN(Program program, find_node_program());
    return std::shared_ptr<const Program>(std::make_shared<Program>(std::move(program)));
  }
  return std::shared_ptr<const Program>();
}

Result<std::vector<std::unique_ptr<Feed>>> feeds_of(const RecordPlan& plan, const std::vector<Reach>& reaches) {
  ASSIGN_OR_RETURN(std::shared_ptr<const Program> program, program_for(plan.cluster, reaches));
  std::vector<std::unique_ptr<Feed>> feeds;
  for (size_t i = 0; i < reaches.size(); ++i) {
    const Node& node = plan.cluster.nodes[i];
    SampleEnv env;
    env.node = node;
    env.data_ports = data_ports_of(plan.cluster);
    env.daemons = daemons_of(plan.cluster, node);
    env.interval_ns = plan.interval_ns;
    if (reaches[i].kind == ReachKind::local) {
      feeds.push_back(make_local_feed(i, std::move(env)));
      continue;
    }
    ASSIGN_OR_RETURN(std::unique_ptr<Runner> runner, make_runner(node));
    feeds.push_back(make_child_feed(i, std::move(env), std::move(runner), program));
  }
  return feeds;
}

std::string count(int64_t number, std::string_view noun) {
  return cat(number, " ", noun, number == 1 ? "" : "s");
}

int report(const RecordOutcome& outcome) {
  if (!outcome.failure.what.empty()) print_error(outcome.failure);
  if (outcome.stopped == "max-size") say("stopped: the run has reached --max-size");
  for (const std::string& line : outcome.summary) print(line + "\n");
  print(cat("recorded ", (outcome.duration_ns + kNsPerSecond / 2) / kNsPerSecond, " s of ",
            count(static_cast<int64_t>(outcome.nodes_seen), "node"), ", ", count(outcome.samples, "sample"), ", ",
            outcome.lost, " lost\n"));
  // Fewer than three servers cannot be compared, but looked at.
  print(cat("next: culprit ", outcome.servers_seen >= kMinServers ? "diagnose " : "export ", outcome.run_path, "\n"));
  return outcome.failure.what.empty() ? kExitHealthy : kExitFailed;
}

Result<int> run(const Args& args) {
  ASSIGN_OR_RETURN(RecordPlan plan, plan_of(args));
  ASSIGN_OR_RETURN(std::vector<Reach> reaches, reaches_of(plan.cluster));
  RETURN_IF_ERROR(refuse_twins(plan.cluster, reaches));
  RETURN_IF_ERROR(check_fs(plan.cluster));
  ASSIGN_OR_RETURN(auto feeds, feeds_of(plan, reaches));
  warn_about_own_disk(plan, reaches);
  ASSIGN_OR_RETURN(RecordOutcome outcome, record_run(plan, std::move(feeds)));
  return report(outcome);
}

}  // namespace

extern const CommandInfo command_record;
const CommandInfo command_record{
    .name = "record",
    .summary = "record OS metrics of this machine, or of every node of a cluster, into a run",
    .options =
        {
            {"cluster", "FILE", "", "the nodes, as cluster.toml names them; without it: this machine"},
            {"interval", "TIME", "1s", "time between samples, 50ms to 1h"},
            {"for", "TIME", "", "stop after this time; without it: record until Ctrl-C"},
            {"out", "RUN", "", "the run to write; without it: culprit-DATE-TIME.run here"},
            {"max-size", "SIZE", "", "stop when the run has this size, for example 2GB"},
            {"truth", "NAME=VALUE", "", "what is known about the run, kept in it for training and scoring", true},
            {"summary", "", "", "show each node's busiest disk and NIC at the end (always for this machine alone)"},
            {"quiet", "", "", "no progress; warnings are still shown"},
        },
    .text =
        "Stop it with Ctrl-C: the run is closed and can be read. A node that is slow, dies or comes back\n"
        "leaves a gap in the run. `culprit mark TEXT` puts a mark into the running recording.\n"
        "\n"
        "  culprit record --for 60s                      this machine for a minute\n"
        "  culprit record --cluster cluster.toml --out monday\n",
    .run = run,
    .group = Group::diagnose,
};

}  // namespace culprit
