// A detector turns series into a verdict: a pure function with parameters. One file each in detectors/.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/series.h"
#include "base/result.h"
#include "model/profile.h"
#include "model/verdict.h"

namespace culprit {

struct Parameter {
  std::string_view name;
  double value;  // the default
  double low;
  double high;
  std::string_view help;
  bool training = false;  // it matters to train only
};

// All parameters of a detector with their values; names that the detector does not have are a usage error.
class Parameters {
 public:
  explicit Parameters(std::span<const Parameter> rows);
  Status set(std::string_view name, double value);
  Status set_all(const std::map<std::string, double>& values);
  double operator[](std::string_view name) const;
  int integer(std::string_view name) const;
  const std::map<std::string, double, std::less<>>& all() const { return values_; }

 private:
  std::span<const Parameter> rows_;
  std::map<std::string, double, std::less<>> values_;
};

struct DetectorInfo {
  std::string_view name;
  std::string_view summary;
  std::span<const Parameter> parameters;
  // Null when the detector needs no training.
  Result<Profile> (*train)(std::span<const SeriesSet> runs, const Parameters& parameters);
  Result<Verdict> (*diagnose)(const SeriesSet& series, const Profile* profile, const Parameters& parameters);
};

std::span<const DetectorInfo* const> analyse_detectors();

Result<const DetectorInfo*> find_detector(std::string_view name);

}  // namespace culprit
