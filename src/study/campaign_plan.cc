// PLAN.toml -> CampaignPlan. Every key is known, as in cluster.toml: a misspelt one must not quietly change what a
// campaign does.
#include "study/campaign_plan.h"

#include <algorithm>
#include <functional>
#include <random>
#include <set>

#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "inject/fault.h"
#include "lab/lab_fs.h"
#include "store/toml_value.h"
#include "study/campaign_folder.h"
#include "study/workload.h"

namespace culprit {

namespace {

constexpr int kMostRuns = 1000;  // of one kind
constexpr int kMostSamples = 100'000;
constexpr int64_t kLeastInterval = 50 * kNsPerMs;  // as `record` has it
constexpr int64_t kMostInterval = 3600 * kNsPerSecond;
constexpr int64_t kLongestTimed = 5 * kNsPerSecond;     // between samples, when a piece of work is timed
constexpr int64_t kShortestCapture = 5 * kNsPerSecond;  // it begins after and ends before the recording
constexpr double kMostSlower = 100;

using Kind = TomlValue::Kind;
using Reader = std::function<Status(const TomlValue& value)>;

// One table of the file: its keys and who reads them.
class TableReader {
 public:
  TableReader(std::string file, std::string table) : file_(std::move(file)), table_(std::move(table)) {}

  void key(std::string_view name, Reader reader) { readers_.emplace_back(name, std::move(reader)); }
  void text(std::string_view name, std::string& out) {
    key(name, [this, name, &out](const TomlValue& value) -> Status {
      if (value.kind != Kind::text) return at(value, cat("'", name, "' must be a text"));
      if (value.text.find_first_of("\n\r") != std::string::npos)
        return at(value, cat("'", name, "' holds a line break"));
      out = value.text;
      return Ok{};
    });
  }
  void script(std::string_view name, std::string& out) {
    key(name, [this, name, &out](const TomlValue& value) -> Status {
      if (value.kind != Kind::text || value.text.empty()) return at(value, cat("'", name, "' must be a shell script"));
      out = value.text;
      return Ok{};
    });
  }
  void truth(std::string_view name, bool& out) {
    key(name, [this, name, &out](const TomlValue& value) -> Status {
      if (value.kind != Kind::boolean) return at(value, cat("'", name, "' must be true or false"));
      out = value.boolean;
      return Ok{};
    });
  }
  void integer(std::string_view name, int low, int high, int& out) {
    key(name, [this, name, low, high, &out](const TomlValue& value) -> Status {
      if (value.kind != Kind::integer || value.integer < low || value.integer > high)
        return at(value, cat("'", name, "' must be a whole number from ", low, " to ", high));
      out = static_cast<int>(value.integer);
      return Ok{};
    });
  }
  void percent(std::string_view name, double& out) {
    key(name, [this, name, &out](const TomlValue& value) -> Status {
      bool number = value.kind == Kind::integer || value.kind == Kind::number;
      if (!number || !(value.number >= 0 && value.number <= 100))
        return at(value, cat("'", name, "' must be a number from 0 to 100"));
      out = value.number;
      return Ok{};
    });
  }
  void workloads(std::string_view name, std::vector<std::string>& out) {
    key(name, [this, name, &out](const TomlValue& value) -> Status {
      if (value.kind != Kind::list) return at(value, cat("'", name, "' must be a list of names"));
      for (const TomlValue& item : value.list) {
        if (item.kind != Kind::text) return at(item, cat("'", name, "' must be a list of names"));
        if (std::find(out.begin(), out.end(), item.text) != out.end())
          return at(item, cat(printable(item.text), " is named twice"));
        out.push_back(item.text);
      }
      return Ok{};
    });
  }

