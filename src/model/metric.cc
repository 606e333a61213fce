#include "model/metric.h"

#include "base/check.h"

namespace culprit {

namespace {

constexpr auto D = Resource::disk;
constexpr auto N = Resource::network;
constexpr auto S = Resource::system;

constexpr MetricInfo kTable[] = {
    {Metric::tps, "tps", "requests/s", D, false, "requests completed by the disks"},
    {Metric::rd_sec, "rd_sec", "sectors/s", D, true, "512-byte sectors read"},
    {Metric::wr_sec, "wr_sec", "sectors/s", D, true, "512-byte sectors written"},
    {Metric::avgrq_sz, "avgrq-sz", "sectors", D, false, "mean size of a request"},
    {Metric::avgqu_sz, "avgqu-sz", "requests", D, false, "mean number of requests in the queue or at the disk"},
    {Metric::await, "await", "ms", D, true,
     "mean time a request takes, queue included; a stalled disk shows its stall"},
    {Metric::svctm, "svctm", "ms", D, false, "busy time per request"},
    {Metric::util, "util", "%", D, false, "share of time with a request outstanding"},
    {Metric::rxpck, "rxpck", "packets/s", N, false, "packets received"},
    {Metric::txpck, "txpck", "packets/s", N, false, "packets sent"},
    {Metric::rxbyt, "rxbyt", "bytes/s", N, true, "bytes received"},
    {Metric::txbyt, "txbyt", "bytes/s", N, true, "bytes sent"},
    {Metric::cwnd_to_clients, "cwnd_to_clients", "segments", N, true,
     "congestion window of the server's sockets to its clients"},
    {Metric::cwnd_from_clients, "cwnd_from_clients", "segments", N, true,
     "congestion window of the clients' sockets to the server"},
    {Metric::retrans, "retrans", "segments/s", N, false, "TCP segments the node sent again"},
    {Metric::foreign_io, "foreign_io", "bytes/s", D, false,
     "bytes at the disks that the file system's daemons did not cause", true},
    {Metric::foreign_net, "foreign_net", "bytes/s", N, false,
     "bytes at the interfaces that were not on the file system's sockets", true},
    {Metric::cpu_busy, "cpu_busy", "%", S, false, "CPU time that was neither idle nor waiting"},
    {Metric::steal, "steal", "%", S, false, "CPU time the hypervisor gave to others"},
    {Metric::io_pressure, "io_pressure", "%", S, false, "time in which some task waited for I/O"},
};
static_assert(std::size(kTable) == kMetrics);

}  // namespace

std::span<const MetricInfo> metrics() {
  return kTable;
}

const MetricInfo& info(Metric metric) {
  const MetricInfo& row = kTable[static_cast<size_t>(metric)];
  CHECK(row.id == metric) << row.name;
  return row;
}

const MetricInfo* find_metric(std::string_view name) {
  if (name == "%util" || name == "util-percent") name = "util";
  if (name == "cwnd") name = "cwnd_to_clients";
  for (const MetricInfo& row : kTable)
    if (row.name == name) return &row;
  return nullptr;
}

std::string_view name_of(Resource resource) {
  constexpr std::string_view kNames[] = {"disk", "network", "system"};
  return kNames[static_cast<size_t>(resource)];
}

}  // namespace culprit
