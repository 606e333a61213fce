// culprit syscap: the system calls of the file system's servers and clients into a run, and what is in them.
#include <sys/wait.h>

#include <bit>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "capture/call_sets.h"
#include "capture/node_command.h"
#include "cli/command.h"
#include "cli/syscap/session.h"
#include "cli/syscap/show.h"
#include "cli/syscap/times.h"

namespace culprit {
namespace {

constexpr int64_t kLeastBuffer = 64 << 10;
constexpr int64_t kMostBuffer = int64_t{1} << 30;  // the largest ring the kernel takes: its size has 32 bits
constexpr int64_t kMostKey = 16 << 10;             // in hexadecimal it must fit into a line of 64 KiB (node_command.cc)
constexpr size_t kGoodKey = 16;                    // bytes: the size of the hash's own key

constexpr std::string_view kDiskFull = "disk full";  // as the recorder says why it stopped

// Options that only one of the two ways of use has, so that none is ignored in silence.
constexpr std::string_view kOfCapture[] = {"backend", "cgroup",   "for",   "calls",  "aggregate",
                                           "buffer",  "max-size", "quiet", "cluster"};
constexpr std::string_view kOfShow[] = {"tid",   "call",  "class", "path",   "errno", "longer",
                                        "since", "until", "kind",  "format", "stats", "times"};

template <size_t N>
Status refuse(const Args& args, const std::string_view (&options)[N], std::string_view hint) {
  for (std::string_view option : options)
    if (args.has(option)) return usage_error(cat("--", option, " has no meaning here"), std::string(hint));
  return Ok{};
}

Result<std::vector<pid_t>> pids_of(const Args& args) {
  std::vector<pid_t> pids;
  for (const std::string& text : args.all("pid")) {
    for (std::string_view word : split(text, ',')) {
      auto number = parse_int(trim(word));
      if (!number || *number <= 0 || *number > INT32_MAX)
        return usage_error(cat("--pid takes process numbers, not \"", printable(word), "\""));
      pids.push_back(static_cast<pid_t>(*number));
    }
  }
  return pids;
}

Result<TargetRequest> targets_of(const Args& args) {
  TargetRequest request;
  ASSIGN_OR_RETURN(request.pids, pids_of(args));
  request.cgroup = args.get("cgroup");
  request.command = args.rest;
  request.nodes = args.all("node");
  request.cluster_file = args.get("cluster");
  int ways = (request.pids.empty() ? 0 : 1) + (request.cgroup.empty() ? 0 : 1) + (request.command.empty() ? 0 : 1);
  if (ways > 1) return usage_error("--pid, --cgroup and a command exclude each other", "choose one of them");
  if (ways == 0 && request.nodes.empty() && !args.has("cluster"))
    return usage_error("say what to capture",
                       "a command after --, --pid, --cgroup, --node, or --cluster FILE for all of its nodes");
  if (ways == 1 && request.nodes.empty() && args.has("cluster"))
    return usage_error("say which node of the cluster that is", "add --node NAME, or leave --cluster out");
  return request;
}

Result<std::string> hash_key_of(const Args& args) {
  if (!args.has("hash-paths")) return std::string();
  ASSIGN_OR_RETURN(std::string key, read_file(args.get("hash-paths"), kMostKey));
  while (key.ends_with('\n')) key.pop_back();
  if (key.empty())
    return input_error(cat(args.get("hash-paths"), " is empty"), "make one: head -c 16 /dev/urandom > KEYFILE");
  if (key.size() < kGoodKey) say(cat("note: a key of ", key.size(), " bytes can be guessed; take 16 random ones"));
  return key;
}

Status read_limits(const Args& args, SyscapPlan& plan) {
  ASSIGN_OR_RETURN(plan.buffer_bytes, args.bytes("buffer"));
  if (plan.buffer_bytes < kLeastBuffer || plan.buffer_bytes > kMostBuffer)
    return usage_error(cat("--buffer ", printable(args.get("buffer")), " is out of range"), "from 64KiB to 1GiB");
  plan.buffer_bytes = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(plan.buffer_bytes)));  // rings are
  if (args.has("for")) {
    ASSIGN_OR_RETURN(plan.for_ns, args.duration("for"));
    if (plan.for_ns <= 0) return usage_error("--for 0 captures nothing", "leave it out to capture until Ctrl-C");
  }
  if (args.has("max-size")) {
    ASSIGN_OR_RETURN(plan.max_bytes, args.bytes("max-size"));
    if (plan.max_bytes <= 0) return usage_error("--max-size 0 captures nothing", "write it like 500MB");
  }
  return Ok{};
}

