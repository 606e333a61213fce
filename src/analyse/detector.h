// A detector turns series, or system calls, into a verdict: a pure function with parameters. One file each in
// detectors/.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/call_data.h"
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
  // A detector looks at series or at system calls: one of the two pairs is there. `train` is null when it needs none.
  Result<Profile> (*train)(std::span<const SeriesSet> runs, const Parameters& parameters);
  Result<Verdict> (*diagnose)(const SeriesSet& series, const Profile* profile, const Parameters& parameters);
  Result<Profile> (*train_calls)(std::span<const CallData> runs, const Parameters& parameters) = nullptr;
  Result<Verdict> (*diagnose_calls)(const CallData& calls, const Profile* profile,
                                    const Parameters& parameters) = nullptr;

  bool reads_calls() const { return diagnose_calls != nullptr; }
  bool can_train() const { return train != nullptr || train_calls != nullptr; }
};

std::span<const DetectorInfo* const> analyse_detectors();

Result<const DetectorInfo*> find_detector(std::string_view name);

}  // namespace culprit
