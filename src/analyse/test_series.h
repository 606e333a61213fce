// Series for the tests of detectors: seeded noise around a level, the same on every machine.
#pragma once

#include <cmath>
#include <random>
#include <string>

#include "analyse/series.h"

namespace culprit {

inline SeriesSet make_series(size_t servers, size_t ticks) {
  SeriesSet out;
  out.run = "test";
  out.interval_ns = 1'000'000'000;
  out.start_ns = int64_t{1'767'225'600} * 1'000'000'000;
  out.ticks = ticks;
  for (size_t i = 0; i < servers; ++i) out.servers.push_back("s" + std::to_string(i + 1));
  out.sampled.assign(servers, std::vector<bool>(ticks, true));
  return out;
}

// level x (1 + noise x u), u uniform in [-1, 1): mt19937 and this scaling are the same everywhere.
inline void fill(SeriesSet& set, Metric metric, size_t server, double level, double noise, unsigned seed,
                 size_t from = 0, size_t until = static_cast<size_t>(-1)) {
  std::mt19937 random(seed * 7919 + static_cast<unsigned>(server) * 104729 + static_cast<unsigned>(metric));
  Series& series = set.make(metric)[server];
  for (size_t t = 0; t < set.ticks; ++t) {
    const double u = static_cast<double>(random()) / 2147483648.0 - 1;
    if (t >= from && t < until) series[t] = level * (1 + noise * u);
  }
}

// Healthy servers that write, with all indicting metrics.
inline SeriesSet healthy(size_t servers, size_t ticks, unsigned seed, double noise = 0.1) {
  SeriesSet set = make_series(servers, ticks);
  for (size_t i = 0; i < servers; ++i) {
    fill(set, Metric::rd_sec, i, 4000, noise, seed);
    fill(set, Metric::wr_sec, i, 10000, noise, seed);
    fill(set, Metric::await, i, 8, noise, seed);
    fill(set, Metric::rxbyt, i, 5e6, noise, seed);
    fill(set, Metric::txbyt, i, 2e6, noise, seed);
    fill(set, Metric::cwnd_to_clients, i, 60, noise, seed);
    fill(set, Metric::cwnd_from_clients, i, 80, noise, seed);
  }
  return set;
}

}  // namespace culprit
