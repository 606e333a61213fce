// The numbers of the presets and why: docs/lab.md.
#include "lab/plan.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <limits>

#include "base/fd.h"
#include "base/procfile.h"
#include "base/text.h"
#include "lab/lab_fs.h"
#include "vdisk/disk_model.h"

namespace culprit {

namespace {

constexpr int kMostServers = 32;
constexpr int kMostClients = 32;
constexpr int64_t kDiskBytes = int64_t{2} << 30;
constexpr int64_t kSmallDisk = int64_t{1} << 30;    // where there is no room for more; the workloads' files fit in
constexpr int64_t kLeastDisk = int64_t{320} << 20;  // xfs takes no less than 300 MB
constexpr int64_t kMostDisk = int64_t{1} << 40;     // sparse, but somebody has to hold the map
constexpr int64_t kDiskRate = 15'000'000;  // bytes/s: a fifth of a Barracuda 7200.10, so that two cores keep up
constexpr int64_t kAllDisks = 75'000'000;  // bytes/s of all disks together that two cores carry
constexpr int64_t kMostLink = int64_t{40} * 1'000'000'000;  // bits/s
constexpr int64_t kLeastLink = 1'000'000;
constexpr double kMostMemory = 0.75;  // of what is available: in /dev/shm the images live in memory

int64_t available_memory() {
  auto text = read_file("/proc/meminfo");
  std::string_view rest = text ? std::string_view(*text) : "";
  for (std::string_view line; next_line(rest, line);) {
    int64_t kilobytes = 0;
    if (next_word(line) == "MemAvailable:" && next_number(line, kilobytes)) return kilobytes * 1024;
  }
  return 0;
}

int64_t usual_disk_bytes(const LabPlan& plan) {
  const int64_t each = room_for_images(plan.images) / std::max(1, plan.servers);
  return std::clamp(each >> 20 << 20, kSmallDisk, kDiskBytes);
}

int64_t preset_disk_rate(int servers) {
  return std::min(kDiskRate, kAllDisks / servers);
}

// A link somewhat faster than the disk behind it, as on the papers' machines.
int64_t preset_server_link(int servers) {
  return preset_disk_rate(servers) * 8 * 4 / 3;
}

// calm: the clients together ask for a quarter of what the disks can stream, which keeps disks that seek between two
// clients' files below two thirds of their time; then no queue collects at one server.
int64_t preset_client_link(const LabPlan& plan) {
  if (plan.preset == "wild") return kUnshaped;
  return preset_disk_rate(plan.servers) * plan.servers * 8 / 4 / std::max(1, plan.clients);
}

Status check_link(int64_t bits, std::string_view option) {
  if (bits == kUnshaped || (bits >= kLeastLink && bits <= kMostLink)) return Ok{};
  return usage_error(cat(option, " is ", bits, " bit/s, which no link here can be"), "from 1Mbit to 40Gbit, or none");
}

Status check_counts(const LabPlan& plan, const LabFs& fs) {
  if (plan.servers < 1 || plan.servers > kMostServers)
    return usage_error(cat("a lab has 1 to ", kMostServers, " servers, not ", plan.servers));
  if (plan.clients < 0 || plan.clients > kMostClients)
    return usage_error(cat("a lab has 0 to ", kMostClients, " clients, not ", plan.clients));
  if (plan.disk_bytes < kLeastDisk || plan.disk_bytes > kMostDisk)
    return usage_error("a disk has 320MiB to 1TiB", "--disk-size 2GiB");
  return fs.check == nullptr ? Status(Ok{}) : fs.check(plan);
}

Status choose(std::string& word, std::string_view what, const std::vector<std::string_view>& known) {
  if (word.empty()) word = known.front();
  if (std::find(known.begin(), known.end(), word) != known.end()) return Ok{};
  return usage_error(cat("there is no ", what, " ", printable(word)),
                     cat("there are: ", join({known.begin(), known.end()}, ", ")));
}

}  // namespace

Status check_lab_name(std::string_view name) {
  bool good = !name.empty() && name.size() <= 12 && std::islower(static_cast<unsigned char>(name[0])) != 0;
  for (char c : name) good = good && ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'));
  if (good) return Ok{};
  return usage_error(cat("a lab cannot be named \"", printable(name), "\""),
                     "a to z and 0 to 9, a letter first, at most 12 characters");
}

Status complete_plan(LabPlan& plan) {
  RETURN_IF_ERROR(check_lab_name(plan.name));
  const LabFs* fs = find_lab_fs(plan.fs);
  if (fs == nullptr) {
    std::vector<std::string> known;
    for (const LabFs* each : lab_filesystems()) known.emplace_back(each->name);
    std::string near = did_you_mean(plan.fs, known);
    return usage_error(cat("a lab cannot run the file system ", printable(plan.fs)),
                       near.empty() ? cat("it can run: ", join(known, ", ")) : cat("did you mean ", near, "?"));
  }
  RETURN_IF_ERROR(choose(plan.layout, cat("layout of ", fs->name), fs->layouts));
  RETURN_IF_ERROR(choose(plan.preset, "preset", {"calm", "wild"}));
  RETURN_IF_ERROR(choose(plan.format, "disk format", {"xfs", "ext4"}));
  if (plan.disk_bytes == 0) plan.disk_bytes = usual_disk_bytes(plan);
  RETURN_IF_ERROR(check_counts(plan, *fs));
  int64_t rate = preset_disk_rate(plan.servers);
  if (plan.disk.empty()) plan.disk = rate == kDiskRate ? "barracuda7200" : cat("rate=", rate, ",seek=4ms");
  RETURN_IF_ERROR(parse_disk_model(plan.disk));
  if (plan.server_link == 0) plan.server_link = preset_server_link(plan.servers);
  if (plan.client_link == 0) plan.client_link = preset_client_link(plan);
  RETURN_IF_ERROR(check_link(plan.server_link, "--link"));
  return check_link(plan.client_link, "--client-link");
}

int64_t room_for_images(const std::string& folder) {
  int64_t room = std::numeric_limits<int64_t>::max();
  if (folder == LabPlan().images) room = static_cast<int64_t>(kMostMemory * static_cast<double>(available_memory()));
  std::filesystem::path there = folder;
  while (!path_exists(there.string()) && there.has_relative_path()) there = there.parent_path();
  struct statvfs info {};
  const bool limited = ::statvfs(there.c_str(), &info) == 0 && info.f_blocks > 0;  // a tmpfs may have no limit
  return limited ? std::min(room, static_cast<int64_t>(info.f_bavail) * static_cast<int64_t>(info.f_frsize)) : room;
}

std::vector<LabNode> plan_nodes(const LabPlan& plan) {
  const LabFs* fs = find_lab_fs(plan.fs);
  std::vector<LabNode> nodes;
  auto add = [&](std::string name, NodeKind kind, int address, std::vector<std::string> roles, bool disk) {
    std::string ns = cat(plan.name, "-", name);
    nodes.push_back({std::move(name), kind, cat("10.77.0.", address), std::move(roles), ns, disk ? ns : ""});
  };
  std::vector<std::string> server_roles = fs->server_roles;
  for (int i = 1; i <= plan.servers; ++i) add(cat("s", i), NodeKind::server, 10 + i, server_roles, true);
  for (int i = 1; i <= plan.clients; ++i) add(cat("c", i), NodeKind::client, 100 + i, {}, false);
  if (!fs->master.empty()) add(std::string(fs->master), NodeKind::other, 201, {"meta", "management"}, false);
  add("x1", NodeKind::other, 202, {}, false);
  return nodes;
}

namespace {

struct PlanField {
  std::string_view name;
  std::string LabPlan::*text;
  int LabPlan::*number;
  int64_t LabPlan::*large;
};

constexpr PlanField kFields[] = {
    {"name", &LabPlan::name, nullptr, nullptr},
    {"fs", &LabPlan::fs, nullptr, nullptr},
    {"servers", nullptr, &LabPlan::servers, nullptr},
    {"clients", nullptr, &LabPlan::clients, nullptr},
    {"layout", &LabPlan::layout, nullptr, nullptr},
    {"preset", &LabPlan::preset, nullptr, nullptr},
    {"format", &LabPlan::format, nullptr, nullptr},
    {"disk", &LabPlan::disk, nullptr, nullptr},
    {"disk_bytes", nullptr, nullptr, &LabPlan::disk_bytes},
    {"server_link", nullptr, nullptr, &LabPlan::server_link},
    {"client_link", nullptr, nullptr, &LabPlan::client_link},
    {"images", &LabPlan::images, nullptr, nullptr},
    {"cluster_file", &LabPlan::cluster_file, nullptr, nullptr},
};

}  // namespace

// One "key value" a line; paths with a newline are refused before they get here.
std::string format_plan(const LabPlan& plan) {
  std::string out;
  for (const PlanField& field : kFields) {
    std::string value =
        field.text ? plan.*field.text : std::to_string(field.number ? int64_t{plan.*field.number} : plan.*field.large);
    out += cat(field.name, " ", value, "\n");
  }
  return out + cat("seed ", plan.seed, "\n");
}

Result<LabPlan> parse_plan(std::string_view text) {
  LabPlan plan;
  for (std::string_view line : split(text, '\n')) {
    size_t blank = line.find(' ');
    if (blank == std::string_view::npos) continue;
    std::string_view key = line.substr(0, blank);
    std::string_view value = line.substr(blank + 1);
    auto number = parse_int(value);
    if (key == "seed" && number) plan.seed = static_cast<uint64_t>(*number);
    for (const PlanField& field : kFields) {
      if (field.name != key) continue;
      if (field.text == nullptr && !number) return input_error(cat("a lab's plan has a bad ", key));
      if (field.text) plan.*field.text = std::string(value);
      if (field.number) plan.*field.number = static_cast<int>(*number);
      if (field.large) plan.*field.large = *number;
    }
  }
  return plan;
}

}  // namespace culprit
