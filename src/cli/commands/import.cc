// culprit import: measurements and traces of another tool become a run that culprit can read.
#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/syscap/strace_run.h"
#include "store/import_run.h"

namespace culprit {
namespace {

std::string count(size_t number, std::string_view noun) {
  return cat(number, " ", noun, number == 1 ? "" : "s");
}

Result<int> import_traces(const Args& args) {
  StraceRequest request;
  request.files = args.positionals;
  request.nodes = args.all("node");
  request.out = args.get("out");
  request.cluster = args.get("cluster");
  ASSIGN_OR_RETURN(StraceSummary summary, import_strace_run(request));
  for (const std::string& note : summary.notes) say(cat("note: ", note));
  print(
      cat("imported ", count(static_cast<size_t>(summary.calls), "call"), " of ", count(summary.nodes.size(), "node"),
          summary.skipped > 0 ? cat(", ", count(static_cast<size_t>(summary.skipped), "line"), " not understood") : "",
          "\n"));
  say(cat("next: culprit syscap show ", summary.path, " --stats"));
  return kExitHealthy;
}

Result<int> run(const Args& args) {
  std::vector<std::string> formats = import_formats();
  formats.emplace_back("strace");
  if (std::find(formats.begin(), formats.end(), args.get("format")) == formats.end())
    return unknown_word("import format", args.get("format"), formats, cat("formats are ", join(formats, ", ")));
  if (args.get("format") == "strace") return import_traces(args);
  if (args.has("node"))
    return usage_error("--node goes with --format strace", "the other formats name their nodes themselves");
  ImportRequest request;
  request.format = args.get("format");
  request.files = args.positionals;
  request.out = args.get("out");
  request.cluster = args.get("cluster");
  ASSIGN_OR_RETURN(ImportSummary summary, import_run(request));
  for (const std::string& note : summary.notes) say(cat("note: ", note));
  std::string who = count(summary.servers, "server");
  if (summary.clients > 0) who += cat(" and ", count(summary.clients, "client"));
  std::string of = summary.interval_ns > 0 ? cat(" of ", format_duration(summary.interval_ns)) : "";
  print(cat("imported ", who, ", ", count(summary.ticks, "tick"), of, ", metrics ", join(summary.metrics, " "), "\n"));
  say(cat("next: culprit diagnose ", summary.path));
  return kExitHealthy;
}

}  // namespace

extern const CommandInfo command_import{
    .name = "import",
    .summary = "make a run from what another tool measured: sysstat's sadf -j, CSV, or strace",
    .positionals = {{.name = "FILE",
                     .help = "one or more files of that format; - is the standard input",
                     .repeated = true}},
    .options =
        {
            {.name = "format",
             .value = "NAME",
             .help = "sadf (sadf -j of sysstat 10 to 12), csv (time,node,source,device,metric,value) or strace "
                     "(text of strace -f -ttt -T -yy)",
             .required = true},
            {.name = "out", .value = "RUN", .help = "the run to write", .required = true},
            {.name = "cluster",
             .value = "FILE",
             .help = "cluster.toml that says which nodes are servers and clients; without it all are servers"},
            {.name = "node",
             .value = "NODE",
             .help = "strace: whose file it is, once per file; without it the file's name up to its first dot",
             .repeated = true},
        },
    .text =
        "Examples:\n"
        "  sadf -j /var/log/sysstat/sa15 -- -d -n DEV,ETCP -u > oss1.json    (on every server, UTC)\n"
        "  culprit import --format sadf oss1.json oss2.json oss3.json --out tuesday\n"
        "  culprit import --format csv metrics.csv --cluster cluster.toml --out tuesday\n"
        "  culprit import --format strace s1.strace s2.strace --cluster cluster.toml --out traced\n"
        "Formats, units and what is done with odd values: docs/formats/sadf.md and docs/formats/csv.md.\n",
    .run = run,
};

}  // namespace culprit
