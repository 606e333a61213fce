// culprit list KIND: what there is to choose from. Every kind is a table that the build makes from a folder.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analyse/detector.h"
#include "base/text.h"
#include "capture/backend.h"
#include "cli/command.h"
#include "fs/adapter.h"
#include "inject/fault.h"
#include "model/metric.h"
#include "sample/collector.h"
#include "study/workload.h"

namespace culprit {
namespace {

using Json = nlohmann::ordered_json;

struct Item {
  std::string name;
  std::string summary;
  Json fields = Json::object();  // what else --json tells
};

template <class Table>
std::vector<Item> items_of(const Table& table) {
  std::vector<Item> items;
  for (const auto* each : table) items.push_back({std::string(each->name), std::string(each->summary)});
  return items;
}

std::vector<Item> backends() {
  std::vector<Item> items = items_of(capture_backends());
  for (size_t i = 0; i < items.size(); ++i) {
    Status works = capture_backends()[i]->check();
    items[i].fields = {{"works", works.ok()}, {"why_not", works ? "" : works.error().message()}};
  }
  return items;
}

std::vector<Item> collectors() {
  return items_of(sample_collectors());
}
std::vector<Item> detectors() {
  return items_of(analyse_detectors());
}
std::vector<Item> filesystems() {
  return items_of(fs_adapters());
}

std::vector<Item> workloads() {
  return items_of(study_workloads());
}

std::vector<Item> faults() {
  std::vector<Item> items;
  for (const FaultInfo* fault : inject_faults()) {
    Json params = Json::array();
    std::string taken;
    for (const FaultParam& param : fault->params) {
      params.push_back({{"name", param.name}, {"unit", param.unit}, {"default", param.fallback}, {"help", param.help}});
      taken += cat(taken.empty() ? "" : " ", param.name, "=", param.fallback.empty() ? param.unit : param.fallback);
    }
    Json fields = {{"class", fault_class_name(fault->kind)},
                   {"held_by", fault->held == HeldBy::kernel ? "kernel" : "journal"},
                   {"virtual_disk", fault->needs_virtual_disk},
                   {"parameters", params}};
    std::string summary =
        cat(fault->summary, " (", fault_class_name(fault->kind),
            fault->needs_virtual_disk ? ", virtual disks only)" : ")", taken.empty() ? "" : "; ", taken);
    items.push_back({std::string(fault->name), std::move(summary), std::move(fields)});
  }
  return items;
}

std::vector<Item> metric_items() {
  std::vector<Item> items;
  for (const MetricInfo& metric : metrics()) {
    Json fields = {{"unit", metric.unit}, {"resource", name_of(metric.resource)}, {"indicting", metric.indicting}};
    std::string summary = cat(metric.help, " (", metric.unit, metric.indicting ? ", can convict)" : ")");
    items.push_back({std::string(metric.name), std::move(summary), std::move(fields)});
  }
  return items;
}

std::vector<Item> parameters() {
  std::vector<Item> items;
  for (const DetectorInfo* detector : analyse_detectors()) {
    for (const Parameter& row : detector->parameters) {
      Json fields = {{"detector", detector->name}, {"default", row.value}, {"low", row.low}, {"high", row.high}};
      std::string summary = fmt::format("{} (default {:g}, {:g} to {:g})", row.help, row.value, row.low, row.high);
      items.push_back({cat(detector->name, ".", row.name), std::move(summary), std::move(fields)});
    }
  }
  return items;
}

std::vector<Item> commands() {
  std::vector<Item> items;
  for (const CommandInfo* command : cli_commands()) {
    if (!command->hidden) items.push_back({std::string(command->name), std::string(command->summary)});
  }
  return items;
}

struct Kind {
  std::string_view name;
  std::string_view summary;
  std::vector<Item> (*items)();
};

constexpr Kind kKinds[] = {
    {"backends", "ways to capture system calls (culprit syscap --backend)", backends},
    {"collectors", "what a node's sampler reads", collectors},
    {"commands", "what culprit can do", commands},
    {"detectors", "ways to find the culprit in a run", detectors},
    {"faults", "what culprit inject can break, with its parameters and their defaults", faults},
    {"filesystems", "parallel file systems whose daemons and ports are known", filesystems},
    {"metrics", "what is derived from the counters, and judged or shown", metric_items},
    {"parameters", "the detectors' constants, with their defaults", parameters},
    {"workloads", "what the clients of a campaign do", workloads},
};

std::vector<Item> kinds() {
  std::vector<Item> items;
  for (const Kind& kind : kKinds) items.push_back({std::string(kind.name), std::string(kind.summary)});
  return items;
}

std::string as_text(const std::vector<Item>& items) {
  size_t width = 0;
  for (const Item& item : items) width = std::max(width, item.name.size());
  std::string out;
  for (const Item& item : items) {
    out += cat(item.name, std::string(width - item.name.size() + 2, ' '), item.summary, "\n");
  }
  return out;
}

std::string as_json(const std::vector<Item>& items) {
  Json out = Json::array();
  for (const Item& item : items) {
    Json row = {{"name", item.name}, {"summary", item.summary}};
    row.update(item.fields);
    out.push_back(std::move(row));
  }
  return out.dump(2) + "\n";
}

Result<int> run(const Args& args) {
  std::vector<Item> items = kinds();
  if (!args.positionals.empty()) {
    const std::string& word = args.positionals[0];
    auto kind = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& k) { return k.name == word; });
    if (kind == std::end(kKinds)) {
      std::vector<std::string> names;
      for (const Item& item : items) names.push_back(item.name);
      return unknown_word("kind", word, names, cat("the kinds are ", join(names, ", ")));
    }
    items = kind->items();
  }
  print(args.has("json") ? as_json(items) : as_text(items));
  return kExitHealthy;
}

}  // namespace

extern const CommandInfo command_list{
    .name = "list",
    .summary = "backends, collectors, detectors, faults, file systems, metrics, workloads and more",
    .positionals = {{.name = "KIND",
                     .help = "backends, collectors, commands, detectors, faults, filesystems, metrics, parameters or "
                             "workloads; without it, the kinds",
                     .required = false}},
    .options = {{.name = "json", .help = "as JSON"}},
    .run = run,
    .group = Group::about,
};

}  // namespace culprit
