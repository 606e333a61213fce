#include "sample/node_options.h"

#include "base/option_table.h"
#include "base/text.h"
#include "base/units.h"

namespace culprit {

namespace {

constexpr int64_t kShortest = 10 * kNsPerMs;  // below it the sampler itself is the load
constexpr int64_t kLongest = 3600 * kNsPerSecond;
constexpr std::string_view kHint = "culprit-node --help lists the options";

Status set_list(std::vector<std::string>& list, std::string_view value) {
  for (std::string_view part : split(value, ','))
    if (!trim(part).empty()) list.emplace_back(trim(part));
  return Ok{};
}

Status set_interval(NodeOptions& options, std::string_view value) {
  ASSIGN_OR_RETURN(options.env.interval_ns, parse_duration(value));
  if (options.env.interval_ns < kShortest || options.env.interval_ns > kLongest)
    return usage_error(cat("an interval of ", printable(value), " is not possible"), "from 10ms to 1h");
  return Ok{};
}

Status set_ports(NodeOptions& options, std::string_view value) {
  ASSIGN_OR_RETURN(options.env.data_ports, parse_ports(value));
  return Ok{};
}

const OptionRow<NodeOptions> kOptions[] = {
    {"--interval", "DURATION", "time between samples, 10ms to 1h; 1s by default", set_interval},
    {"--disks", "A,B", "only these disks; all by default",
     [](NodeOptions& o, std::string_view v) { return set_list(o.env.node.disks, v); }},
    {"--nics", "A,B", "only these network interfaces; all but lo by default",
     [](NodeOptions& o, std::string_view v) { return set_list(o.env.node.nics, v); }},
    {"--daemons", "A,B", "process names of the file system's daemons; all known ones by default",
     [](NodeOptions& o, std::string_view v) { return set_list(o.env.daemons, v); }},
    {"--ports", "A-B,C", "only sockets on these ports, and the daemons' own; all by default", set_ports},
    {"--once", "", "one sample at once, then end",
     [](NodeOptions& o, std::string_view) -> Status {
       o.once = true;
       return Ok{};
     }},
    {"--version", "", "print the version",
     [](NodeOptions& o, std::string_view) -> Status {
       o.version = true;
       return Ok{};
     }},
    {"--help", "", "print this",
     [](NodeOptions& o, std::string_view) -> Status {
       o.help = true;
       return Ok{};
     }},
};

}  // namespace

Result<NodeOptions> parse_node_options(const std::vector<std::string>& arguments) {
  NodeOptions options;
  RETURN_IF_ERROR(read_options(kOptions, arguments, kHint, options));
  return options;
}

std::vector<std::string> node_arguments(const SampleEnv& env) {
  std::vector<std::string> out = {"--interval", cat(env.interval_ns, "ns")};
  auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) out.insert(out.end(), {std::string(name), value});
  };
  add("--disks", join(env.node.disks, ","));
  add("--nics", join(env.node.nics, ","));
  add("--daemons", join(env.daemons, ","));
  add("--ports", format_ports(env.data_ports));
  return out;
}

std::string node_help() {
  return cat(
      "culprit-node: samples this node's counters and writes them to stdout (docs/formats/stream.md).\n"
      "It is started by culprit record and ends when its stdin is closed.\n\n",
      options_help(kOptions));
}

Result<std::vector<PortRange>> parse_ports(std::string_view text) {
  std::vector<PortRange> ports;
  for (std::string_view part : split(text, ',')) {
    part = trim(part);
    if (part.empty()) continue;
    size_t dash = part.find('-');
    auto first = parse_int(part.substr(0, dash));
    auto last = dash == std::string_view::npos ? first : parse_int(part.substr(dash + 1));
    if (!first || !last || *first < 1 || *last > 65535 || *first > *last)
      return usage_error(cat("'", printable(part), "' is not a port or a range of ports"),
                         "write it like 49152-60999,9422");
    ports.push_back({static_cast<int>(*first), static_cast<int>(*last)});
  }
  return ports;
}

std::string format_ports(const std::vector<PortRange>& ports) {
  std::vector<std::string> parts;
  for (const PortRange& range : ports)
    parts.push_back(range.first == range.last ? cat(range.first) : cat(range.first, "-", range.last));
  return join(parts, ",");
}

}  // namespace culprit
