#include "load/churn_options.h"

#include <string_view>

#include "base/option_table.h"
#include "base/text.h"
#include "load/load_data.h"

namespace culprit {

namespace {

constexpr int64_t kMostRecord = int64_t{64} << 20;  // two of them are kept in memory
constexpr int64_t kLongest = 86400 * kNsPerSecond;
constexpr int64_t kMostSteps = 1'000'000'000;
constexpr int64_t kMostKept = 100'000;
constexpr size_t kMostFiles = 1000;
constexpr std::string_view kHint = "culprit-node churn --help lists the options";

Status set_number(int64_t& out, std::string_view value, int64_t low, int64_t high) {
  auto number = parse_int(value);
  if (!number || *number < low || *number > high)
    return usage_error(cat("'", printable(value), "' is not a number from ", low, " to ", high), std::string(kHint));
  out = *number;
  return Ok{};
}

Status set_time(int64_t& out, std::string_view value) {
  ASSIGN_OR_RETURN(out, parse_duration(value));
  if (out < 0 || out > kLongest) return usage_error(cat(printable(value), " is not possible"), "from 0s to 1d");
  return Ok{};
}

Status set_record(ChurnOptions& options, std::string_view value) {
  ASSIGN_OR_RETURN(options.record, parse_bytes(value));
  if (options.record < 1 || options.record > kMostRecord)
    return usage_error(cat("a record of ", printable(value), " is not possible"), "from 1B to 64MiB");
  return Ok{};
}

Status add_file(ChurnOptions& options, std::string_view value) {
  if (options.files.size() == kMostFiles) return usage_error("there are too many files", "1000 at most");
  options.files.emplace_back(value);
  return Ok{};
}

Status set_seed(ChurnOptions& options, std::string_view value) {
  int64_t seed = 0;
  RETURN_IF_ERROR(set_number(seed, value, 0, INT64_MAX));
  options.seed = static_cast<uint64_t>(seed);
  return Ok{};
}

const OptionRow<ChurnOptions> kOptions[] = {
    {"--folder", "PATH", "where files come and go; nothing else there is touched",
     [](ChurnOptions& o, std::string_view v) -> Status {
       o.folder = v;
       return Ok{};
     }},
    {"--file", "PATH", "a large file that is there: a record of it is written over and read; may be repeated",
     add_file},
    {"--seconds", "DURATION", "how long",
     [](ChurnOptions& o, std::string_view v) { return set_time(o.duration_ns, v); }},
    {"--steps", "COUNT", "instead: so many steps",
     [](ChurnOptions& o, std::string_view v) { return set_number(o.steps, v, 1, kMostSteps); }},
    {"--record", "SIZE", "bytes of one call; 16KiB by default", set_record},
    {"--pause", "DURATION", "between steps; 100ms by default",
     [](ChurnOptions& o, std::string_view v) { return set_time(o.pause_ns, v); }},
    {"--keep", "COUNT", "so many files are kept, then the oldest goes; 16 by default",
     [](ChurnOptions& o, std::string_view v) { return set_number(o.keep, v, 0, kMostKept); }},
    {"--stall", "DURATION", "a call that takes longer is complained about; 5s by default",
     [](ChurnOptions& o, std::string_view v) { return set_time(o.stall_ns, v); }},
    {"--direct", "", "past the page cache (O_DIRECT)",
     [](ChurnOptions& o, std::string_view) -> Status {
       o.direct = true;
       return Ok{};
     }},
    {"--seed", "NUMBER", "of the data and of the places in large files; 1 by default", set_seed},
    {"--help", "", "print this",
     [](ChurnOptions& o, std::string_view) -> Status {
       o.help = true;
       return Ok{};
     }},
};

Status complete(const ChurnOptions& options) {
  if (options.folder.empty()) return usage_error("there is no folder", "write --folder PATH");
  if ((options.duration_ns > 0) == (options.steps > 0))
    return usage_error("how long is not said, or said twice", "write --seconds DURATION or --steps COUNT");
  if (options.direct && options.record % kLoadAlignment != 0)
    return usage_error(cat("direct I/O of ", options.record, " bytes is not possible"),
                       "make --record a multiple of 4KiB");
  return Ok{};
}

}  // namespace

Result<ChurnOptions> parse_churn_options(const std::vector<std::string>& arguments) {
  ChurnOptions options;
  RETURN_IF_ERROR(read_options(kOptions, arguments, kHint, options));
  if (!options.help) RETURN_IF_ERROR(complete(options));
  return options;
}

std::string churn_help() {
  return cat(
      "culprit-node churn: small files that come, grow, are read back and go, and records of large files that are\n"
      "written over (HotDep'09, section 5, has such a workload for its errors). An error does not end it: the first\n"
      "of each kind is told on stderr at once, and how often each came on stdout.\n\n",
      options_help(kOptions));
}

}  // namespace culprit
