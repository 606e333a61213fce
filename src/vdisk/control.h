// The lines that the disk daemon understands (docs/formats/disk_control.md): text in, a command out. Anything may come
// in here, so every line is bounded and every word is checked before it does something.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "vdisk/disk_model.h"
#include "vdisk/effects.h"
#include "vdisk/spindle.h"

namespace culprit {

constexpr size_t kMaxControlLine = 1024;                         // the longest that makes sense has about 100
constexpr int64_t kMaxEffectNs = int64_t{3600} * 1'000'000'000;  // nobody is left alone with a broken disk for longer
constexpr double kMaxHiddenShare = 0.95;  // with all of the time the device would be hung: say hang

enum class DiskVerb { list, add, remove, status, model, effect, heal, counters, snapshot, restore, quit };

struct DiskCommand {
  DiskVerb verb = DiskVerb::list;
  std::string disk;
  int64_t size = 0;                // add
  std::optional<DiskModel> model;  // add, model
  std::optional<Effect> effect;    // effect; heal: that one only
  int64_t for_ns = 0;              // effect
  HiddenLoad hidden;
  double factor = 1;
  double probability = 1;
  uint64_t seed = 0;
};

// Letters, digits, '.', '_' and '-', at most 64, beginning with a letter or digit.
bool valid_disk_name(std::string_view name);
Result<DiskCommand> parse_disk_command(std::string_view line);

// An answer's line, without its newline: "ok" or "error WHAT hint: HINT". Control bytes are escaped.
std::string format_disk_error(const Error& error);
Error parse_disk_error(std::string_view line);

}  // namespace culprit
