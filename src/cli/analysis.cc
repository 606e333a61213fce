#include "cli/analysis.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace culprit {

namespace {

constexpr size_t kMostPairs = 12;  // on a line; the profile itself has them all

// "  dread   deviations up to 0.21-3.10 ms; saturated: s2"
std::string deviation_line(const std::string& metric,
                           const std::map<std::string, std::map<std::string, double>>& rows) {
  double low = 1e300, high = 0;
  std::string saturated;
  for (const auto& [server, row] : rows) {
    auto deviation = row.find("deviation_ms");
    if (server == "*" || deviation == row.end()) continue;
    low = std::min(low, deviation->second);
    high = std::max(high, deviation->second);
    auto full = row.find("saturated");
    if (full != row.end() && full->second > 0) saturated += " " + server;
  }
  return fmt::format("  {:<7} largest deviations of a server {:.3g} to {:.3g} ms{}{}\n", metric, std::min(low, high),
                     high, saturated.empty() ? "" : "; saturated:", saturated);
}

std::string pairs_line(const Profile& profile, std::string_view prefix, std::string_view where) {
  std::vector<std::string> pairs;
  for (const auto& [metric, rows] : profile.thresholds)
    if (metric.starts_with(prefix)) pairs.push_back(printable(metric.substr(prefix.size())));
  const size_t all = pairs.size();
  if (all > kMostPairs) pairs.resize(kMostPairs);
  return fmt::format("  {} pairs of call and errno are daily work at {}{}{}{}\n", all, where, all > 0 ? ": " : "",
                     join(pairs, " "), all > kMostPairs ? " ..." : "");
}

}  // namespace

std::string call_profile_text(const Profile& profile) {
  std::string out;
  for (const auto& [metric, rows] : profile.thresholds)
    if (rows.count("*") && rows.at("*").count("deviation_ms")) out += deviation_line(metric, rows);
  if (!out.empty()) return out;
  return pairs_line(profile, "expected:", "the servers") + pairs_line(profile, "expected_at_client:", "the clients");
}

Status apply_parameters(const std::vector<std::string>& words, const DetectorInfo& detector, bool training,
                        Parameters& parameters) {
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const auto value =
        equals == std::string::npos ? std::nullopt : parse_double(std::string_view(word).substr(equals + 1));
    if (!value) return usage_error(cat("'", printable(word), "' is not a parameter"), "write it like --param k=3");
    std::string_view name = std::string_view(word).substr(0, equals);
    const std::string prefix = cat(detector.name, ".");
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());  // as culprit list parameters writes it
    for (const Parameter& row : detector.parameters)
      if (row.name == name && row.training && !training)
        return usage_error(cat("parameter ", name, " changes nothing here"), "give it to culprit train");
    RETURN_IF_ERROR(parameters.set(name, *value));
  }
  return Ok{};
}

}  // namespace culprit
