// culprit inject: one fault on some nodes for a while, with an undo that cannot be lost.
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/inject/node_link.h"
#include "cli/inject/session.h"
#include "cli/record/registry.h"
#include "hosts/keeper.h"
#include "inject/journal.h"
#include "inject/named_lock.h"
#include "inject/preflight.h"
#include "model/reach.h"
#include "store/cluster_file.h"

namespace culprit {

namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kAskLimit = 120 * kNsPerSecond;  // an undo may restart daemons and check a file system
constexpr int64_t kMostTargets = 10'000;

uint64_t random_number() {
  uint64_t number = 0;
  while (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) {
  }
  return number;
}

Result<FaultParams> params_of(const Args& args) {
  FaultParams params;
  for (const std::string& word : args.all("param")) {
    size_t equals = word.find('=');
    if (equals == 0 || equals == std::string::npos)
      return usage_error(cat("--param ", printable(word), " is not NAME=VALUE"), "for example --param share=0.5");
    if (!params.emplace(word.substr(0, equals), word.substr(equals + 1)).second)
      return usage_error(cat("the parameter ", printable(word.substr(0, equals)), " is given twice"));
  }
  return params;
}

Result<InjectRequest> request_of(const Args& args, const Cluster& cluster) {
  InjectRequest request;
  request.cluster = &cluster;
  request.fault = args.positionals[0];
  const std::string on = args.get("on");  // the words below point into it
  for (std::string_view name : split(on, ',')) {
    if (!trim(name).empty()) request.on.emplace_back(trim(name));
  }
  request.from = args.get("from");
  ASSIGN_OR_RETURN(request.params, params_of(args));
  request.id = hash_name(random_number()).substr(0, 8);
  request.seed = random_number() % 1'000'000;  // short enough to be typed again
  if (args.has("seed")) {
    ASSIGN_OR_RETURN(int64_t seed, args.integer("seed", 0, INT64_MAX));
    request.seed = static_cast<uint64_t>(seed);
  }
  ASSIGN_OR_RETURN(request.duration_ns, args.duration("for"));
  ASSIGN_OR_RETURN(request.lease_ns, args.duration("lease"));
  if (args.has("max-targets")) {
    ASSIGN_OR_RETURN(int64_t most, args.integer("max-targets", 1, kMostTargets));
    request.max_targets = static_cast<int>(most);
  }
  request.owns_cluster = args.has("i-own-this-cluster");
  return request;
}

// Before anything is started: a sentence that says what to do is better than nsenter's.
Status check_reachable(const std::vector<const Node*>& nodes) {
  for (const Node* node : nodes) {
    ASSIGN_OR_RETURN(Reach reach, parse_reach(node->reach));
    if (reach.kind == ReachKind::ssh) continue;
    if (::geteuid() != 0) return system_error(cat("injecting on ", node->name, " needs root"), 0, "run as root");
    if (reach.kind == ReachKind::ns && !find_keeper(reach.ns) && !path_exists("/run/netns/" + reach.ns))
      return system_error(cat("the lab is not up: ", node->name, " has no namespace ", reach.ns), 0,
                          "culprit lab up; `culprit lab list` shows the labs that are");
  }
  return Ok{};
}

Status check_kill_switch() {
  if (!path_exists(stop_file())) return Ok{};
  return input_error(cat("the kill switch is on: ", stop_file(), " exists"), "remove that file to allow faults again");
}

// One name per cluster, wherever its file lies: two files for the same nodes are the same cluster.
std::string lock_path(const Cluster& cluster) {
  std::vector<std::string> places;
  for (const Node& node : cluster.nodes) places.push_back(cat(node.name, " ", node.reach));
  std::sort(places.begin(), places.end());
  return cat(registry_folder(), "/inject-", hash_name(fnv1a64(join(places, "\n"))), ".lock");
}

Result<NamedLock> lock_cluster(const Cluster& cluster, const InjectPlan& plan) {
  if (::mkdir(registry_folder().c_str(), 0700) != 0 && errno != EEXIST)
    return system_error(cat("cannot make ", registry_folder()), errno);
  std::vector<std::string> names;
  for (const Node* node : plan.targets) names.push_back(node->name);
  std::string holder =
      cat("process ", static_cast<int>(::getpid()), " with ", plan.fault->name, " on ", join(names, ", "));
  return NamedLock::take(lock_path(cluster), holder, "somebody is injecting into this cluster", 0);
}

Result<int> inject(const Args& args, const Cluster& cluster) {
  ASSIGN_OR_RETURN(InjectRequest request, request_of(args, cluster));
  ASSIGN_OR_RETURN(InjectPlan plan, plan_injection(request));
  std::vector<const Node*> nodes;
  for (const PlannedPart& part : plan.parts) nodes.push_back(part.node);
  RETURN_IF_ERROR(check_reachable(nodes));
  RETURN_IF_ERROR(check_kill_switch());
  ASSIGN_OR_RETURN(NamedLock lock, lock_cluster(cluster, plan));
  ASSIGN_OR_RETURN(StartLink start, make_start_link());
  return run_session(std::move(plan), start, {.dry_run = args.has("dry-run"), .json = args.has("json")});
}

bool is_left(const JournalReport& journal) {
  return journal.state != "undone" && journal.state != "at-work";
}

std::string journal_text(const Node& node, const JournalReport& journal) {
  std::string when = journal.written_ns > 0 ? cat(", since ", format_time(journal.written_ns)) : "";
  return cat(node.name, ": ", printable(journal.fault), " as ", printable(journal.role), ", id ", printable(journal.id),
             when, ": ", printable(journal.state), " (", printable(journal.detail, 300), ")\n");
}

std::string as_json(const std::vector<NodeJournals>& answers, bool clean) {
  Json rows = Json::array(), silent = Json::array();
  for (const NodeJournals& answer : answers) {
    for (const JournalReport& j : answer.journals) {
      rows.push_back({{"node", answer.node->name},
                      {"fault", j.fault},
                      {"role", j.role},
                      {"id", j.id},
                      {"state", j.state},
                      {"detail", j.detail},
                      {"since_ns", j.written_ns}});
    }
    if (!answer.error.what.empty()) silent.push_back({{"node", answer.node->name}, {"error", answer.error.message()}});
  }
  Json out = {{"clean", clean}, {"journals", rows}, {"unknown", silent}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string as_text(const std::vector<NodeJournals>& answers, bool undo) {
  std::string out;
  size_t heard = 0;
  for (const NodeJournals& answer : answers) {
    heard += answer.error.what.empty() ? 1 : 0;
    for (const JournalReport& journal : answer.journals) out += journal_text(*answer.node, journal);
  }
  if (out.empty()) out = cat("no fault on ", heard, " of ", answers.size(), " nodes\n");
  if (!undo && out.find(": orphaned") != std::string::npos) out += "next: culprit inject --undo-all\n";
  return out;
}

// Status: 0 when nothing is left without a guard. Undo-all: 0 when everything is gone and every node has answered.
Result<int> ask_all(const Args& args, const Cluster& cluster, bool undo) {
  ASSIGN_OR_RETURN(StartLink start, make_start_link());
  std::vector<const Node*> nodes;
  for (const Node& node : cluster.nodes) nodes.push_back(&node);
  auto answers = ask_journals(nodes, start, undo ? "undo-all" : "status", kAskLimit);
  bool clean = true;
  for (const NodeJournals& answer : answers) {
    if (!answer.error.what.empty()) print_error(answer.error);
    clean = clean && answer.error.what.empty();
    clean = clean && std::none_of(answer.journals.begin(), answer.journals.end(), is_left);
  }
  print(args.has("json") ? as_json(answers, clean) : as_text(answers, undo));
  return clean ? kExitHealthy : kExitFailed;
}

Result<int> run(const Args& args) {
  bool undo = args.has("undo-all"), status = args.has("status");
  if (undo + status + (args.positionals.empty() ? 0 : 1) != 1)
    return usage_error("say one of: a fault, --status, --undo-all", "culprit list faults shows the faults");
  if (!undo && !status && !find_fault(args.positionals[0])) {
    InjectRequest none;  // a misspelt fault is said before a missing cluster.toml
    none.fault = args.positionals[0];
    return plan_injection(none).error();
  }
  auto cluster = read_cluster(args.get("cluster"));
  if (!cluster) {
    Error error = cluster.error();
    if (error.errno_value == ENOENT) error.hint = "`culprit lab up` writes one; --cluster names another";
    return error;
  }
  return undo || status ? ask_all(args, *cluster, undo) : inject(args, *cluster);
}

}  // namespace

extern const CommandInfo command_inject;
const CommandInfo command_inject{
    .name = "inject",
    .summary = "break something on a node for a while, and take it back for sure",
    .positionals = {{"FAULT", "one of `culprit list faults`", false}},
    .options =
        {
            {"on", "NODE,NODE", "", "the nodes that are to have it"},
            {"for", "TIME", "60s", "how long, at most 1h"},
            {"param", "NAME=VALUE", "", "how strong, and what else the fault takes", true},
            {"cluster", "FILE", "cluster.toml", "the nodes and how to reach them"},
            {"from", "NODE", "", "the other end of a network hog; without it: the cluster's third party"},
            {"seed", "N", "", "repeat the random choices of an earlier injection"},
            {"max-targets", "N", "", "how many servers and clients may be touched; 4 by default"},
            {"lease", "TIME", "10s", "when controller and guard die, the kernel ends the fault after this time"},
            {"dry-run", "", "", "ask the nodes whether it can be done, and change nothing"},
            {"i-own-this-cluster", "", "", "needed for nodes behind ssh, and for this machine itself"},
            {"status", "", "", "what is at work, and what was left behind"},
            {"undo-all", "", "", "take everything back on all nodes, also what is at work"},
            {"json", "", "", "the answer as JSON"},
        },
    .text =
        "Ctrl-C takes it back at once. When culprit is killed, the guards on the nodes take it back; a file\n"
        "/run/culprit/STOP on a node or here ends every fault and allows no new one.\n"
        "Exit code 0 when it is gone, seen by looking, and everything went as planned; 1 otherwise.\n"
        "\n"
        "  culprit inject disk_hog --on s3 --for 60s\n"
        "  culprit inject receive_pktloss --on s2 --param percent=0.5\n"
        "  culprit inject --undo-all\n",
    .run = run,
    .group = Group::runs,
};

}  // namespace culprit
