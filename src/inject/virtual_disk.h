// Effects of a virtual disk (slow, flaky, fail) as faults use them: asked for with the lease as their deadline, so that
// the disk heals itself when nobody prolongs them any more.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "inject/fault.h"
#include "vdisk/client.h"

namespace culprit {

// The virtual disk of the part (preflight.h chosen_disk), into the notes; refused while the effect is active already.
Status note_virtual_disk(FaultWork& work, std::string_view effect);
Result<std::string> noted_virtual_disk(const FaultWork& work);
bool has_noted_virtual_disk(const FaultWork& work);

Result<DiskAnswer> ask_disk(std::string_view line);
// `arguments` like "factor=4"; for= is added.
Status set_disk_effect(const FaultWork& work, std::string_view effect, std::string_view arguments);
Status heal_disk_effect(const FaultWork& work, std::string_view effect);
// Requests that the disk has failed since note_virtual_disk. After one, what the kernel has cached of the disk may
// differ from what is on it, and it may notice much later.
Result<bool> disk_has_failed_requests(const FaultWork& work);
Result<bool> disk_effect_is_active(const FaultWork& work, std::string_view effect);

}  // namespace culprit
