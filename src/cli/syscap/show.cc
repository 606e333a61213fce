#include "cli/syscap/show.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "base/units.h"
#include "calls/call_export.h"
#include "calls/call_log.h"
#include "calls/fd_map.h"
#include "calls/path_hash.h"
#include "calls/syscalls.h"
#include "cli/out_file.h"
#include "cli/syscap/filter.h"
#include "cli/syscap/node_lines.h"
#include "cli/syscap/stats.h"
#include "store/run_path.h"

namespace culprit {

namespace {

struct ShowRequest {
  CallFilter filter;
  std::string since, until;  // their meaning depends on the log's begin
  CallFormat format = CallFormat::text;
  bool stats = false;
  bool json = false;
  std::optional<PathHasher> hasher;
};

Result<std::set<int32_t>> numbers_of(const Args& args, std::string_view option) {
  std::set<int32_t> numbers;
  for (const std::string& text : args.all(option)) {
    for (std::string_view word : split(text, ',')) {
      auto number = parse_int(trim(word));
      if (!number || *number <= 0 || *number > INT32_MAX)
        return usage_error(cat("--", option, " takes process numbers, not \"", printable(word), "\""));
      numbers.insert(static_cast<int32_t>(*number));
    }
  }
  return numbers;
}

Result<ShowRequest> request_of(const Args& args) {
  ShowRequest request;
  ASSIGN_OR_RETURN(request.filter.processes, numbers_of(args, "pid"));
  ASSIGN_OR_RETURN(request.filter.threads, numbers_of(args, "tid"));
  if (args.has("call")) {
    ASSIGN_OR_RETURN(request.filter.calls, parse_call_names(args.get("call")));
  }
  if (args.has("class")) {
    ASSIGN_OR_RETURN(request.filter.classes, parse_classes(args.get("class")));
  }
  if (args.has("kind")) {
    ASSIGN_OR_RETURN(request.filter.kinds, parse_kinds(args.get("kind")));
  }
  if (args.has("errno")) {
    ASSIGN_OR_RETURN(request.filter.errors, parse_errnos(args.get("errno")));
  }
  if (args.has("longer")) {
    ASSIGN_OR_RETURN(request.filter.longer_ns, args.duration("longer"));
  }
  request.filter.path = args.get("path");
  request.since = args.get("since");
  request.until = args.get("until");
  if (args.has("format")) {
    ASSIGN_OR_RETURN(request.format, parse_call_format(args.get("format")));
  }
  request.stats = args.has("stats");
  request.json = args.has("json");
  if (request.stats && args.has("format")) return usage_error("--stats is a table of its own", "leave --format out");
  if (request.json && !request.stats) return usage_error("--json goes with --stats", "records are --format jsonl");
  return request;
}

bool is_folder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// The logs that are meant: one file, or those of a run.
Result<std::vector<std::string>> logs_of(const std::string& path, const std::vector<std::string>& nodes) {
  if (path.ends_with(".sclog") || path.ends_with(".fdlog") || (path_exists(path) && !is_folder(path))) {
    if (!nodes.empty()) return usage_error("a log has one node only", "leave --node out");
    return std::vector<std::string>{path.ends_with(".fdlog") ? path.substr(0, path.size() - 6) : path};
  }
  ASSIGN_OR_RETURN(std::string run, find_run(path));
  std::vector<std::string> logged = logged_nodes(run);
  if (logged.empty())
    return input_error(cat(run, " has no system calls"), "culprit syscap --out captures some; see culprit help syscap");
  std::vector<std::string> paths;
  for (const std::string& node : nodes)
    if (std::find(logged.begin(), logged.end(), node) == logged.end())
      return unknown_word("log of a node", node, logged, cat("the run has: ", join(logged, ", ")));
  for (const std::string& node : logged)
    if (nodes.empty() || std::find(nodes.begin(), nodes.end(), node) != nodes.end())
      paths.push_back(log_stem(run, node) + ".sclog");
  return paths;
}

// Shows one log after the other.
class Shower {
 public:
  Shower(ShowRequest request, size_t logs, std::function<Status(std::string_view)> write)
      : request_(std::move(request)), logs_(logs), lines_(request_.format, logs > 1), write_(std::move(write)) {}

