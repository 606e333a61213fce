#include "study/stage.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <numeric>
#include <thread>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "fs/adapter.h"
#include "study/child_words.h"

namespace culprit {

namespace {

constexpr int64_t kPoll = 10 * kNsPerMs;
constexpr size_t kMostOutput = 1 << 20;
constexpr int64_t kQuick = 20 * kNsPerSecond;
constexpr int64_t kFillTime = 600 * kNsPerSecond;
constexpr int64_t kSpreadFile = int64_t{256} << 20;  // half a minute of a calm client's link
constexpr int64_t kPlacedFile = int64_t{48} << 20;   // within one chunk of MooseFS, which lies whole on its servers
constexpr size_t kCandidatesPerServer = 6;
constexpr size_t kManyNodes = 64;     // with up to eight descriptors each
constexpr double kSpreadShare = 0.5;  // of the mean: every server got its share of a file

// Sectors written to the named disks, or to all. A disk may be named by a link: the kernel counts by its own name.
std::string sectors_script(const Node& node) {
  std::string script = "d=' '; ";
  for (const std::string& disk : node.disks)
    script += cat("n=$(readlink -f ", shell_quote(disk.starts_with('/') ? disk : "/dev/" + disk),
                  ") || exit 1; d=\"$d${n##*/} \"; ");
  return cat(script, "sync; awk -v d=\"$d\"",
             " 'd == \" \" || index(d, \" \" $3 \" \") {s += $10} END {print s + 0}' /proc/diskstats");
}

std::string folder_of(const std::string& mount, const Node& client, std::string_view what) {
  return cat(mount, "/culprit-campaign/", client.name, "/", what);
}

}  // namespace

Result<Stage> Stage::open(Cluster cluster, std::string mount, bool direct, std::string tools,
                          std::function<bool()> stop) {
  Stage stage;
  if (cluster.nodes.size() > kManyNodes) allow_many_descriptors();
  stage.cluster_ = std::make_unique<Cluster>(std::move(cluster));
  for (const Node& node : stage.cluster_->nodes) {
    if (node.kind == NodeKind::client) stage.clients_.push_back(&node);
    if (node.kind == NodeKind::server) stage.servers_.push_back(&node);
    if (node.kind == NodeKind::server && does_io(node)) stage.data_servers_.push_back(&node);
    ASSIGN_OR_RETURN(std::shared_ptr<Runner> runner, make_runner(node));
    stage.runners_[node.name] = std::move(runner);
  }
  if (stage.clients_.empty()) return input_error("the cluster has no client", "workloads run on [[client]] nodes");
  if (stage.data_servers_.size() < 3)
    return input_error("the cluster has fewer than three servers that do I/O",
                       "of two nobody can say which one is odd");
  stage.mount_ = std::move(mount);
  stage.direct_ = direct;
  stage.tools_ = std::move(tools);
  stage.stop_ = std::move(stop);
  stage.files_.resize(stage.clients_.size());
  return stage;
}

bool Stage::one_machine() const {
  return std::all_of(runners_.begin(), runners_.end(), [](const auto& row) { return row.second->same_machine(); });
}

std::string Stage::data_folder(size_t client) const {
  return folder_of(mount_, *clients_[client], "data");
}

std::string Stage::scratch_folder(size_t client) const {
  return folder_of(mount_, *clients_[client], "scratch");
}

std::string Stage::node_program(const Node& node) const {
  if (runners_.at(node.name)->same_machine()) return tools_ + "/culprit-node";
  return node.sampler.empty() ? "culprit-node" : node.sampler;
}

std::vector<std::string> Stage::command(const Node& node, const std::string& script) const {
  return runners_.at(node.name)->argv({"sh", "-c", script});
}

Result<std::string> Stage::sh(const Node& node, const std::string& script, int64_t timeout_ns, Stop stop) const {
  ASSIGN_OR_RETURN(Child child, Child::start(command(node, script)));
  child.in = Fd();
  std::string out, err;
  const int64_t limit = monotonic_now_ns() + timeout_ns;
  for (bool running = true; running;) {
    running = child.running();
    read_ends(child.out.get(), out, kMostOutput);
    read_ends(child.err.get(), err, kMostOutput);
    if (!running) break;
    if (stop == Stop::heeded && stop_()) return input_error("it was stopped");
    if (monotonic_now_ns() > limit)
      return system_error(cat("on ", node.name, ": a command took longer than ", format_duration(timeout_ns)),
                          ETIMEDOUT);
    std::this_thread::sleep_for(std::chrono::nanoseconds(kPoll));
  }
  if (child.exit_code() == 0) return out;
  std::string_view said = trim(err.empty() ? out : err);
  return input_error(
      cat("on ", node.name, ": ", said.empty() ? cat("exit code ", child.exit_code()) : printable(said, 300)));
}

Status Stage::sh_all(const std::vector<const Node*>& nodes, const ScriptOf& script, int64_t timeout_ns,
                     Stop stop) const {
  std::vector<Status> results(nodes.size(), Status(Ok{}));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < nodes.size(); ++i) {
    threads.emplace_back([&, i] {
      auto done = sh(*nodes[i], script(*nodes[i], i), timeout_ns, stop);
      if (!done) results[i] = std::move(done).error();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (Status& result : results) RETURN_IF_ERROR(std::move(result));
  return Ok{};
}

Status Stage::check() const {
  std::string mounted = cat("grep -qF ", shell_quote(cat(" ", mount_, " ")), " /proc/mounts && timeout 10 stat -f ",
                            shell_quote(mount_), " >/dev/null");
  Status clients = sh_all(
      clients_, [&](const Node&, size_t) { return mounted; }, kQuick);
  if (!clients)
    return input_error(cat("the file system is not mounted or does not answer: ", clients.error().message()));
  return sh_all(
      servers_, [&](const Node&, size_t) { return std::string("true"); }, kQuick);
}

// A zombie has a name, too.
std::string running_script(const std::vector<std::string>& names) {
  std::string any;
  for (const std::string& name : names)  // some daemons append their main thread's name
    any += cat(any.empty() ? "" : "|", shell_quote(name), "|", shell_quote(name), "/*");
  return cat("for p in /proc/[0-9]*; do\n  { read -r name <$p/comm; } 2>/dev/null || continue\n  case $name in ", any,
             ") grep -q '^State:[^A-Z]*[ZX]' $p/status 2>/dev/null || exit 0 ;; esac\ndone\necho ",
             shell_quote(cat("no ", join(names, " or "), " runs")), " >&2\nexit 1\n");
}

Status Stage::check_daemons(const std::string& except) const {
  return sh_all(
      servers_,
      [&](const Node& node, size_t) {
        const std::vector<std::string> names = daemons_of(*cluster_, node);
        return names.empty() || node.name == except ? std::string("true") : running_script(names);
      },
      kQuick);
}

Status Stage::clean() const {
  return sh_all(
      clients_,
      [&](const Node& node, size_t) {
        return cat("rm -rf ", shell_quote(cat(mount_, "/culprit-campaign/", node.name)), "; rmdir ",
                   shell_quote(cat(mount_, "/culprit-campaign")), " 2>/dev/null; true");
      },
      kFillTime, Stop::ignored);
}

int64_t Stage::file_bytes() const {
  return spread_ ? kSpreadFile : kPlacedFile;
}

Result<std::vector<double>> Stage::written_sectors() const {
  std::vector<double> out(data_servers_.size());
  for (size_t i = 0; i < out.size(); ++i) {
    const Node& server = *data_servers_[i];
    ASSIGN_OR_RETURN(const std::string text, sh(server, sectors_script(server), kQuick));
    auto number = parse_double(trim(text));
    if (!number) return input_error(cat(server.name, " does not tell what its disks wrote"));
    out[i] = *number;
  }
  return out;
}

// A megabyte into a new file: how much of it did each server write?
Result<std::vector<double>> Stage::probe(size_t client, const std::string& file) const {
  ASSIGN_OR_RETURN(std::vector<double> before, written_sectors());
  std::string script = cat("dd if=/dev/urandom of=", shell_quote(file), " bs=1M count=1 conv=fsync status=none");
  ASSIGN_OR_RETURN(const std::string said, sh(*clients_[client], script, kQuick));
  ASSIGN_OR_RETURN(std::vector<double> after, written_sectors());
  for (size_t i = 0; i < after.size(); ++i) after[i] -= before[i];
  return after;
}

std::vector<size_t> most_even(const std::vector<std::vector<double>>& loads, size_t count) {
  std::vector<size_t> chosen;
  std::vector<bool> used(loads.size());
  std::vector<double> total(loads.empty() ? 0 : loads[0].size());
  auto squares_with = [&](const std::vector<double>& load) {
    double sum = 0;
    for (size_t s = 0; s < total.size(); ++s) sum += (total[s] + load[s]) * (total[s] + load[s]);
    return sum;
  };
  while (chosen.size() < std::min(count, loads.size())) {
    size_t best = loads.size();
    for (size_t i = 0; i < loads.size(); ++i)
      if (!used[i] && (best == loads.size() || squares_with(loads[i]) < squares_with(loads[best]))) best = i;
    used[best] = true;
    chosen.push_back(best);
    for (size_t s = 0; s < total.size(); ++s) total[s] += loads[best][s];
  }
  return chosen;
}

Status Stage::choose_files(size_t client) {
  std::string folder = data_folder(client);
  ASSIGN_OR_RETURN(std::vector<double> first, probe(client, folder + "/file0"));
  double mean = std::accumulate(first.begin(), first.end(), 0.0) / static_cast<double>(first.size());
  if (client == 0) spread_ = *std::min_element(first.begin(), first.end()) >= kSpreadShare * mean;  // as for all others
  if (spread_) {
    files_[client] = {folder + "/file0"};
    return Ok{};
  }
  std::vector<std::vector<double>> loads = {std::move(first)};
  for (size_t i = 1; i < kCandidatesPerServer * data_servers_.size(); ++i) {
    ASSIGN_OR_RETURN(std::vector<double> load, probe(client, cat(folder, "/file", i)));
    loads.push_back(std::move(load));
  }
  std::string keep;
  files_[client].clear();
  for (size_t i : most_even(loads, data_servers_.size())) {
    files_[client].push_back(cat(folder, "/file", i));
    keep += cat(" ! -name file", i);
  }
  auto removed = sh(*clients_[client], cat("find ", shell_quote(folder), " -type f", keep, " -delete"), kQuick);
  if (!removed) return std::move(removed).error();
  return Ok{};
}

// Allocated in one piece where the file system can, so that the files lie alike on all servers; then filled once.
Status Stage::fill(size_t client) const {
  std::string script = "set -e\n";
  int64_t megabytes = file_bytes() >> 20;
  for (const std::string& file : files_[client])
    script += cat("fallocate -l ", file_bytes(), " ", shell_quote(file),
                  " 2>/dev/null || true\ndd if=/dev/urandom of=", shell_quote(file),
                  " bs=4M iflag=fullblock conv=notrunc,fsync status=none count=", megabytes / 4,
                  direct_ ? " oflag=direct" : "", "\n");
  auto done = sh(*clients_[client], script, kFillTime);
  if (!done) return std::move(done).error();
  return Ok{};
}

Status Stage::make_files() {
  if (!files_.empty() && !files_[0].empty()) return Ok{};
  RETURN_IF_ERROR(sh_all(
      clients_,
      [&](const Node&, size_t i) {
        std::string folder = shell_quote(data_folder(i));
        return cat("rm -rf ", folder, " && mkdir -p ", folder);
      },
      kFillTime));
  for (size_t i = 0; i < clients_.size(); ++i) RETURN_IF_ERROR(choose_files(i));
  std::vector<Status> results(clients_.size(), Status(Ok{}));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < clients_.size(); ++i) threads.emplace_back([&, i] { results[i] = fill(i); });
  for (std::thread& thread : threads) thread.join();
  for (Status& result : results) RETURN_IF_ERROR(std::move(result));
  return Ok{};
}

}  // namespace culprit
