// culprit export: a run's metrics as rows for other tools, or a scrubbed copy to show to others.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>

#include "analyse/series.h"
#include "base/fd.h"
#include "base/text.h"
#include "cli/command.h"
#include "store/export_rows.h"

namespace culprit {
namespace {

// A file appears under its name only when it is whole. What is there and is not a plain file (a pipe, a device, a link)
// is written to as it is: renaming a file over it would destroy it.
class OutFile {
 public:
  explicit OutFile(std::string path) : path_(std::move(path)), target_(path_) {
    struct stat info {};
    bool plain = ::lstat(path_.c_str(), &info) != 0 || S_ISREG(info.st_mode);
    if (plain) target_ = cat(path_, ".tmp", static_cast<int>(::getpid()));
  }
  ~OutFile() {
    if (fd_.valid() && target_ != path_) ::unlink(target_.c_str());
  }
  OutFile(const OutFile&) = delete;
  OutFile& operator=(const OutFile&) = delete;

  Status open() {
    fd_.reset(::open(target_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!fd_.valid()) return system_error(cat("cannot write ", path_), errno);
    return Ok{};
  }
  Status write(std::string_view bytes) { return write_all(fd_.get(), bytes, path_); }
  Status close() {
    bool synced = ::fsync(fd_.get()) == 0 || errno == EINVAL || errno == EROFS;  // a pipe or device cannot be synced
    if (!synced || (target_ != path_ && ::rename(target_.c_str(), path_.c_str()) != 0))
      return system_error(cat("cannot write ", path_), errno);
    fd_.reset();
    return Ok{};
  }

 private:
  std::string path_;
  std::string target_;
  Fd fd_;
};

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
        "What is and is not replaced: docs/formats/csv.md.\n",
    .run = run_export,
};

}  // namespace culprit