Status choose_backends(const Args& args, SyscapPlan& plan) {
  plan.asked_for = args.get("backend");
  if (plan.targets.here.empty()) {  // others find out what works there
    if (!plan.asked_for.empty()) RETURN_IF_ERROR(find_backend(plan.asked_for));
    return Ok{};
  }
  std::string why;
  ASSIGN_OR_RETURN(const BackendInfo* backend, choose_backend(plan.asked_for, why));
  plan.backend = backend->name;
  if (!why.empty()) say(cat("note: ", plan.backend, " is used, because ebpf cannot be: ", why));
  return Ok{};
}

Result<SyscapPlan> plan_of(const Args& args) {
  SyscapPlan plan;
  if (!args.has("out")) return usage_error("--out RUN is missing: the run to write");
  plan.out = args.get("out");
  ASSIGN_OR_RETURN(TargetRequest request, targets_of(args));
  plan.call_set = args.get("calls");
  ASSIGN_OR_RETURN(plan.calls, parse_call_set(plan.call_set));
  RETURN_IF_ERROR(read_limits(args, plan));
  ASSIGN_OR_RETURN(plan.hash_key, hash_key_of(args));
  plan.sums = args.has("aggregate");
  plan.quiet = args.has("quiet");
  ASSIGN_OR_RETURN(plan.targets, find_targets(request));
  if (!plan.hash_key.empty() && !request.command.empty()) plan.targets.what = {"COMMAND"};  // its words may be paths
  for (const std::string& note : plan.targets.notes) say(cat("note: ", note));
  plan.source = cat("culprit syscap --calls ", plan.call_set, plan.sums ? " --aggregate" : "");
  RETURN_IF_ERROR(choose_backends(args, plan));
  return plan;
}

std::string count(int64_t number, std::string_view noun) {
  return cat(number, " ", noun, number == 1 ? "" : "s");
}

// The shell's way, which is also strace's: the command's own code, 128 and the signal when it was killed.
int command_exit_of(int status) {
  if (status < 0) return kExitHealthy;
  if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
  return WIFEXITED(status) ? WEXITSTATUS(status) : kExitFailed;
}

// A size or a time that the user chose is a normal end; a full disk is not.
int exit_code_of(const SyscapOutcome& outcome) {
  bool failed = !outcome.failure.what.empty() || outcome.stopped == kDiskFull;
  for (const SyscapNode& node : outcome.nodes) failed = failed || !node.failure.what.empty();
  return failed ? kExitFailed : command_exit_of(outcome.command_status);
}

std::string as_text(const SyscapPlan& plan, const SyscapOutcome& outcome) {
  int64_t calls = 0;
  int64_t bytes = 0;
  int64_t seen = 0;
  for (const SyscapNode& node : outcome.nodes) {
    calls += node.calls;
    bytes += node.bytes;
    seen += node.failure.what.empty() || node.bytes > 0 ? 1 : 0;
  }
  std::string text =
      cat("captured ", format_duration(outcome.duration_ns), " of ", count(seen, "node"), ": ",
          count(calls, plan.sums ? "call" : "record"), ", ", outcome.lost, " lost, ", format_bytes(bytes));
  if (outcome.joined) text += cat(", into ", outcome.run_path);
  return cat(text, "\nnext: culprit syscap show ", outcome.run_path, " --stats");
}

