// Metrics that another tool derived per device (sadf, CSV), brought together per server.
#include <unordered_map>

#include "analyse/derive.h"

namespace culprit {

namespace {

enum class Sum { add, mean, by_requests };  // how devices make a server: rates add, latencies weigh by requests

Sum how(Metric metric) {
  switch (metric) {
    case Metric::await:
    case Metric::svctm:
    case Metric::avgrq_sz:
      return Sum::by_requests;
    case Metric::util:
    case Metric::cwnd_to_clients:
    case Metric::cwnd_from_clients:
    case Metric::cpu_busy:
    case Metric::steal:
    case Metric::io_pressure:
      return Sum::mean;
    default:
      return Sum::add;
  }
}

uint64_t place(const SampleInfo& sample, uint32_t key) {
  return static_cast<uint64_t>(sample.id) << 24 ^ key;
}

struct Cell {
  int64_t sample = 0;  // of several samples in one tick the last wins
  double sum = 0;
  double weight = 0;
};

using Cells = std::vector<std::vector<std::vector<Cell>>>;  // [metric][server][tick]

}  // namespace

Status derive_values(Frame& frame) {
  const std::vector<bool> disks = summed_keys(frame, "value", Resource::disk);
  const std::vector<bool> nics = summed_keys(frame, "value", Resource::network);
  std::unordered_map<uint64_t, double> requests;
  RETURN_IF_ERROR(
      frame.run.scan_values([&](const SampleInfo& s, uint32_t key, const std::string& metric, double value) {
        if (metric == info(Metric::tps).name) requests[place(s, key)] = value;
      }));
  Cells cells(kMetrics);
  RETURN_IF_ERROR(frame.run.scan_values([&](const SampleInfo& s, uint32_t key, const std::string& name, double value) {
    const MetricInfo* metric = find_metric(name);
    const size_t server = frame.server_of_node[s.node];
    size_t tick = 0;
    if (!metric || server == kNoServer) return;
    const bool summed = metric->resource == Resource::disk ? disks[key] : nics[key];
    if (!summed || !frame.tick_of(s.t_ns, tick)) return;
    double weight = 1;
    if (how(metric->id) == Sum::by_requests) {
      auto found = requests.find(place(s, key));
      if (found != requests.end()) weight = found->second;
      if (weight <= 0 && value <= 0) return;  // other tools print 0 ms for a tick without requests: no latency in it
      if (weight <= 0) weight = 1;            // no request done and yet a latency: that of a stalled disk
    }
    auto& column = cells[static_cast<size_t>(metric->id)];
    if (column.empty()) column.assign(frame.out.servers.size(), std::vector<Cell>(frame.out.ticks));
    Cell& cell = column[server][tick];
    if (s.id < cell.sample) return;
    if (s.id > cell.sample) cell = {s.id, 0, 0};
    cell.sum += value * weight;
    cell.weight += weight;
  }));
  for (const MetricInfo& metric : metrics()) {
    const auto& column = cells[static_cast<size_t>(metric.id)];
    for (size_t i = 0; i < column.size(); ++i)
      for (size_t t = 0; t < column[i].size(); ++t)
        if (column[i][t].weight > 0)
          frame.put(metric.id, i, t,
                    how(metric.id) == Sum::add ? column[i][t].sum : column[i][t].sum / column[i][t].weight);
  }
  return Ok{};
}

}  // namespace culprit
