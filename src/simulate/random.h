// Random numbers that are the same everywhere for the same seed. Ours because the distributions of <random> differ
// between standard libraries, so that a seed would not name a run.
#pragma once

#include <cstdint>

namespace culprit {

class Random {
 public:
  // Streams of one seed are independent: each server has its own, so that adding a server changes no other one.
  Random(uint64_t seed, uint64_t stream);

  uint64_t bits();
  double uniform();                            // in (0, 1)
  double normal();                             // mean 0, deviation 1
  int64_t between(int64_t low, int64_t high);  // both may come
  // Every call takes the same amount from the stream, whatever the mean: a fault must not shift later numbers.
  int64_t poisson(double mean);

 private:
  uint64_t state_[4];
};

// A factor that wanders around 1: log-normal, mean 1, with memory from tick to tick (AR(1)).
class Wander {
 public:
  Wander() = default;
  Wander(double deviation, double memory) : deviation_(deviation), memory_(memory) {}
  double next(Random& random);

 private:
  double deviation_ = 0;
  double memory_ = 0;
  double state_ = 0;
  bool started_ = false;
};

// Whole numbers from a rate: the rest is carried to the next tick, so that small rates are not rounded away.
class Carry {
 public:
  int64_t whole(double amount);

 private:
  double rest_ = 0;
};

}  // namespace culprit
