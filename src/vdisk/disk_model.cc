#include "vdisk/disk_model.h"

#include <vector>

#include "base/text.h"
#include "base/units.h"

namespace culprit {

namespace {

constexpr int64_t kMinRate = 10'000;          // slower, and one request takes minutes
constexpr int64_t kMaxRate = 10'000'000'000;  // faster than any device the machine could imitate
constexpr int64_t kMaxSeekNs = 10 * kNsPerSecond;

constexpr DiskPreset kPresets[] = {
    {"none", {0, 0}, "no model: as fast as the machine can"},
    // The papers' disk moves about 70 MB/s with 8 ms seeks. Several of them at that rate need more CPU than a laptop
    // has, and then the model breaks; a fifth of the rate and half of the seek keep the proportions of a busy server.
    {"barracuda7200", {15'000'000, 4 * kNsPerMs}, "a 7200/min disk, scaled down: 15 MB/s, 4 ms per seek"},
    {"ssd", {60'000'000, 100 * kNsPerUs}, "a solid-state disk, scaled down: 60 MB/s, 0.1 ms per access"},
};

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const DiskPreset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

Error unknown_model(std::string_view text) {
  std::string near = did_you_mean(text, preset_names());
  std::string hint = near.empty() ? cat("models: ", join(preset_names(), ", "), ", or numbers like rate=15MB,seek=4ms")
                                  : cat("did you mean ", near, "?");
  return usage_error(cat("there is no disk model '", printable(text), "'"), hint);
}

Status read_part(std::string_view part, DiskModel& model) {
  size_t equals = part.find('=');
  if (equals == std::string_view::npos) return unknown_model(part);
  std::string_view key = part.substr(0, equals);
  std::string_view value = part.substr(equals + 1);
  if (key == "rate") {
    ASSIGN_OR_RETURN(model.rate, parse_bytes(value));
    if (model.rate != 0 && (model.rate < kMinRate || model.rate > kMaxRate))
      return usage_error(cat("rate=", printable(value), " is not between 10kB and 10GB per second"));
    return Ok{};
  }
  if (key == "seek") {
    ASSIGN_OR_RETURN(model.seek_ns, parse_duration(value));
    if (model.seek_ns > kMaxSeekNs) return usage_error(cat("seek=", printable(value), " is longer than 10s"));
    return Ok{};
  }
  return usage_error(cat("a disk model has no '", printable(key), "'"), "write it like rate=15MB,seek=4ms");
}

}  // namespace

std::span<const DiskPreset> disk_presets() {
  return kPresets;
}

Result<DiskModel> parse_disk_model(std::string_view text) {
  for (const DiskPreset& preset : kPresets)
    if (preset.name == text) return preset.model;
  if (text.find('=') == std::string_view::npos) return unknown_model(text);
  DiskModel model{-1, 0};
  for (std::string_view part : split(text, ',')) RETURN_IF_ERROR(read_part(part, model));
  if (model.rate < 0) return usage_error("the disk model has no rate", "write it like rate=15MB,seek=4ms");
  if (model.rate == 0) model.seek_ns = 0;
  return model;
}

std::string format_disk_model(const DiskModel& model) {
  if (!model.modelled()) return "none";
  return cat("rate=", model.rate, ",seek=", model.seek_ns, "ns");
}

}  // namespace culprit
