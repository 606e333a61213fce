// Metrics of the node as a whole, and what its disks and interfaces did that was not the file system's doing.
#include "analyse/derive.h"
#include "analyse/differences.h"

namespace culprit {

namespace {

constexpr double kSectorBytes = 512;

Status derive_loss(Frame& frame) {
  Differences differences(source_netstat, frame.longest_ns);
  const std::initializer_list<int> columns = {netstat_column::retrans_segments};
  return frame.run.scan(source_netstat, columns, [&](const SampleInfo& sample, uint32_t, std::span<const int64_t> row) {
    const size_t server = frame.server_of_node[sample.node];
    const Step* step = differences.step(sample, static_cast<uint32_t>(sample.node), row);
    size_t tick = 0;
    if (server == kNoServer || !step || !frame.tick_of(sample.t_ns, tick)) return;
    if (step->has(netstat_column::retrans_segments))
      frame.put(Metric::retrans, server, tick, step->at(netstat_column::retrans_segments) / step->seconds);
  });
}

void put_system(Frame& frame, size_t server, size_t tick, const Step& step) {
  using namespace system_column;
  double total = 0;
  for (int column = user_ms; column <= steal_ms; ++column) total += step.at(column);
  if (total > 0) {
    frame.put(Metric::cpu_busy, server, tick, 100 * (1 - (step.at(idle_ms) + step.at(iowait_ms)) / total));
    frame.put(Metric::steal, server, tick, 100 * step.at(steal_ms) / total);
  }
  if (step.has(psi_io_some_us))
    frame.put(Metric::io_pressure, server, tick, 100 * step.at(psi_io_some_us) / 1e6 / step.seconds);
}

// A counter that could not be read (a daemon's I/O without root, a socket's bytes on an old kernel) is not a zero.
double known(const Step& step, int column) {
  return step.has(column) ? step.at(column) : kMissing;
}

// Bytes per second of a source's rows summed per server and tick; kMissing where there are none, and where one of them
// is not known: the rest of them says nothing about the sum. Of several samples in a tick the last wins.
template <class Wanted, class Bytes>
Status sum_bytes(Frame& frame, const Source& source, std::initializer_list<int> columns, std::vector<Series>& out,
                 Wanted wanted, Bytes bytes) {
  Differences differences(source, frame.longest_ns);
  out.assign(frame.out.servers.size(), Series(frame.out.ticks, kMissing));
  std::vector<int64_t> last_sample(frame.out.servers.size(), -1);
  auto add = [&](const SampleInfo& sample, uint32_t key, std::span<const int64_t> row) {
    const size_t server = frame.server_of_node[sample.node];
    size_t tick = 0;
    if (server == kNoServer || !wanted(key) || !frame.tick_of(sample.t_ns, tick)) return;
    const Step* step = differences.step(sample, key, row);
    if (!step) return;
    double& cell = out[server][tick];
    if (last_sample[server] != sample.id) cell = 0;
    last_sample[server] = sample.id;
    cell += bytes(*step) / step->seconds;
  };
  return frame.run.scan(source, columns, add);
}

// put(metric, a + b - own) where all three are there.
void put_rest(Frame& frame, Metric metric, Metric a, Metric b, double factor, const std::vector<Series>& own) {
  if (!frame.out.has(a) || !frame.out.has(b)) return;
  for (size_t i = 0; i < own.size(); ++i)
    for (size_t t = 0; t < frame.out.ticks; ++t) {
      const double all = (frame.out.of(a)[i][t] + frame.out.of(b)[i][t]) * factor;
      if (!is_missing(all) && !is_missing(own[i][t])) frame.put(metric, i, t, all - own[i][t]);
    }
}

}  // namespace

Status derive_node(Frame& frame) {
  using namespace system_column;
  RETURN_IF_ERROR(derive_loss(frame));
  Differences differences(source_system, frame.longest_ns);
  const std::initializer_list<int> columns = {user_ms, nice_ms,    system_ms, idle_ms,       iowait_ms,
                                              irq_ms,  softirq_ms, steal_ms,  psi_io_some_us};
  return frame.run.scan(source_system, columns, [&](const SampleInfo& sample, uint32_t, std::span<const int64_t> row) {
    const size_t server = frame.server_of_node[sample.node];
    const Step* step = differences.step(sample, static_cast<uint32_t>(sample.node), row);
    size_t tick = 0;
    if (server != kNoServer && step && frame.tick_of(sample.t_ns, tick)) put_system(frame, server, tick, *step);
  });
}

Status derive_foreign(Frame& frame) {
  using namespace process_column;
  std::vector<Series> own;
  const std::initializer_list<int> disk = {read_bytes, write_bytes, cancelled_write_bytes};
  RETURN_IF_ERROR(sum_bytes(
      frame, source_process, disk, own, [](uint32_t) { return true; },
      [](const Step& s) { return known(s, read_bytes) + known(s, write_bytes) - known(s, cancelled_write_bytes); }));
  put_rest(frame, Metric::foreign_io, Metric::rd_sec, Metric::wr_sec, kSectorBytes, own);
  const std::vector<bool> ours = file_system_sockets(frame);
  const std::initializer_list<int> net = {tcp_column::bytes_sent, tcp_column::bytes_received};
  RETURN_IF_ERROR(sum_bytes(
      frame, source_tcp, net, own, [&](uint32_t key) { return ours[key]; },
      [](const Step& s) { return known(s, tcp_column::bytes_sent) + known(s, tcp_column::bytes_received); }));
  put_rest(frame, Metric::foreign_net, Metric::rxbyt, Metric::txbyt, 1, own);
  return Ok{};
}

}  // namespace culprit
