// What a run says about itself: the manifest, and the events in it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/cluster.h"

namespace culprit {

constexpr int kRunVersion = 1;

struct Event {
  int64_t t_ns = 0;
  std::string node;  // "" concerns the whole run
  std::string kind;  // mark, phase, fault, gap, note
  std::string text;
};

// Per node: what it is, how far its clock was off (its wall clock minus ours), what was lost.
struct NodeReport {
  std::string name;
  int64_t clock_offset_ns = 0;
  int64_t clock_uncertainty_ns = 0;  // 0: the same clock
  int64_t samples = 0;
  int64_t skipped = 0;                             // ticks the node itself missed
  int64_t gaps = 0;                                // times the node went silent
  std::map<std::string, std::string> environment;  // kernel, tcp, schedulers, mounts
};

struct Manifest {
  int version = kRunVersion;
  std::string tool;    // "culprit 0.1.0"
  std::string origin;  // recorded, imported, simulated
  std::string source;  // command line, or the imported file's name
  int64_t start_ns = 0;
  int64_t end_ns = 0;       // 0 while it is being written
  int64_t interval_ns = 0;  // 0: unknown, the reader estimates it
  bool complete = false;
  std::string stopped;  // why it ended: "asked", "max-size", "disk full", "time over"
  Cluster cluster;
  std::vector<NodeReport> nodes;
  std::vector<std::string> notes;
  double own_cpu_seconds = 0;
  int64_t own_rss_bytes = 0;
  std::string checksum;                      // of metrics.sqlite: "xxh3:..."
  std::map<std::string, std::string> truth;  // simulated runs and campaigns: fault, server, seed, workload
};

}  // namespace culprit