  Status read(const TomlValue& table) const {
    if (table.kind != Kind::table) return at(table, cat("'", table_, "' must be a table: [", table_, "]"));
    for (const auto& [name, value] : table.table) {
      auto reader = std::find_if(readers_.begin(), readers_.end(),
                                 [&wanted = name](const auto& row) { return row.first == wanted; });
      if (reader == readers_.end()) return unknown(name, value);
      RETURN_IF_ERROR(reader->second(value));
    }
    return Ok{};
  }
  Error at(const TomlValue& value, std::string_view what, std::string hint = "") const {
    return input_error(cat(file_, ", line ", value.line, ": ", what), std::move(hint));
  }

 private:
  Error unknown(const std::string& name, const TomlValue& value) const {
    std::vector<std::string> known;
    for (const auto& row : readers_) known.push_back(row.first);
    std::string near = did_you_mean(name, known);
    return at(value, cat("there is no key '", printable(name), "'", table_.empty() ? "" : cat(" in [", table_, "]")),
              near.empty() ? cat("known are ", join(known, ", ")) : cat("did you mean '", near, "'?"));
  }

  std::string file_, table_;
  std::vector<std::pair<std::string, Reader>> readers_;
};

std::string scalar_text(const TomlValue& value) {
  if (value.kind == Kind::text) return value.text;
  if (value.kind == Kind::integer) return std::to_string(value.integer);
  if (value.kind == Kind::boolean) return value.boolean ? "1" : "0";
  std::string text = std::to_string(value.number);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

Reader duration_reader(const TableReader& reader, int64_t& out) {
  return [&](const TomlValue& value) -> Status {
    auto parsed = value.kind == Kind::text ? parse_duration(value.text) : Result<int64_t>(usage_error(""));
    if (!parsed || *parsed < kLeastInterval || *parsed > kMostInterval)
      return reader.at(value, "'interval' must be a time from 50ms to 1h", "write it like interval = \"100ms\"");
    out = *parsed;
    return Ok{};
  };
}

// "disk_hog", or { fault = "disk_hog", share = 0.3 }.
Result<PlannedFault> read_fault(const TableReader& reader, const TomlValue& value) {
  PlannedFault out;
  if (value.kind == Kind::text) out.name = value.text;
  if (value.kind == Kind::table) {
    for (const auto& [key, item] : value.table) {
      if (item.kind == Kind::list || item.kind == Kind::table || item.kind == Kind::other)
        return reader.at(item, cat("a fault's '", printable(key), "' must be a text or a number"));
      (key == "fault" ? out.name : out.params[key]) = scalar_text(item);
    }
  }
  const FaultInfo* info = find_fault(out.name);
  if (info == nullptr) {
    std::vector<std::string> known;
    for (const FaultInfo* fault : inject_faults()) known.emplace_back(fault->name);
    std::string near = did_you_mean(out.name, known);
    return reader.at(value, cat("there is no fault ", printable(out.name)),
                     near.empty() ? "culprit list faults" : cat("did you mean ", near, "?"));
  }
  out.label = out.name;
  for (const auto& [key, text] : out.params) {
    bool known = std::any_of(info->params.begin(), info->params.end(),
                             [&wanted = key](const FaultParam& p) { return p.name == wanted; });
    if (!known) return reader.at(value, cat(out.name, " has no parameter ", printable(key)), "culprit list faults");
    out.label += cat("-", text);
  }
  for (char& c : out.label)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.') c = '-';
  return out;
}

Reader fault_reader(const TableReader& reader, std::vector<PlannedFault>& out) {
  return [&](const TomlValue& value) -> Status {
    if (value.kind != Kind::list) return reader.at(value, "'faults' must be a list");
    for (const TomlValue& item : value.list) {
      ASSIGN_OR_RETURN(PlannedFault fault, read_fault(reader, item));
      if (std::any_of(out.begin(), out.end(), [&](const PlannedFault& other) { return other.label == fault.label; }))
        return reader.at(item, cat(fault.label, " is named twice"));
      out.push_back(std::move(fault));
    }
    return Ok{};
  };
}

Reader slower_reader(const TableReader& reader, std::map<std::string, double>& out) {
  return [&](const TomlValue& value) -> Status {
    if (value.kind != Kind::table) return reader.at(value, "'slower' must be like { s2 = 1.25 }");
    for (const auto& [server, factor] : value.table) {
      if (!(factor.number >= 1 && factor.number <= kMostSlower))
        return reader.at(factor, cat("'slower' of ", printable(server), " must be a number from 1 to 100"));
      out[server] = factor.number;
    }
    return Ok{};
  };
}

Reader size_reader(const TableReader& reader, std::string_view name, Result<int64_t> (*parse)(std::string_view),
                   int64_t& out) {
  return [&reader, name, parse, &out](const TomlValue& value) -> Status {
    if (value.kind == Kind::text && value.text == "none") {
      out = kUnshaped;
      return Ok{};
    }
    auto parsed = value.kind == Kind::text ? parse(value.text) : Result<int64_t>(usage_error("it must be a text"));
    if (!parsed) return reader.at(value, cat("'", name, "': ", parsed.error().what), parsed.error().hint);
    out = *parsed;
    return Ok{};
  };
}

Status read_lab(const std::string& file, const TomlValue& value, CampaignPlan& plan) {
  TableReader lab(file, "lab");
  lab.text("name", plan.lab.name);
  lab.text("fs", plan.lab.fs);
  lab.text("layout", plan.lab.layout);
  lab.integer("servers", 1, 1000, plan.lab.servers);
  lab.integer("clients", 1, 1000, plan.lab.clients);
  lab.text("preset", plan.lab.preset);
  lab.text("format", plan.lab.format);
  lab.text("disk", plan.lab.disk);
  lab.text("images", plan.lab.images);
  lab.key("disk_size", size_reader(lab, "disk_size", parse_bytes, plan.lab.disk_bytes));
  lab.key("link", size_reader(lab, "link", parse_bits, plan.lab.server_link));
  lab.key("client_link", size_reader(lab, "client_link", parse_bits, plan.lab.client_link));
  lab.key("slower", slower_reader(lab, plan.slower));
  RETURN_IF_ERROR(lab.read(value));
  if (plan.lab.fs.empty()) return lab.at(value, "which file system?", "write fs = \"glusterfs\"");
  if (Status known = complete_plan(plan.lab); !known) return lab.at(value, known.error().what, known.error().hint);
  if (find_lab_fs(plan.lab.fs)->mount_type.empty())
    return lab.at(value, cat(plan.lab.fs, " is no file system that clients share"), "write fs = \"glusterfs\"");
  plan.direct = plan.lab.preset == "calm";
  for (const auto& [server, factor] : plan.slower) {
    const std::vector<LabNode> nodes = plan_nodes(plan.lab);
    bool there = std::any_of(nodes.begin(), nodes.end(),
                             [&name = server](const LabNode& node) { return node.name == name && !node.disk.empty(); });
    if (!there) return lab.at(value, cat("'slower' names ", printable(server), ", which is no server of the lab"));
  }
  return Ok{};
}

Status read_site(const std::string& file, const TomlValue& value, CampaignPlan& plan) {
  TableReader site(file, "site");
  site.text("cluster", plan.site_cluster);
  site.text("mount", plan.mount);
  site.truth("direct", plan.direct);
  site.truth("i_own_this_cluster", plan.owns_cluster);
  site.text("from", plan.from);
  RETURN_IF_ERROR(site.read(value));
  if (plan.site_cluster.empty()) return site.at(value, "which cluster?", "write cluster = \"cluster.toml\"");
  while (plan.mount.size() > 1 && plan.mount.back() == '/') plan.mount.pop_back();  // as /proc/mounts has it
  return Ok{};
}

// A table for each part of the plan; what stays 0 is not done.
Status read_parts(const std::string& file, const TomlValue& top, CampaignPlan& plan) {
  TableReader samples(file, "samples"), train(file, "train"), score(file, "score"), control(file, "control"),
      overhead(file, "overhead"), spoiled(file, "spoiled");
  samples.key("interval", duration_reader(samples, plan.interval_ns));
  samples.integer("before", 1, kMostSamples, plan.before);
  samples.integer("during", 1, kMostSamples, plan.during);
  samples.integer("after", 0, kMostSamples, plan.after);
  samples.truth("syscalls", plan.syscalls);
  samples.text("backend", plan.backend);
  samples.text("calls", plan.calls);
  samples.text("logs", plan.logs);
  train.workloads("workloads", plan.train_workloads);
  train.integer("runs", 1, kMostRuns, plan.train_runs);
  score.workloads("workloads", plan.score_workloads);
  score.key("faults", fault_reader(score, plan.faults));
  score.integer("iterations", 1, kMostRuns, plan.iterations);
  score.truth("loads_may_end", plan.loads_may_end);
  control.workloads("workloads", plan.control_workloads);
  control.integer("runs", 1, kMostRuns, plan.control_runs);
  overhead.workloads("workloads", plan.overhead_workloads);
  overhead.integer("pairs", 1, kMostRuns, plan.overhead_pairs);
  spoiled.percent("idle_percent", plan.spoiled.idle_percent);
  spoiled.percent("idle_seconds", plan.spoiled.idle_seconds);
  spoiled.percent("steal_percent", plan.spoiled.steal_percent);
  spoiled.percent("lost_percent", plan.spoiled.lost_percent);
  spoiled.percent("most_discarded", plan.spoiled.most_discarded);
  const std::pair<std::string_view, const TableReader*> parts[] = {{"samples", &samples},   {"train", &train},
                                                                   {"score", &score},       {"control", &control},
                                                                   {"overhead", &overhead}, {"spoiled", &spoiled}};
  for (const auto& [name, reader] : parts)
    if (const TomlValue* value = top.find(name)) RETURN_IF_ERROR(reader->read(*value));
  return Ok{};
}

Status check_samples(const std::string& file, const CampaignPlan& plan) {
  if (!plan.calls.empty() && !plan.syscalls)
    return input_error(cat(file, ": 'calls' says which system calls, but none are captured"), "add syscalls = true");
  if (plan.syscalls && plan.run_ns() < kShortestCapture)
    return input_error(cat(file, ": a run of ", format_duration(plan.run_ns()), " is too short for system calls"),
                       "make before, during and after 5s or more together");
  if (plan.overhead_pairs > 0 && plan.interval_ns > kLongestTimed)
    return input_error(
        cat(file, ": [overhead] at an interval of ", format_duration(plan.interval_ns),
            " would be over before there are samples"),
        cat("a piece of work takes some ten seconds: give an interval of at most ", format_duration(kLongestTimed)));
  if (!plan.logs.empty() && plan.logs[0] != '/')
    return input_error(cat(file, ": 'logs' must be a folder of the nodes"), "write it like \"/var/log/glusterfs\"");
  return Ok{};
}

Status read_own(const std::string& file, const TomlValue& value, CampaignPlan& plan) {
  for (const auto& [name, table] : value.table) {
    TableReader reader(file, cat("workload.", name));
    if (!check_lab_name(name) || find_workload(name))
      return reader.at(table, cat("a workload of your own cannot be named ", printable(name)),
                       "a to z and 0 to 9, at most 12, and no name of `culprit list workloads`");
    OwnWorkload own;
    reader.script("prepare", own.prepare);
    reader.script("run", own.run);
    RETURN_IF_ERROR(reader.read(table));
    if (own.run.empty()) return reader.at(table, "what does it run?", "write run = \"...\", a shell script");
    plan.own[name] = own;
  }
  return Ok{};
}

// Whether clients can go on writing while one server is away.
bool survives_loss(const LabPlan& lab) {
  const LabFs* fs = find_lab_fs(lab.fs);
  return std::find(fs->fragile.begin(), fs->fragile.end(), lab.layout) == fs->fragile.end();
}

Status check_workloads(const std::string& file, const CampaignPlan& plan) {
  const std::vector<std::string>* lists[] = {&plan.train_workloads, &plan.score_workloads, &plan.control_workloads,
                                             &plan.overhead_workloads};
  for (const auto* list : lists) {
    for (const std::string& name : *list) {
      if (plan.own.count(name)) continue;
      auto known = find_workload(name);
      if (!known) return input_error(cat(file, ": ", known.error().what), known.error().hint);
      if (!(*known)->disturbed_by.empty() && !plan.on_site() && !survives_loss(plan.lab))
        return input_error(cat(file, ": ", name, " takes a server away, and ", plan.lab.layout, " cannot do without"),
                           "it needs a layout that keeps data more than once, such as disperse or goal2");
    }
  }
  struct Half {
    std::string_view table, count;
    bool workloads, number;
  };
  const Half halves[] = {{"train", "runs", !plan.train_workloads.empty(), plan.train_runs > 0},
                         {"score", "iterations", !plan.score_workloads.empty(), plan.iterations > 0},
                         {"control", "runs", !plan.control_workloads.empty(), plan.control_runs > 0},
                         {"overhead", "pairs", !plan.overhead_workloads.empty(), plan.overhead_pairs > 0}};
  for (const Half& it : halves)
    if (it.workloads != it.number)
      return input_error(cat(file, ": [", it.table, "] has no '", it.workloads ? it.count : "workloads", "'"),
                         cat("it needs 'workloads' and '", it.count, "'"));
  bool scores = plan.iterations > 0;
  if (scores && plan.faults.empty()) return input_error(cat(file, ": [score] names no faults"), "faults = [\"none\"]");
  if (!scores && plan.train_runs == 0 && plan.control_runs == 0 && plan.overhead_pairs == 0)
    return input_error(cat(file, " plans no run"), "it needs [train], [score], [control] or [overhead]");
  return Ok{};
}

Status read_plan(const std::string& file, const TomlValue& top, CampaignPlan& plan) {
  TableReader reader(file, "");
  Reader later = [](const TomlValue&) -> Status { return Ok{}; };
  reader.text("name", plan.name);
  reader.key("seed", [&](const TomlValue& value) -> Status {
    if (value.kind != Kind::integer || value.integer < 0) return reader.at(value, "'seed' must be a whole number");
    plan.seed = static_cast<uint64_t>(value.integer);
    return Ok{};
  });
  for (std::string_view table :
       {"lab", "site", "samples", "train", "score", "control", "overhead", "spoiled", "workload"})
    reader.key(table, later);
  RETURN_IF_ERROR(reader.read(top));
  if (const TomlValue* own = top.find("workload")) RETURN_IF_ERROR(read_own(file, *own, plan));
  plan.lab.name = "campaign";
  const TomlValue* lab = top.find("lab");
  const TomlValue* site = top.find("site");
  if ((lab == nullptr) == (site == nullptr))
    return input_error(cat(file, " must have either [lab] or [site]"), "a plan runs on a lab of its own, or on a site");
  RETURN_IF_ERROR(lab ? read_lab(file, *lab, plan) : read_site(file, *site, plan));
  RETURN_IF_ERROR(read_parts(file, top, plan));
  RETURN_IF_ERROR(check_samples(file, plan));
  return check_workloads(file, plan);
}

// The same on every machine, unlike std::shuffle.
template <typename T>
void shuffle(std::vector<T>& items, std::mt19937_64& random) {
  for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random() % i]);
}

// A seed of its own for everything that has a name, so that adding a cell does not change the others.
uint64_t seed_of(uint64_t seed, std::string_view name) {
  uint64_t hash = 1469598103934665603ULL ^ seed;  // FNV-1a
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash & 0x7fffffffffffffffULL;  // inject takes what fits a signed number
}

const PlannedFault kNoFault{"none", {}, "none"};

// Collects experiments block by block; the order within a block is the seed's.
class Matrix {
 public:
  Matrix(const CampaignPlan& plan, const std::vector<std::string>& servers) : plan_(plan), servers_(servers) {}

