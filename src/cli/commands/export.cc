// culprit export: a run's metrics as rows for other tools, or a scrubbed copy to show to others.
#include <optional>

#include "analyse/series.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/out_file.h"
#include "store/export_rows.h"

namespace culprit {
namespace {

// A server that was there without any metric (as at the first tick, where counters have no difference yet) gets a row
// without a value: an import then knows the tick, and its windows start where ours do.
void export_tick(const SeriesSet& set, size_t server, size_t tick, const std::string& name, RowWriter& out) {
  bool any = false;
  for (const MetricInfo& metric : metrics()) {
    if (!set.has(metric.id) || is_missing(set.of(metric.id)[server][tick])) continue;
    any = true;
    out.add({set.time_of(tick), name, name_of(metric.resource), "", metric.name, set.of(metric.id)[server][tick]});
  }
  const MetricInfo& first = metrics().front();
  if (!any && set.sampled[server][tick])
    out.add({set.time_of(tick), name, name_of(first.resource), "", first.name, std::monostate()});
}

Status export_derived(const RunReader& run, Scrubber* scrub, RowWriter& out) {
  ASSIGN_OR_RETURN(SeriesSet set, load_series(run, {}));
  for (const std::string& note : set.notes)
    if (!scrub) say(cat("note: ", note));
  std::vector<std::string> servers = set.servers;
  if (scrub)
    for (std::string& server : servers) server = scrub->node(server);
  for (size_t tick = 0; tick < set.ticks && !out.failed(); ++tick)
    for (size_t i = 0; i < servers.size(); ++i) export_tick(set, i, tick, servers[i], out);
  return Ok{};
}

// Numbers the nodes in the order of the run, so that they are the same in every form of the export.
void name_nodes(const RunReader& run, Scrubber& scrub) {
  for (const Node& node : run.nodes()) scrub.node(node.name);
}

Result<int> export_copy(const Args& args, const RunReader& run) {
  if (!args.has("scrub"))
    return usage_error("--format run makes a scrubbed copy and needs --scrub", "for a plain copy use cp -r");
  if (!args.has("out")) return usage_error("--format run needs --out", "add --out NEW.run");
  ASSIGN_OR_RETURN(std::string path, export_scrubbed_run(run, args.get("out")));
  print(cat("wrote ", path, ", with names, addresses, paths and texts replaced\n"));
  say(cat("next: culprit diagnose ", path));
  return kExitHealthy;
}

Result<int> run_export(const Args& args) {
  const std::string format = args.get("format");
  if (format == "strace" || format == "perfetto")
    return usage_error(cat("export writes a run's metrics; ", format, " is for its system calls"),
                       cat("culprit syscap show ", args.positionals.at(0), " --format ", format));
  if (format != "csv" && format != "jsonl" && format != "run")
    return usage_error(cat("there is no export format '", printable(format), "'"), "formats are csv, jsonl and run");
  ASSIGN_OR_RETURN(RunReader run, RunReader::open(args.positionals.at(0)));
  if (format == "run") return export_copy(args, run);
  std::optional<OutFile> file;
  if (args.has("out")) {
    file.emplace(args.get("out"));
    RETURN_IF_ERROR(file->open());
  }
  RowWriter rows(format == "csv" ? RowFormat::csv : RowFormat::jsonl, [&](std::string_view bytes) -> Status {
    if (file) return file->write(bytes);
    print(bytes);
    return Ok{};
  });
  Scrubber scrub;
  if (args.has("scrub")) name_nodes(run, scrub);
  Scrubber* scrubber = args.has("scrub") ? &scrub : nullptr;
  RETURN_IF_ERROR(args.has("raw") ? export_raw(run, scrubber, rows) : export_derived(run, scrubber, rows));
  RETURN_IF_ERROR(rows.finish());
  if (!file) return kExitHealthy;
  RETURN_IF_ERROR(file->close());
  say(cat("wrote ", rows.rows(), " rows to ", args.get("out")));
  if (format == "csv" && !args.has("raw"))
    say(cat("next: culprit import --format csv ", args.get("out"), " --out NEW"));
  return kExitHealthy;
}

}  // namespace

extern const CommandInfo command_export{
    .name = "export",
    .summary = "write a run's metrics as CSV or JSON lines, or a scrubbed copy for sharing",
    .positionals = {{.name = "RUN", .help = "the run"}},
    .options =
        {
            {.name = "format",
             .value = "NAME",
             .fallback = "csv",
             .help = "csv, jsonl (one JSON object per line) or run (a copy; with --scrub)"},
            {.name = "out", .value = "FILE", .help = "where to; without it the standard output"},
            {.name = "raw", .help = "the counters as they were sampled, per device, instead of the metrics per server"},
            {.name = "scrub",
             .help = "replace names of hosts and devices, addresses, command lines and texts by pseudonyms"},
        },
    .text =
        "Rows are time,node,source,device,metric,value. Without --raw they are the metrics that diagnose\n"
        "judges, one per server and tick, and 'culprit import --format csv' takes them again.\n"
        "Example, for attaching a run to a bug report:\n"
        "  culprit export tuesday --format run --scrub --out shared\n"
        "What is and is not replaced: docs/formats/csv.md. System calls: culprit syscap show RUN --format.\n",
    .run = run_export,
};

}  // namespace culprit
