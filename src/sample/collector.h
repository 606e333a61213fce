// A collector reads one kind of counters of this node, once per tick. One file each in collectors/.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/cluster.h"
#include "model/sample.h"

namespace culprit {

class DaemonTable;

// What collectors may know and touch. Tests give a fixture tree as root.
struct SampleEnv {
  std::string root;                   // "" or a folder that holds proc/ and sys/
  Node node;                          // whose disks, NICs and daemons are wanted (all when empty)
  std::vector<PortRange> data_ports;  // sockets wanted, besides those of the daemons (all when both are empty)
  std::vector<std::string> daemons;
  int64_t interval_ns = 1'000'000'000;
  std::shared_ptr<DaemonTable> daemon_table;  // shared by process and tcp; the sampler makes it
};

// The table of `env`, or a new one for a collector that runs alone.
std::shared_ptr<DaemonTable> daemon_table_of(const SampleEnv& env);

// Hands out the small numbers of devices, flows and daemons, and keeps their names printable.
class KeyCounter {
 public:
  uint32_t add(Sample& sample, const Source& source, std::string name, std::string detail);

 private:
  uint32_t last_ = 0;
};

class Collector {
 public:
  virtual ~Collector() = default;
  // Appends this tick's rows. An error means that nothing could be read in this tick; the sampler says so once.
  virtual Status collect(Sample& sample) = 0;
};

struct CollectorInfo {
  std::string_view name;
  std::string_view summary;
  const Source* source;
  std::string_view needs;  // privilege or kernel feature, in words; "" when anybody can read it
  std::unique_ptr<Collector> (*make)(const SampleEnv& env, KeyCounter& keys);
  // Whether it works here, and why not; for `culprit check`.
  Status (*probe)(const SampleEnv& env);
};

std::span<const CollectorInfo* const> sample_collectors();

}  // namespace culprit