  void add(RunSet set, const std::string& workload, const PlannedFault& fault, int iteration) {
    block_.push_back(make(set, workload, fault, iteration));
  }
  void end_block(std::string_view name) {
    std::mt19937_64 random(seed_of(plan_.seed, name));
    shuffle(block_, random);
    all_.insert(all_.end(), block_.begin(), block_.end());
    block_.clear();
  }
  // With and without recording; who goes first alternates, so that it gains nothing.
  void add_pair(const std::string& workload, int iteration) {
    Experiment with = make(RunSet::overhead, workload, kNoFault, iteration), without = with;
    with.id += "-on";
    without.id += "-off";
    without.recorded = false;
    if (iteration % 2 == 0) std::swap(with, without);
    all_.push_back(std::move(with));
    all_.push_back(std::move(without));
  }
  std::vector<Experiment> take() { return std::move(all_); }

 private:
  Experiment make(RunSet set, const std::string& workload, const PlannedFault& fault, int iteration) const {
    std::string cell = cat(name_of(set), "-", workload, set == RunSet::score ? cat("-", fault.label) : "");
    Experiment it{cat(cell, "-", iteration), set, workload, fault.name, fault.params, "", iteration, true, 0};
    it.seed = seed_of(plan_.seed, it.id);
    auto known = find_workload(workload);
    const bool disturbed = known && !(*known)->disturbed_by.empty();
    if (fault.name == "none" && set != RunSet::control && !disturbed) return it;
    it.victim = victim(set, workload, fault, iteration);
    return it;
  }

