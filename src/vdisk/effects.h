// What is wrong with a virtual disk at this moment, and until when. Every effect has a deadline after which it is over
// without anybody's help; asking again moves the deadline. Pure: time is a parameter.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace culprit {

enum class Effect { hidden, slow, flaky, fail, hang };
constexpr Effect kAllEffects[] = {Effect::hidden, Effect::slow, Effect::flaky, Effect::fail, Effect::hang};

std::string_view effect_name(Effect effect);
std::optional<Effect> find_effect(std::string_view name);

class DiskEffects {
 public:
  void set(Effect effect, int64_t until) { until_[index(effect)] = until; }
  void heal(Effect effect) { until_[index(effect)] = kNever; }
  bool active(Effect effect, int64_t now) const { return now < until_[index(effect)]; }
  int64_t left_ns(Effect effect, int64_t now) const { return active(effect, now) ? until_[index(effect)] - now : 0; }
  int64_t until(Effect effect) const { return until_[index(effect)]; }

  // The same probability and seed again go on with the same sequence: prolonging changes nothing but the deadline.
  void set_flaky(double probability, uint64_t seed, int64_t until, int64_t now);
  double probability() const { return probability_; }
  // Does the request that begins now fail? Draws from the sequence while the disk is flaky.
  bool fails(int64_t now);

 private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::min();
  static size_t index(Effect effect) { return static_cast<size_t>(effect); }
  double draw();  // [0, 1)

  std::array<int64_t, std::size(kAllEffects)> until_ = {kNever, kNever, kNever, kNever, kNever};
  double probability_ = 0;
  uint64_t seed_ = 0;
  uint64_t state_ = 0;
};

}  // namespace culprit
