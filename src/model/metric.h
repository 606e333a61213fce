// The derived metrics: what admins read and detectors judge. One row each; analyse/derive.cc computes them.
#pragma once

#include <span>
#include <string_view>

namespace culprit {

enum class Metric {
  tps,
  rd_sec,
  wr_sec,
  avgrq_sz,
  avgqu_sz,
  await,
  svctm,
  util,
  rxpck,
  txpck,
  rxbyt,
  txbyt,
  cwnd_to_clients,
  cwnd_from_clients,
  retrans,
  foreign_io,
  foreign_net,
  cpu_busy,
  steal,
  io_pressure,
  count
};
constexpr size_t kMetrics = static_cast<size_t>(Metric::count);

enum class Resource { disk, network, system };

struct MetricInfo {
  Metric id;
  std::string_view name;
  std::string_view unit;
  Resource resource;
  bool indicting;  // fast10 rule 2: may convict a server; the others are shown as evidence
  std::string_view help;
  bool may_be_negative = false;  // a difference of two counters that move at different times
};

std::span<const MetricInfo> metrics();
const MetricInfo& info(Metric metric);
const MetricInfo* find_metric(std::string_view name);  // also by its other names: %util, cwnd
std::string_view name_of(Resource resource);

}  // namespace culprit
