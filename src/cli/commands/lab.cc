// culprit lab: a real cluster on this machine.
#include "lab/lab.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/record/signals.h"
#include "lab/disks.h"
#include "lab/keep.h"

namespace culprit {
namespace {

std::string whole_path(const std::string& path) {
  std::error_code failed;
  return std::filesystem::absolute(path, failed).lexically_normal().string();
}

Result<int64_t> link_option(const Args& args, std::string_view option) {
  if (!args.has(option)) return int64_t{0};
  if (args.get(option) == "none") return kUnshaped;
  return parse_bits(args.get(option));
}

Result<LabPlan> plan_of(const Args& args) {
  LabPlan plan;
  if (!args.has("fs"))
    return usage_error("which file system?", "culprit lab up --fs glusterfs --servers 5 --clients 2");
  plan.name = args.get("name");
  plan.fs = args.get("fs");
  ASSIGN_OR_RETURN(int64_t servers, args.integer("servers", 1, 1000));
  ASSIGN_OR_RETURN(int64_t clients, args.integer("clients", 0, 1000));
  ASSIGN_OR_RETURN(int64_t seed, args.integer("seed", 0, INT64_MAX));
  plan.servers = static_cast<int>(servers);
  plan.clients = static_cast<int>(clients);
  plan.seed = static_cast<uint64_t>(seed);
  plan.layout = args.get("layout");
  plan.preset = args.get("preset");
  plan.format = args.get("format");
  plan.disk = args.get("disk");
  if (args.has("disk-size")) {
    ASSIGN_OR_RETURN(plan.disk_bytes, args.bytes("disk-size"));
  }
  ASSIGN_OR_RETURN(plan.server_link, link_option(args, "link"));
  ASSIGN_OR_RETURN(plan.client_link, link_option(args, "client-link"));
  if (args.has("images")) plan.images = whole_path(args.get("images"));
  plan.cluster_file = whole_path(args.get("cluster"));
  if ((plan.images + plan.cluster_file).find('\n') != std::string::npos) return usage_error("a path with a line break");
  RETURN_IF_ERROR(complete_plan(plan));
  return plan;
}

std::string link_text(int64_t bits) {
  return bits == kUnshaped ? "unshaped" : cat(bits / 1'000'000, " Mbit/s");
}

Result<int> up(const Args& args) {
  ASSIGN_OR_RETURN(LabPlan plan, plan_of(args));
  Lab lab(plan);
  int64_t start = monotonic_now_ns();
  StopSignals signals;
  auto asked = [&signals] {
    std::vector<pollfd> none;
    signals.wait(none, 0);  // a signal that waits is taken here
    return signals.asked();
  };
  auto say_step = [&](std::string_view text) {
    say(cat("  ", text, " (after ", format_duration(monotonic_now_ns() - start), ")"));
  };
  say(cat("lab ", plan.name, ": ", plan.fs, " (", plan.layout, ", ", plan.preset, "), seed ", plan.seed));
  RETURN_IF_ERROR(lab_up(lab, say_step, asked));
  print(cat("lab ", plan.name, " is up after ", format_duration(monotonic_now_ns() - start), ": ", plan.servers,
            " servers (disk ", plan.disk, ", link ", link_text(plan.server_link), "), ", plan.clients,
            " clients (link ", link_text(plan.client_link), ")\n"));
  std::string other = plan.name == "lab" ? "" : cat(" --name ", plan.name);
  say(cat("next: culprit lab exec c1", other, " -- ls -la /mnt/lab"));
  say(cat("      culprit record --cluster ", args.get("cluster"), " --for 3m --out run1"));
  return kExitHealthy;
}

Result<int> down(const Args& args) {
  std::vector<std::string> names = {args.get("name")};
  if (args.has("all")) names = lab_names();
  for (const std::string& name : names) {
    int64_t start = monotonic_now_ns();
    RETURN_IF_ERROR(lab_down(name, [](std::string_view) {}));
    print(cat("lab ", name, " is down after ", format_duration(monotonic_now_ns() - start), "\n"));
  }
  if (names.empty()) print("no lab is up\n");
  return kExitHealthy;
}

std::string_view kind_name(NodeKind kind) {
  if (kind == NodeKind::server) return "server";
  return kind == NodeKind::client ? "client" : "other";
}

// A node without a disk or a mount has nothing that could be missing.
bool is_well(const LabNodeStatus& status) {
  return status.alive && (status.mounted || status.node->kind == NodeKind::other);
}

Result<int> status(const Args& args) {
  ASSIGN_OR_RETURN(Lab lab, open_lab(args.get("name")));
  std::vector<LabNodeStatus> all = lab_status(lab);
  nlohmann::json nodes = nlohmann::json::array();
  bool disks = lab.servers().empty() || !find_disk_daemons(lab.images_folder()).empty();
  bool well = disks;
  std::string text = cat("lab ", lab.plan().name, ": ", lab.plan().fs, " (", lab.plan().layout, ", ", lab.plan().preset,
                         "), cluster file ", lab.plan().cluster_file, "\n");
  for (const LabNodeStatus& each : all) {
    well = well && is_well(each);
    nodes.push_back({{"name", each.node->name},
                     {"kind", kind_name(each.node->kind)},
                     {"address", each.node->address},
                     {"alive", each.alive},
                     {"mounted", each.mounted},
                     {"device", each.device}});
    std::string state = !each.alive ? "dead" : is_well(each) ? "up" : "not mounted";
    text += cat("  ", each.node->name, std::string(5 - std::min<size_t>(4, each.node->name.size()), ' '), state,
                std::string(13 - state.size(), ' '), each.node->address, each.device.empty() ? "" : "  ", each.device,
                "\n");
  }
  if (!disks) text += "  the disks are dead: culprit-disk has ended\n";
  nlohmann::json whole = {{"name", lab.plan().name},
                          {"fs", lab.plan().fs},
                          {"layout", lab.plan().layout},
                          {"preset", lab.plan().preset},
                          {"well", well},
                          {"disks", disks},
                          {"nodes", nodes},
                          {"cluster", lab.plan().cluster_file},
                          {"seed", lab.plan().seed}};
  print(args.has("json") ? whole.dump(2) + "\n" : text);
  return well ? kExitHealthy : kExitFailed;
}

Result<int> list(const Args& args) {
  nlohmann::json labs = nlohmann::json::array();
  std::string text;
  for (const std::string& name : lab_names()) {
    auto lab = open_lab(name);
    std::string fs = lab ? lab->plan().fs : "broken";
    int servers = lab ? lab->plan().servers : 0;
    int clients = lab ? lab->plan().clients : 0;
    labs.push_back({{"name", name}, {"fs", fs}, {"servers", servers}, {"clients", clients}});
    text += cat(name, "  ", fs, "  ", servers, " servers, ", clients, " clients\n");
  }
  if (text.empty()) say("no lab is up");
  print(args.has("json") ? labs.dump(2) + "\n" : text);
  return kExitHealthy;
}

// Our process becomes the command: its exit code, signals and terminal are its own. It starts in the same folder,
// where the node has it.
Result<int> exec(const Args& args) {
  if (args.positionals.size() != 2 || args.rest.empty())
    return usage_error("say where and what to run", "culprit lab exec c1 -- ls /mnt/lab");
  ASSIGN_OR_RETURN(Lab lab, open_lab(args.get("name")));
  const LabNode* node = lab.find(args.positionals[1]);
  if (node == nullptr) {
    std::vector<std::string> known;
    for (const LabNode& each : lab.nodes()) known.push_back(each.name);
    return unknown_word("node", args.positionals[1], known, cat("the lab has: ", join(known, ", ")));
  }
  std::error_code failed;
  std::vector<std::string> command = {"sh", "-c", "cd \"$0\" 2>/dev/null || cd /; exec \"$@\"",
                                      std::filesystem::current_path(failed).string()};
  command.insert(command.end(), args.rest.begin(), args.rest.end());
  std::vector<std::string> words = enter_command(*node, command);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  return system_error(cat("cannot run ", argv[0]), errno);
}

Result<int> keep(const Args& args) {
  if (args.positionals.size() != 4) return usage_error("keep is started by `culprit lab up`");
  return keep_node(args.positionals[1], args.positionals[2], args.positionals[3]);
}

struct Action {
  std::string_view name;
  Result<int> (*run)(const Args& args);
  size_t words;  // positionals it takes, its own name included
};
constexpr Action kActions[] = {{"up", up, 1},     {"down", down, 1}, {"status", status, 1},
                               {"list", list, 1}, {"exec", exec, 2}, {"keep", keep, 4}};

Result<int> run(const Args& args) {
  const std::string& wanted = args.positionals[0];
  for (const Action& action : kActions) {
    if (action.name != wanted) continue;
    if (args.positionals.size() > action.words)
      return usage_error(cat("`lab ", wanted, "` does not take ", printable(args.positionals[action.words])));
    return action.run(args);
  }
  return unknown_word("action", wanted, {"up", "down", "status", "list", "exec"}, "up, down, status, exec or list");
}

}  // namespace

extern const CommandInfo command_lab;
const CommandInfo command_lab{
    .name = "lab",
    .summary = "a real cluster on this machine: namespaces, disks, links, a real file system",
    .positionals = {{"ACTION", "up, down, status, exec or list"}, {"NODE", "for exec: s1, c1, x1, ...", false, true}},
    .options =
        {{.name = "name", .value = "NAME", .fallback = "lab", .help = "which lab; several can be up at once"},
         {.name = "fs", .value = "NAME", .help = "up: glusterfs, moosefs or directory"},
         {.name = "servers", .value = "N", .fallback = "5", .help = "up: file servers, each with a disk"},
         {.name = "clients", .value = "N", .fallback = "2", .help = "up: nodes that mount the file system"},
         {.name = "layout",
          .value = "L",
          .help = "up: glusterfs disperse (default), distribute, replicate; moosefs goal2 (default), goal1, goal3"},
         {.name = "preset",
          .value = "P",
          .fallback = "calm",
          .help = "up: calm (clients slower than the disks, direct I/O reaches them) or wild (unshaped, buffered)"},
         {.name = "disk",
          .value = "MODEL",
          .help =
              "up: barracuda7200, ssd, none, or rate=15MB,seek=4ms; default: 75 MB/s over all disks, at most 15 each"},
         {.name = "disk-size",
          .value = "SIZE",
          .help = "up: of each server's disk, sparse; default 2GiB, less without room"},
         {.name = "format", .value = "F", .fallback = "xfs", .help = "up: of the disks: xfs or ext4"},
         {.name = "link", .value = "RATE", .help = "up: of a server's link, 160Mbit or none; default: 4/3 of its disk"},
         {.name = "client-link", .value = "RATE", .help = "up: of a client's link; default: the preset's"},
         {.name = "images", .value = "DIR", .help = "up: where the disks' images go; default: /dev/shm, in memory"},
         {.name = "cluster",
          .value = "FILE",
          .fallback = "cluster.toml",
          .help = "up: the cluster file that it writes"},
         {.name = "seed", .value = "N", .fallback = "1", .help = "up: for everything random"},
         {.name = "all", .help = "down: every lab"},
         {.name = "json", .help = "status, list: as JSON"}},
    .text =
        "Servers are s1 s2 ..., clients c1 c2 ..., x1 is a third party on the same network; a MooseFS\n"
        "master is m1."
        " Clients see the file system at /mnt/lab, servers their disk at /mnt/disk.\n"
        "\n"
        "  culprit lab up --fs glusterfs --servers 5 --clients 2\n"
        "  culprit lab exec c1 -- dd if=/dev/zero of=/mnt/lab/file bs=4M count=50 oflag=direct\n"
        "  culprit lab down\n",
    .run = run,
    .group = Group::diagnose,
    .rest = "COMMAND...",
};

}  // namespace culprit