  // Controls draw one, too, and whoever runs heal: the server that was away. A fault has its own order of the servers,
  // and each workload begins one further on: few iterations of several workloads hit all servers alike, too.
  std::string victim(RunSet set, const std::string& workload, const PlannedFault& fault, int iteration) const {
    std::vector<std::string> order = servers_;
    std::mt19937_64 random(seed_of(plan_.seed, cat(name_of(set), "-", fault.label)));
    shuffle(order, random);
    const auto& workloads = set == RunSet::train     ? plan_.train_workloads
                            : set == RunSet::control ? plan_.control_workloads
                                                     : plan_.score_workloads;
    const auto turn = std::find(workloads.begin(), workloads.end(), workload) - workloads.begin() + iteration - 1;
    return order[static_cast<size_t>(turn) % order.size()];
  }

  const CampaignPlan& plan_;
  const std::vector<std::string>& servers_;
  std::vector<Experiment> block_, all_;
};

}  // namespace

Result<CampaignPlan> parse_campaign_plan(const std::string& text, const std::string& name_for_errors) {
  ASSIGN_OR_RETURN(const TomlValue top, parse_toml(text, name_for_errors));
  CampaignPlan plan;
  RETURN_IF_ERROR(read_plan(name_for_errors, top, plan));
  return plan;
}

