// What a virtual disk costs: seek time and transfer rate, by preset or in numbers. One table of presets.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace culprit {

struct DiskModel {
  int64_t rate = 0;     // bytes per second; 0: no model, as fast as the machine can
  int64_t seek_ns = 0;  // for a request that does not begin where the one before it ended

  bool modelled() const { return rate > 0; }
  bool operator==(const DiskModel&) const = default;
};

struct DiskPreset {
  std::string_view name;
  DiskModel model;
  std::string_view summary;
};

std::span<const DiskPreset> disk_presets();

// "barracuda7200", "none" or "rate=15MB,seek=4ms" (one of the two may be missing: seek=0, rate must be there).
Result<DiskModel> parse_disk_model(std::string_view text);
// The same in numbers, without blanks: "rate=15000000,seek=4000000ns" or "none". parse_disk_model reads it back.
std::string format_disk_model(const DiskModel& model);

}  // namespace culprit
