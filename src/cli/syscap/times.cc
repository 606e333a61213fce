#include "cli/syscap/times.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "analyse/call_data.h"
#include "base/text.h"
#include "cli/out_file.h"

namespace culprit {

namespace {

// Conditions on single calls, which these sums do not answer.
constexpr std::string_view kOfRecords[] = {"pid",   "tid",    "call",   "class", "kind", "path",
                                           "errno", "longer", "format", "stats", "json", "hash-paths"};

std::string times_csv(const CallData& data, const std::vector<std::string>& nodes) {
  std::string out = "second,server,metric,count,mean_ms\n";
  for (const NodeCalls& server : data.servers) {
    if (!nodes.empty() && std::find(nodes.begin(), nodes.end(), server.name) == nodes.end()) continue;
    for (size_t i = 0; i < kCallTimes; ++i)
      for (const auto& [second, sum] : server.times[i])
        out += fmt::format("{},{},{},{},{:.6f}\n", second, server.name, name_of(static_cast<CallTime>(i)), sum.count,
                           sum.mean_ms());
  }
  return out;
}

}  // namespace

Result<int> show_times(const Args& args) {
  if (!args.rest.empty()) return usage_error("show runs no command", "leave out what follows --");
  for (std::string_view option : kOfRecords)
    if (args.has(option))
      return usage_error(cat("--times is a table of its own, and --", option, " does not apply to it"),
                         "only --node, --since, --until and --out do");
  ASSIGN_OR_RETURN(const RunReader run, RunReader::open(args.positionals[1]));
  CallOptions options;
  options.since = args.get("since");
  options.until = args.get("until");
  ASSIGN_OR_RETURN(const CallData data, load_call_data(run, options));
  for (const std::string& name : args.all("node"))
    if (data.server(name) == nullptr) return usage_error(cat("there is no log of a server ", printable(name)));
  const std::string csv = times_csv(data, args.all("node"));
  for (const std::string& note : data.notes) say(cat("note: ", note));
  if (!args.has("out")) {
    print(csv);
    return kExitHealthy;
  }
  OutFile file(args.get("out"));
  RETURN_IF_ERROR(file.open());
  RETURN_IF_ERROR(file.write(csv));
  RETURN_IF_ERROR(file.close());
  return kExitHealthy;
}

}  // namespace culprit
