#include "diskd/commands.h"

#include <unistd.h>

#include <cstdio>

#include "base/text.h"
#include "diskd/loop_guard.h"
#include "vdisk/control.h"

namespace culprit {

namespace {

using Answer = Result<std::string>;  // what follows "ok"

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

Answer list(DiskSet& disks, const DaemonInfo& daemon) {
  std::vector<std::string> names;
  for (const auto& disk : disks.all()) names.push_back(disk->name());
  return cat(" pid=", static_cast<int>(::getpid()), " private=", daemon.hidden_mount ? 1 : 0,
             " mount=", printable(daemon.mount, 4096), " disks=", join(names, ","));
}

// "active=slow,hang slow_left_ns=123 hang_left_ns=456", and what each was asked to do.
std::string active_effects(const DiskState& state) {
  std::vector<std::string> names;
  std::string left;
  for (Effect effect : kAllEffects) {
    int64_t left_ns = state.left_ns[static_cast<size_t>(effect)];
    if (left_ns == 0) continue;
    names.emplace_back(effect_name(effect));
    left += cat(" ", effect_name(effect), "_left_ns=", left_ns);
    if (effect == Effect::hidden)
      left += cat(" hidden_share=", number(state.hidden.share), " hidden_request_bytes=", state.hidden.bytes);
    if (effect == Effect::slow) left += cat(" slow_factor=", number(state.factor));
    if (effect == Effect::flaky) left += cat(" flaky_probability=", number(state.probability));
  }
  return cat(" active=", join(names, ","), left);
}

std::string status(Disk& disk, const DiskSet& disks) {
  DiskState state = disk.state();
  return cat(" name=", disk.name(), " size_bytes=", state.size, " model=", format_disk_model(state.model),
             " rate=", state.model.rate, " seek_ns=", state.model.seek_ns, " opens=", state.opens,
             " queued=", state.queued, " snapshot=", disks.folder().has_snapshot(disk.name()) ? 1 : 0,
             active_effects(state));
}

std::string direction(std::string_view name, const DirectionCounters& counters) {
  return cat(" ", name, "_requests=", counters.requests, " ", name, "_bytes=", counters.bytes, " ", name,
             "_busy_ns=", counters.busy_ns);
}

std::string counters(Disk& disk) {
  DiskCounters all = disk.counters();
  DirectionCounters hidden{all.hidden.requests, all.hidden.bytes, all.hidden.busy_ns};
  return cat(direction("read", all.read), direction("write", all.write), " flushes=", all.flushes, " trims=", all.trims,
             " errors=", all.errors, direction("hidden", hidden), active_effects(disk.state()));
}

Answer set_model(Disk& disk, const DiskModel& model, const DiskSet& disks) {
  RETURN_IF_ERROR(disk.set_model(model));
  RETURN_IF_ERROR(disks.folder().store_model(disk.name(), model));
  return cat(" model=", format_disk_model(model));
}

Answer snapshot(Disk& disk, const DiskSet& disks) {
  RETURN_IF_ERROR(disk.exclusively(false, [&] { return disks.folder().snapshot(disk.name(), disk.image()); }));
  return std::string();
}

// Nobody may use the device meanwhile, and what the kernel has cached of it must go, before and after. The cache is
// written back through this very disk, so it must be able to answer.
Answer restore(Disk& disk, const DiskSet& disks, const DaemonInfo& daemon) {
  DiskState state = disk.state();
  for (Effect effect : {Effect::flaky, Effect::fail, Effect::hang})
    if (state.left_ns[static_cast<size_t>(effect)] > 0)
      return input_error(cat(disk.name(), " is under ", effect_name(effect)), cat("heal ", disk.name(), " first"));
  if (!disks.folder().has_snapshot(disk.name()))
    return input_error(cat("there is no snapshot of ", disk.name()), "take one first");
  ASSIGN_OR_RETURN(LoopGuard guard, LoopGuard::claim(cat(disk.name(), ".img"), daemon.device, disk.inode()));
  RETURN_IF_ERROR(guard.drop_caches());
  RETURN_IF_ERROR(disk.exclusively(true, [&] { return disks.folder().restore(disk.name(), disk.image()); }));
  RETURN_IF_ERROR(guard.drop_caches());
  return std::string();
}

Answer on_disk(const DiskCommand& command, Disk& disk, DiskSet& disks, const DaemonInfo& daemon) {
  switch (command.verb) {
    case DiskVerb::status:
      return status(disk, disks);
    case DiskVerb::counters:
      return counters(disk);
    case DiskVerb::model:
      return set_model(disk, command.model.value(), disks);
    case DiskVerb::effect:
      RETURN_IF_ERROR(disk.apply(command));
      return active_effects(disk.state());
    case DiskVerb::heal:
      disk.heal(command.effect);
      return active_effects(disk.state());
    case DiskVerb::snapshot:
      return snapshot(disk, disks);
    case DiskVerb::restore:
      return restore(disk, disks, daemon);
    default:
      return input_error("this command has no disk");  // the others are done before
  }
}

Answer execute(const DiskCommand& command, DiskSet& disks, const DaemonInfo& daemon) {
  if (command.verb == DiskVerb::list) return list(disks, daemon);
  if (command.verb == DiskVerb::quit) {
    daemon.quit();
    return std::string();
  }
  if (command.verb == DiskVerb::add) {
    ASSIGN_OR_RETURN(std::shared_ptr<Disk> disk, disks.add(command.disk, command.size, command.model));
    return cat(" size_bytes=", disk->size());
  }
  if (command.verb == DiskVerb::remove) {
    RETURN_IF_ERROR(disks.remove(command.disk));
    return std::string();
  }
  std::shared_ptr<Disk> disk = disks.by_name(command.disk);
  if (!disk) return input_error(cat("there is no disk ", command.disk), "list shows them");
  return on_disk(command, *disk, disks, daemon);
}

}  // namespace

std::string answer_disk_command(std::string_view line, DiskSet& disks, const DaemonInfo& daemon) {
  auto command = parse_disk_command(line);
  if (!command) return format_disk_error(command.error());
  Answer answer = execute(*command, disks, daemon);
  return answer ? cat("ok", *answer) : format_disk_error(answer.error());
}

}  // namespace culprit
