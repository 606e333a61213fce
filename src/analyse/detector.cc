#include "analyse/detector.h"

#include <cmath>
#include <cstdio>

#include "base/text.h"

namespace culprit {

Parameters::Parameters(std::span<const Parameter> rows) : rows_(rows) {
  for (const Parameter& row : rows) values_[std::string(row.name)] = row.value;
}

Status Parameters::set(std::string_view name, double value) {
  std::vector<std::string> names;
  for (const Parameter& row : rows_) {
    names.emplace_back(row.name);
    if (row.name != name) continue;
    if (!(value >= row.low && value <= row.high)) {
      char range[96];
      std::snprintf(range, sizeof range, "it must lie between %g and %g", row.low, row.high);
      return usage_error(cat("parameter ", name, " is out of range"), range);
    }
    values_[std::string(name)] = value;
    return Ok{};
  }
  const std::string near = did_you_mean(name, names);
  return usage_error(cat("there is no parameter '", printable(name), "'"),
                     near.empty() ? cat("parameters: ", join(names, " ")) : cat("did you mean ", near, "?"));
}

Status Parameters::set_all(const std::map<std::string, double>& values) {
  for (const auto& [name, value] : values) RETURN_IF_ERROR(set(name, value));
  return Ok{};
}

double Parameters::operator[](std::string_view name) const {
  auto found = values_.find(name);
  CHECK(found != values_.end()) << name;
  return found->second;
}

int Parameters::integer(std::string_view name) const {
  return static_cast<int>(std::lround((*this)[name]));
}

Result<const DetectorInfo*> find_detector(std::string_view name) {
  std::vector<std::string> names;
  for (const DetectorInfo* detector : analyse_detectors()) {
    if (detector->name == name) return detector;
    names.emplace_back(detector->name);
  }
  const std::string near = did_you_mean(name, names);
  return usage_error(cat("there is no detector '", printable(name), "'"),
                     near.empty() ? cat("detectors: ", join(names, ", ")) : cat("did you mean ", near, "?"));
}

}  // namespace culprit
