// From a run's rows to the metrics of model/metric.h. Used by series.cc only; one function per kind of source.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analyse/series.h"
#include "model/cluster.h"

namespace culprit {

constexpr size_t kNoServer = static_cast<size_t>(-1);

// What the derivers share: where in the series a row belongs.
struct Frame {
  const RunReader& run;
  SeriesSet& out;
  std::vector<size_t> server_of_node;  // kNoServer: a client, or left out
  int64_t first_tick = 0;              // in intervals since 1970
  int64_t longest_ns = 0;              // a difference over more than this is a gap
  int cwnd_span = 31;

  // The tick a sample belongs to; false when it lies outside the series.
  bool tick_of(int64_t t_ns, size_t& tick) const;
  void put(Metric metric, size_t server, size_t tick, double value);
  void note(std::string text);  // once
};

// The keys of a source that are summed, as disks or as interfaces, into their node's metrics: those named in the
// cluster file, or all that are not stacked on others, so that nothing counts twice.
std::vector<bool> summed_keys(Frame& frame, std::string_view source, Resource resource);
// "word=value" in a key's detail, "" when it is not there.
std::string detail_value(const std::string& detail, std::string_view word);

// By key: a TCP socket of the file system at a server, loopback not counted.
std::vector<bool> file_system_sockets(const Frame& frame);

Status derive_disk(Frame& frame);
Status derive_network(Frame& frame);
Status derive_congestion(Frame& frame);
Status derive_node(Frame& frame);     // netstat and system
Status derive_foreign(Frame& frame);  // after disk and network
Status derive_values(Frame& frame);   // what an import brought

}  // namespace culprit