  Status log(const std::string& path);
  Status finish();
  int64_t records() const { return records_; }
  size_t unreadable() const { return unreadable_; }  // logs

 private:
  Status sums(CallLogReader& reader, const CallFilter& filter);
  Status count(CallLogReader& reader, const CallFilter& filter);
  Status records_of(CallLogReader& reader, const CallFilter& filter);
  std::string sum_line(const std::string& node, const CallSum& sum) const;

  ShowRequest request_;
  size_t logs_;
  size_t unreadable_ = 0;
  NodeLines lines_;
  std::function<Status(std::string_view)> write_;
  CallStats stats_;
  int64_t records_ = 0;
};

// Beside the result: what it is of, and what is missing in it.
void say_about(const CallLogReader& reader) {
  const LogHeader& header = reader.header();
  std::string text = cat(header.node, ": ", header.what.empty() ? "" : cat(printable(header.what, 200), ", "), "by ",
                         printable(header.backend, 20), " from ", format_time(header.start_ns));
  if (reader.end() && header.start_ns >= 0 && reader.end()->end_ns >= header.start_ns)
    text += cat(" for ", format_duration(reader.end()->end_ns - header.start_ns));
  say(text);
  for (const std::string& note : reader.notes()) say(cat("note: ", header.node, ": ", printable(note, 300)));
  if (!reader.end()) {
    say(cat("note: ", header.node, ": the log has no end: its capture still runs, or was killed"));
    return;
  }
  if (reader.end()->all_lost() > 0)
    say(cat("note: ", header.node, ": ", reader.end()->all_lost(), " events were lost"));
  for (const std::string& note : reader.end()->notes) say(cat("note: ", header.node, ": ", printable(note, 300)));
}

// Of several logs one that cannot be read is left out and told; when it is the last hope, it is the error.
Status Shower::log(const std::string& path) {
  auto opened = CallLogReader::open(path);
  if (!opened) {
    if (++unreadable_ == logs_) return std::move(opened).error();
    say(cat("note: left out: ", opened.error().message()));
    return Ok{};
  }
  CallLogReader reader = std::move(opened).value();
  if (request_.hasher) reader.hash_paths(*request_.hasher);
  CallFilter filter = request_.filter;
  int64_t start = reader.header().start_ns;
  if (!request_.since.empty()) {
    ASSIGN_OR_RETURN(filter.since_ns, parse_moment(request_.since, start));
  }
  if (!request_.until.empty()) {
    ASSIGN_OR_RETURN(filter.until_ns, parse_moment(request_.until, start));
  }
  Status shown = Ok{};
  if (reader.header().sums && !filter.only_moments()) {
    shown = sums(reader, filter);
  } else {
    shown = request_.stats ? count(reader, filter) : records_of(reader, filter);
  }
  RETURN_IF_ERROR(shown);
  say_about(reader);
  return Ok{};
}

Status Shower::count(CallLogReader& reader, const CallFilter& filter) {
  FdMap fds(reader.fds());
  const std::string node = reader.header().node;
  return reader.each_call([&](const Call& call) {
    const FdRecord* target = record_target(call, fds).what;
    if (filter.keeps(call, target)) {
      stats_.add(node, call, target);
      ++records_;
    }
    return true;
  });
}

Status Shower::records_of(CallLogReader& reader, const CallFilter& filter) {
  lines_.begin(reader.header().node);
  CallExportOptions options;
  options.keep = [&](const Call& call, const FdRecord* target) { return filter.keeps(call, target); };
  auto write = [&](std::string_view bytes) { return write_(lines_.take(bytes)); };
  ASSIGN_OR_RETURN(int64_t written, export_calls(reader, request_.format, write, options));
  records_ += written;
  return Ok{};
}

std::string Shower::sum_line(const std::string& node, const CallSum& sum) const {
  std::string errors;
  for (const auto& [error, times] : sum.errors) errors += cat(" ", errno_name(error), "=", times);
  double mean = sum.count == 0 ? 0 : static_cast<double>(sum.sum_ns) / static_cast<double>(sum.count) / 1e3;
  int64_t second = std::clamp<int64_t>(sum.second, 0, INT64_MAX / kNsPerSecond);
  return fmt::format("{} {} {} {}: {} calls, mean {:.1f} us{}\n", format_time(second * kNsPerSecond), node,
                     name_of(sum.fd_class), syscall_name(sum.number), sum.count, mean, errors);
}

Status Shower::sums(CallLogReader& reader, const CallFilter& filter) {
  const std::string node = reader.header().node;
  if (filter.needs_records())
    return usage_error(cat("the log of ", node, " holds sums per second, not single calls"),
                       "only --class, --call, --since and --until apply to it, or --kind signal,exit");
  if (!request_.stats && request_.format != CallFormat::text)
    return usage_error(cat("the log of ", node, " holds sums per second, not single calls"),
                       "they are shown as text, or with --stats and --json");
  Status written = Ok{};
  RETURN_IF_ERROR(reader.each_sum([&](const CallSum& sum) {
    if (!filter.keeps(sum)) return true;
    ++records_;
    if (request_.stats) {
      stats_.add(node, sum);
    } else {
      written = write_(sum_line(node, sum));
    }
    return written.ok();
  }));
  return written;
}

Status Shower::finish() {
  if (!request_.stats) return Ok{};
  if (request_.json) return write_(stats_.json());
  return stats_.empty() ? Status(Ok{}) : write_(stats_.text());
}

// A file if there is one to write, else stdout.
Result<int> show_all(const Args& args, ShowRequest request, const std::vector<std::string>& logs) {
  std::optional<OutFile> file;
  if (args.has("out")) {
    file.emplace(args.get("out"));
    RETURN_IF_ERROR(file->open());
  }
  Shower shower(std::move(request), logs.size(), [&](std::string_view bytes) -> Status {
    if (file) return file->write(bytes);
    print(bytes);
    return Ok{};
  });
  for (const std::string& path : logs) RETURN_IF_ERROR(shower.log(path));
  RETURN_IF_ERROR(shower.finish());
  if (file) RETURN_IF_ERROR(file->close());
  if (file) say(cat("wrote ", shower.records(), " records to ", args.get("out")));
  if (shower.records() == 0)
    say("no record fits, or none could be read; culprit syscap show RUN --stats says what there is");
  return shower.unreadable() == 0 ? kExitHealthy : kExitFailed;
}

}  // namespace

Result<int> show_calls(const Args& args, const std::string& hash_key) {
  if (args.positionals.size() < 2)
    return usage_error("which run?", "culprit syscap show RUN, or culprit syscap show FILE.sclog");
  if (!args.rest.empty()) return usage_error("show runs no command", "leave out what follows --");
  ASSIGN_OR_RETURN(ShowRequest request, request_of(args));
  if (!hash_key.empty()) request.hasher.emplace(hash_key);
  ASSIGN_OR_RETURN(std::vector<std::string> logs, logs_of(args.positionals[1], args.all("node")));
  if (request.format == CallFormat::strace && logs.size() > 1)
    return usage_error("strace's text has no place for a node's name, and the run has several",
                       "choose one with --node");
  if (request.format == CallFormat::perfetto && !args.has("out") && ::isatty(STDOUT_FILENO) == 1)
    return usage_error("a Perfetto trace is binary and not for a terminal", "add --out FILE");
  return show_all(args, std::move(request), logs);
}

}  // namespace culprit
