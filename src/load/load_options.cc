#include "load/load_options.h"

#include "base/option_table.h"
#include "base/text.h"
#include "base/units.h"
#include "load/load_data.h"

namespace culprit {

namespace {

constexpr int64_t kLeastRecord = 512;
constexpr int64_t kMostRecord = int64_t{256} << 20;  // it is kept in memory
constexpr int64_t kShortest = 10 * kNsPerMs;
constexpr int64_t kLongest = 86400 * kNsPerSecond;
constexpr std::string_view kHint = "culprit-node load --help lists the options";

constexpr LoadPhase kPhases[] = {
    {"write", LoadStep::write, "make the file anew; from its full size on start over without truncating"},
    {"rewrite", LoadStep::rewrite, "write over what is there"},
    {"read", LoadStep::read, "read to the end, then start over"},
    {"reread", LoadStep::read, "the same under another name"},
    {"fsync", LoadStep::fsync, "wait until it is on the disks"},
    {"drop", LoadStep::drop, "fsync, then let this machine forget what it has of the file in memory"},
};

Status set_size(int64_t& size, std::string_view value) {
  ASSIGN_OR_RETURN(size, parse_bytes(value));
  if (size <= 0) return usage_error("a size of nothing is not possible", "write it like 500MB or 2GiB");
  return Ok{};
}

Status set_phases(LoadOptions& options, std::string_view value) {
  std::vector<std::string> names;
  for (const LoadPhase& phase : kPhases) names.emplace_back(phase.name);
  options.phases.clear();
  for (std::string_view part : split(value, ',')) {
    size_t before = options.phases.size();
    for (const LoadPhase& phase : kPhases) {
      if (phase.name == trim(part)) options.phases.push_back(phase);
    }
    if (options.phases.size() == before)
      return usage_error(cat("'", printable(part), "' is not a phase"), cat("phases are ", join(names, ", ")));
  }
  return Ok{};
}

Status set_seconds(LoadOptions& options, std::string_view value) {
  ASSIGN_OR_RETURN(options.duration_ns, parse_duration(value));
  if (options.duration_ns < kShortest || options.duration_ns > kLongest)
    return usage_error(cat("a load of ", printable(value), " is not possible"), "from 10ms to 1d");
  return Ok{};
}

Status set_record(LoadOptions& options, std::string_view value) {
  ASSIGN_OR_RETURN(options.record, parse_bytes(value));
  if (options.record < kLeastRecord || options.record > kMostRecord)
    return usage_error(cat("a record of ", printable(value), " is not possible"), "from 512B to 256MiB");
  return Ok{};
}

Status set_rate(LoadOptions& options, std::string_view value) {
  ASSIGN_OR_RETURN(options.rate, parse_load_rate(value));
  return Ok{};
}

Status set_seed(LoadOptions& options, std::string_view value) {
  auto seed = parse_int(value);
  if (!seed || *seed < 0) return usage_error(cat("'", printable(value), "' is not a seed"), "it is a number from 0 on");
  options.seed = static_cast<uint64_t>(*seed);
  return Ok{};
}

const OptionRow<LoadOptions> kOptions[] = {
    {"--file", "PATH", "the file; nothing else is touched",
     [](LoadOptions& o, std::string_view v) -> Status {
       o.file = v;
       return Ok{};
     }},
    {"--phases", "A,B", "what is done with it, in this order (below)", set_phases},
    {"--seconds", "DURATION", "how long, shared evenly by the phases that move data", set_seconds},
    {"--bytes", "SIZE", "instead: so many bytes in each of them",
     [](LoadOptions& o, std::string_view v) { return set_size(o.bytes, v); }},
    {"--file-size", "SIZE", "where a phase starts over; --bytes, or the end of the file by default",
     [](LoadOptions& o, std::string_view v) { return set_size(o.file_size, v); }},
    {"--record", "SIZE", "bytes of one call; 1MiB by default", set_record},
    {"--direct", "", "past the page cache (O_DIRECT)",
     [](LoadOptions& o, std::string_view) -> Status {
       o.direct = true;
       return Ok{};
     }},
    {"--cold", "", "without --direct: forget the file before each pass of reading it",
     [](LoadOptions& o, std::string_view) -> Status {
       o.cold = true;
       return Ok{};
     }},
    {"--rate", "SHAPE", "bytes per second: 20MB, ramp:5MB-20MB/10s, gaps:3s-2s, gaps:3s-2s,10MB", set_rate},
    {"--seed", "NUMBER", "of the data; 1 by default", set_seed},
    {"--help", "", "print this",
     [](LoadOptions& o, std::string_view) -> Status {
       o.help = true;
       return Ok{};
     }},
};

Status check_direct(const LoadOptions& options) {
  for (int64_t size : {options.record, options.bytes, options.file_size}) {
    if (size % kLoadAlignment != 0)
      return usage_error(cat("direct I/O of ", size, " bytes is not possible"), "make every size a multiple of 4KiB");
  }
  return Ok{};
}

// What is left out, and what does not go together: it must end by itself and not fill the disk.
Status complete(LoadOptions& options) {
  bool moves = false, makes = false;
  for (const LoadPhase& phase : options.phases) {
    moves = moves || phase.moves_data();
    makes = makes || phase.step == LoadStep::write;
  }
  if (options.file.empty()) return usage_error("there is no file", "write --file PATH");
  if (options.phases.empty()) return usage_error("there are no phases", "write --phases write,fsync,rewrite");
  if (moves && (options.duration_ns > 0) == (options.bytes > 0))
    return usage_error("how long is not said, or said twice", "write --seconds DURATION or --bytes SIZE");
  if (options.file_size == 0) options.file_size = options.bytes;
  if (makes && options.file_size == 0)
    return usage_error("phase write does not know how large the file is to be", "write --file-size SIZE");
  return options.direct ? check_direct(options) : Ok{};
}

}  // namespace

Result<LoadOptions> parse_load_options(const std::vector<std::string>& arguments) {
  LoadOptions options;
  RETURN_IF_ERROR(read_options(kOptions, arguments, kHint, options));
  if (!options.help) RETURN_IF_ERROR(complete(options));
  return options;
}

std::string load_help() {
  std::string out =
      "culprit-node load: real reads and writes on one file, as the load of an experiment. At its end it prints\n"
      "a line for each phase that moves data: phase NAME bytes NUMBER seconds NUMBER.\n\n";
  out += cat(options_help(kOptions), "\nphases:\n");
  for (const LoadPhase& phase : kPhases) out += help_row(std::string(phase.name), phase.help);
  return out;
}

}  // namespace culprit
