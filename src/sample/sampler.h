// One node's sampler: all collectors, one sample per tick; when ticks are; and what the node is.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sample/collector.h"

namespace culprit {

class Sampler {
 public:
  explicit Sampler(SampleEnv env);
  Sampler(const Sampler&) = delete;  // collectors hold a reference to the key counter
  Sampler& operator=(const Sampler&) = delete;

  // Clears the sample and fills it. A collector that fails leaves a gap, and a note the first time it says so.
  void take(Sample& sample);

 private:
  struct Entry {
    const CollectorInfo* info;
    std::unique_ptr<Collector> collector;
    std::string last_error;
  };

  SampleEnv env_;
  KeyCounter keys_;
  std::vector<Entry> entries_;
};

// Kernel, TCP, schedulers, mounts: what must be known to compare one run with another. Goes into the manifest.
std::map<std::string, std::string> environment(const SampleEnv& env);

// The first multiple of the interval on the wall clock after `wall_ns`: ticks of all nodes coincide, and no error adds
// up.
int64_t next_tick(int64_t wall_ns, int64_t interval_ns);
// Ticks missed between two samples, by the monotonic clock: a wall clock that is set is no loss.
int64_t skipped_ticks(int64_t last_mono_ns, int64_t mono_ns, int64_t interval_ns);

// When to sample next. The caller reads the clocks, so that tests can.
class Ticker {
 public:
  Ticker(int64_t interval_ns, int64_t wall_ns) : interval_ns_(interval_ns), next_ns_(next_tick(wall_ns, interval_ns)) {}

  // Time until the next tick; never more than one interval, also when the wall clock was set back.
  int64_t wait_ns(int64_t wall_ns);
  // Call when a sample is begun: returns the ticks that were missed before it.
  int64_t begin(int64_t wall_ns, int64_t mono_ns);

 private:
  int64_t interval_ns_;
  int64_t next_ns_;
  int64_t last_mono_ns_ = -1;
};

}  // namespace culprit
