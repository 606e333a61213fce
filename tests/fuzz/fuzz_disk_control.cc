// The control lines of virtual disks, and the spindle under whatever they ask for: lines in, one second passes after
// each. What is accepted must be within its limits, and no time may run backwards.
#include <cstdint>
#include <cstdlib>

#include "base/procfile.h"
#include "vdisk/control.h"

namespace {

using namespace culprit;

constexpr int64_t kSecond = 1'000'000'000;

void check_limits(const DiskCommand& command) {
  bool needs_disk = command.verb != DiskVerb::list && command.verb != DiskVerb::quit;
  if (needs_disk != valid_disk_name(command.disk)) std::abort();
  if (command.verb == DiskVerb::add && (command.size < (1 << 20) || command.size % 4096 != 0)) std::abort();
  if (command.verb != DiskVerb::effect) return;
  if (command.for_ns <= 0 || command.for_ns > kMaxEffectNs) std::abort();
  if (command.effect == Effect::hidden && !(command.hidden.share > 0 && command.hidden.share <= kMaxHiddenShare))
    std::abort();
}

void apply(const DiskCommand& command, Spindle& spindle, int64_t now) {
  if (command.model) spindle.set_model(*command.model, now);
  if (command.verb != DiskVerb::effect) return;
  if (command.effect == Effect::hidden) spindle.set_hidden(command.hidden, now + command.for_ns, now);
  if (command.effect == Effect::slow) spindle.set_slow(command.factor, now + command.for_ns, now);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size), line;
  Spindle spindle;
  int64_t now = 1000 * kSecond, offset = 0;
  while (next_line(text, line)) {
    auto command = parse_disk_command(line);
    if (!command) {
      if (command.error().what.empty() || format_disk_error(command.error()).find('\n') != std::string::npos)
        std::abort();
      continue;
    }
    check_limits(*command);
    apply(*command, spindle, now);
    if (spindle.begin(offset += 4096, 65536, now, now) && spindle.request_start() > spindle.request_end()) std::abort();
    now += kSecond;
    if (spindle.hidden(now).busy_ns < 0 || spindle.busy_until() < 0) std::abort();
  }
  return 0;
}
