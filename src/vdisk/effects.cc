#include "vdisk/effects.h"

namespace culprit {

namespace {

constexpr std::string_view kNames[] = {"hidden", "slow", "flaky", "fail", "hang"};
static_assert(std::size(kNames) == std::size(kAllEffects));

}  // namespace

std::string_view effect_name(Effect effect) {
  return kNames[static_cast<size_t>(effect)];
}

std::optional<Effect> find_effect(std::string_view name) {
  for (Effect effect : kAllEffects)
    if (effect_name(effect) == name) return effect;
  return std::nullopt;
}

void DiskEffects::set_flaky(double probability, uint64_t seed, int64_t until, int64_t now) {
  bool goes_on = active(Effect::flaky, now) && probability == probability_ && seed == seed_;
  if (!goes_on) state_ = seed;
  probability_ = probability;
  seed_ = seed;
  set(Effect::flaky, until);
}

// SplitMix64: the same sequence from a seed everywhere, which the standard's distributions do not promise.
double DiskEffects::draw() {
  uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

bool DiskEffects::fails(int64_t now) {
  bool unlucky = active(Effect::flaky, now) && draw() < probability_;
  return unlucky || active(Effect::fail, now);
}

}  // namespace culprit