std::string as_json(const SyscapOutcome& outcome) {
  using Json = nlohmann::ordered_json;
  Json nodes = Json::array();
  for (const SyscapNode& node : outcome.nodes) {
    nodes.push_back({{"name", node.name},
                     {"backend", node.backend},
                     {"calls", node.calls},
                     {"lost", node.lost},
                     {"bytes", node.bytes},
                     {"notes", node.notes},
                     {"failure", node.failure.what}});
    if (node.fds >= 0) nodes.back()["descriptors"] = node.fds;
    if (node.unseen >= 0) nodes.back()["unseen"] = node.unseen;
  }
  Json out = {{"run", outcome.run_path},    {"joined", outcome.joined},
              {"stopped", outcome.stopped}, {"duration_s", static_cast<double>(outcome.duration_ns) / 1e9},
              {"lost", outcome.lost},       {"nodes", nodes}};
  if (outcome.command_status >= 0) out["command_exit"] = command_exit_of(outcome.command_status);
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int report(const Args& args, const SyscapPlan& plan, const SyscapOutcome& outcome) {
  for (const std::string& note : all_notes(outcome)) say(cat("note: ", note));
  if (!outcome.failure.what.empty()) print_error(outcome.failure);
  if (outcome.stopped == kDiskFull) say("stopped: the disk is full");
  if (outcome.stopped == "size reached") say("stopped: the logs have reached --max-size");
  if (args.has("json")) {
    print(as_json(outcome));
  } else if (plan.targets.command.empty() && plan.targets.far_command.empty()) {
    print(as_text(plan, outcome) + "\n");
  } else {
    say(as_text(plan, outcome));  // stdout is the command's
  }
  return exit_code_of(outcome);
}

Result<int> capture(const Args& args) {
  RETURN_IF_ERROR(refuse(args, kOfShow, "it is for culprit syscap show RUN"));
  ASSIGN_OR_RETURN(SyscapPlan plan, plan_of(args));
  ASSIGN_OR_RETURN(SyscapOutcome outcome, capture_run(plan));
  return report(args, plan, outcome);
}

Result<int> run(const Args& args) {
  if (args.positionals.empty()) return capture(args);
  if (args.positionals[0] != "show")
    return usage_error(cat("nothing is expected at \"", printable(args.positionals[0]), "\""),
                       parse_int(args.positionals[0])
                           ? "several processes are --pid 4711,4712"
                           : "a command to capture goes after --: culprit syscap --out RUN -- COMMAND");
  RETURN_IF_ERROR(refuse(args, kOfCapture, "it is for a capture, not for show"));
  if (args.has("times") && args.positionals.size() > 1) return show_times(args);
  ASSIGN_OR_RETURN(std::string key, hash_key_of(args));
  return show_calls(args, key);
}

}  // namespace

extern const CommandInfo command_syscap;
const CommandInfo command_syscap{
    .name = "syscap",
    .summary = "capture the system calls of servers, clients or a command, and show them",
    .positionals = {{"show", "show what was captured, instead of capturing", false},
                    {"RUN", "for show: a run, or one FILE.sclog of it", false}},
    .options =
        {
            {"out", "RUN", "", "the run to write, or one that is being recorded; show: a file to write"},
            {"cluster", "FILE", "cluster.toml", "the nodes; alone: all servers and clients are captured"},
            {"node", "NODE", "", "only this node; with --pid or a command: whose it is", true},
            {"pid", "PID", "", "this process with its threads and children; show: only its calls", true},
            {"cgroup", "PATH", "", "all processes of this control group"},
            {"backend", "NAME", "", "ebpf or ptrace; without it ebpf where that works"},
            {"calls", "SET", "all", "all, io, file, network, process, or names of calls: pwrite64,fsync"},
            {"aggregate", "", "", "sums and histograms per second instead of single calls"},
            {"for", "TIME", "", "stop after this time; without it: until Ctrl-C or the end of what is captured"},
            {"buffer", "SIZE", "16MiB", "between the kernel and us; more loses less"},
            {"max-size", "SIZE", "", "stop when the logs have this size"},
            {"hash-paths", "KEYFILE", "", "hash the names of files with the key in this file, for sharing"},
            {"quiet", "", "", "no progress; warnings are still shown"},
            {"json", "", "", "the report as JSON; with show --stats: the table"},
            {"stats", "", "", "show: a table per class and call: count, errors, mean, median, p99, maximum"},
            {"times", "", "", "show: CSV: means of dread, dwrite, nsread and ncread per second and server"},
            {"format", "NAME", "", "show: text (default), strace, csv, jsonl or perfetto"},
            {"tid", "TID", "", "show: only these threads", true},
            {"call", "NAME,...", "", "show: only these calls"},
            {"class", "NAME,...", "", "show: only calls on storage, to-client, to-server, fuse or other"},
            {"kind", "NAME,...", "", "show: only records of kind call, signal, exit, aio or uring"},
            {"path", "TEXT", "", "show: only calls on files and sockets whose name has this in it"},
            {"errno", "NAME,...", "", "show: only calls that failed with one of them; any"},
            {"longer", "TIME", "", "show: only calls that took at least this long, or never returned"},
            {"since", "TIME", "", "show: from then on: a time, or +90s after the begin of the capture"},
            {"until", "TIME", "", "show: until then"},
        },
    .text =
        "Ctrl-C ends the capture and lets go of what it was attached to. The exit code after a command is\n"
        "the command's, 128 and the signal's number when it was killed.\n"
        "\n"
        "  culprit syscap --out dd -- dd if=/dev/zero of=/tmp/x count=10\n"
        "  culprit syscap --pid 4711 --for 60s --out brick\n"
        "  culprit syscap --cluster cluster.toml --for 60s --out monday\n"
        "  culprit syscap show monday --node s3 --class storage --errno any\n"
        "docs/syscap.md says more; docs/formats/sclog.md is the format.\n",
    .run = run,
    .group = Group::diagnose,
    .rest = "COMMAND...",
};

}  // namespace culprit
