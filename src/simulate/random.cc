#include "simulate/random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace culprit {

namespace {

// splitmix64 fills the state: it never leaves all zeros and separates neighbouring seeds.
uint64_t splitmix(uint64_t& x) {
  uint64_t z = (x += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

constexpr double kSmallMean = 30;  // above it a normal distribution is close enough to a Poisson one

}  // namespace

Random::Random(uint64_t seed, uint64_t stream) {
  uint64_t x = seed;
  x = splitmix(x) ^ (stream * 0xd1342543de82ef95ULL);
  for (uint64_t& word : state_) word = splitmix(x);
}

// xoshiro256**, by its published recurrence.
uint64_t Random::bits() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Random::uniform() {
  return (static_cast<double>(bits() >> 11) + 0.5) * 0x1.0p-53;
}

// Box-Muller. The second number is dropped: keeping it would make the stream depend on who asked before.
double Random::normal() {
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

int64_t Random::between(int64_t low, int64_t high) {
  const double span = static_cast<double>(high - low) + 1;
  return low + static_cast<int64_t>(uniform() * span);
}

int64_t Random::poisson(double mean) {
  const double z = normal();
  const double u = uniform();
  if (mean <= 0) return 0;
  if (mean > kSmallMean) return std::max<int64_t>(0, std::llround(mean + std::sqrt(mean) * z));
  double probability = std::exp(-mean), sum = probability;
  int64_t count = 0;
  while (u > sum && count < 200) {  // 200: far beyond any mean up to 30, in case rounding keeps the sum below u
    ++count;
    probability *= mean / static_cast<double>(count);
    sum += probability;
  }
  return count;
}

double Wander::next(Random& random) {
  const double z = random.normal();
  state_ = started_ ? memory_ * state_ + std::sqrt(1 - memory_ * memory_) * z : z;
  started_ = true;
  return std::exp(deviation_ * state_ - deviation_ * deviation_ / 2);
}

int64_t Carry::whole(double amount) {
  rest_ += amount;
  const double whole = std::floor(rest_);
  rest_ -= whole;
  return static_cast<int64_t>(whole);
}

}  // namespace culprit