Result<CampaignPlan> read_campaign_plan(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, read_file(path));
  ASSIGN_OR_RETURN(CampaignPlan plan, parse_campaign_plan(text, path));
  if (plan.name.empty()) {
    std::string stem = path.substr(path.find_last_of('/') + 1);
    plan.name = stem.substr(0, stem.find('.'));
  }
  return plan;
}

std::vector<Experiment> plan_experiments(const CampaignPlan& plan, const std::vector<std::string>& servers) {
  Matrix matrix(plan, servers);
  for (int i = 1; i <= plan.train_runs; ++i)
    for (const std::string& workload : plan.train_workloads) matrix.add(RunSet::train, workload, kNoFault, i);
  matrix.end_block("train");
  for (int i = 1; i <= std::max(plan.iterations, plan.control_runs); ++i) {
    if (i <= plan.iterations)
      for (const std::string& workload : plan.score_workloads)
        for (const PlannedFault& fault : plan.faults) matrix.add(RunSet::score, workload, fault, i);
    if (i <= plan.control_runs)
      for (const std::string& workload : plan.control_workloads) matrix.add(RunSet::control, workload, kNoFault, i);
    matrix.end_block(cat("block", i));
  }
  for (int i = 1; i <= plan.overhead_pairs; ++i)
    for (const std::string& workload : plan.overhead_workloads) matrix.add_pair(workload, i);
  return matrix.take();
}

}  // namespace culprit
