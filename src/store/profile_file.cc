#include "store/profile_file.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/text.h"

namespace culprit {

namespace {

using Json = nlohmann::json;  // read: ordered_json copies as it grows, and deep nesting then overflows the stack
using OrderedJson = nlohmann::ordered_json;

Error broken(const std::string& name, const std::string& what) {
  return input_error(cat(name, " is not a usable profile: ", what), "make one with culprit train");
}

// A number that is there and finite; a profile has no other.
bool number(const Json& json, double& out) {
  if (!json.is_number()) return false;
  out = json.get<double>();
  return std::isfinite(out);
}

Status read_thresholds(const Json& json, const std::string& name, Profile& profile) {
  if (!json.is_object()) return broken(name, "'thresholds' is missing");
  for (const auto& [metric, servers] : json.items()) {
    if (!servers.is_object()) return broken(name, cat("'thresholds.", printable(metric), "' is not a table"));
    for (const auto& [server, row] : servers.items()) {
      if (!row.is_object()) return broken(name, cat("the row of ", printable(server), " is not a table"));
      for (const auto& [key, value] : row.items())
        if (!number(value, profile.thresholds[metric][server][key]))
          return broken(name, cat("'", printable(key), "' of ", printable(server), " is not a number"));
    }
  }
  return Ok{};
}

}  // namespace

Result<Profile> parse_profile(const std::string& text, const std::string& name) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return broken(name, "it is not a JSON object");
  Profile profile;
  if (!json.contains("version") || !json["version"].is_number_integer()) return broken(name, "'version' is missing");
  profile.version = json["version"].get<int>();
  if (profile.version != kProfileVersion)
    return unsupported_error(
        cat(name, " has profile version ", profile.version, ", this culprit reads ", kProfileVersion),
        "train it again with this culprit");
  if (!json.contains("detector") || !json["detector"].is_string()) return broken(name, "'detector' is missing");
  profile.detector = json["detector"].get<std::string>();
  if (json.contains("interval_ns") && json["interval_ns"].is_number_integer())
    profile.interval_ns = json["interval_ns"].get<int64_t>();
  profile.simulated = json.contains("simulated") && json["simulated"] == true;
  if (json.contains("runs") && json["runs"].is_array())
    for (const Json& run : json["runs"])
      if (run.is_string()) profile.runs.push_back(run.get<std::string>());
  if (json.contains("parameters") && json["parameters"].is_object())
    for (const auto& [key, value] : json["parameters"].items())
      if (!number(value, profile.parameters[key]))
        return broken(name, cat("parameter ", printable(key), " is not a number"));
  RETURN_IF_ERROR(read_thresholds(json.contains("thresholds") ? json["thresholds"] : Json(), name, profile));
  return profile;
}

Result<Profile> read_profile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, read_file(path));
  return parse_profile(text, path);
}

std::string format_profile(const Profile& profile) {
  OrderedJson json = {
      {"version", profile.version},     {"detector", profile.detector}, {"interval_ns", profile.interval_ns},
      {"simulated", profile.simulated}, {"runs", profile.runs},         {"parameters", profile.parameters}};
  json["thresholds"] = profile.thresholds;
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace culprit
