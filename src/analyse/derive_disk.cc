// Disk metrics: the counters of a server's disks are differenced per disk, summed, then derived (rule 1).
#include <algorithm>

#include "analyse/derive.h"
#include "analyse/differences.h"

namespace culprit {

namespace {

using namespace disk_column;

// A disk with requests in flight that completes none is stalled, not silent: its latency is at least the time it has
// been busy since its last completion. Busy, not elapsed: a request that arrives after an idle hour has not waited it.
struct Stall {
  int64_t completed_mono_ns = 0;
  double busy_ms = 0;
  bool was_in_flight = false;
};

struct Sums {
  int64_t sample = -1;
  size_t tick = 0;
  int disks = 0;
  double seconds = 0;
  double ios = 0, read_sectors = 0, written_sectors = 0, wait_ms = 0, busy_ms = 0, weighted_ms = 0;
  double stall_ms = 0;
};

double stalled_ms(Stall& stall, const SampleInfo& sample, const Step& step, double ios) {
  const bool waits = step.at(in_flight) > 0;
  if (ios > 0 || stall.completed_mono_ns == 0) {
    stall = {sample.mono_ns, 0, waits};
    return 0;
  }
  // Kernels from 5.0 to 5.17 count busy time only when a request starts or ends.
  const bool stands_still = waits && stall.was_in_flight && step.at(io_ms) <= 0;
  stall.busy_ms += stands_still ? step.seconds * 1e3 : step.at(io_ms);
  stall.was_in_flight = waits;
  if (!waits) return 0;
  const double since_ms = static_cast<double>(sample.mono_ns - stall.completed_mono_ns) / 1e6;
  return std::min(stall.busy_ms, since_ms);
}

void flush(Frame& frame, size_t server, const Sums& s) {
  if (s.sample < 0 || s.disks == 0 || s.seconds <= 0) return;
  const double ms = s.seconds * 1e3;
  auto put = [&](Metric metric, double value) { frame.put(metric, server, s.tick, value); };
  put(Metric::tps, s.ios / s.seconds);
  put(Metric::rd_sec, s.read_sectors / s.seconds);
  put(Metric::wr_sec, s.written_sectors / s.seconds);
  put(Metric::avgqu_sz, s.weighted_ms / ms);
  put(Metric::util,
      std::min(100.0, 100 * s.busy_ms / ms / s.disks));  // after idle time a tick may count more than itself
  if (s.ios > 0) {
    put(Metric::avgrq_sz, (s.read_sectors + s.written_sectors) / s.ios);
    put(Metric::svctm, s.busy_ms / s.ios);
  }
  if (s.ios > 0 || s.stall_ms > 0) put(Metric::await, std::max(s.ios > 0 ? s.wait_ms / s.ios : 0, s.stall_ms));
}

}  // namespace

Status derive_disk(Frame& frame) {
  const std::vector<bool> summed = summed_keys(frame, "disk", Resource::disk);
  Differences differences(source_disk, frame.longest_ns);
  std::vector<Sums> sums(frame.out.servers.size());
  std::unordered_map<uint32_t, Stall> stalls;
  const std::initializer_list<int> columns = {reads,    sectors_read, read_ms, writes,     sectors_written,
                                              write_ms, in_flight,    io_ms,   weighted_ms};
  RETURN_IF_ERROR(
      frame.run.scan(source_disk, columns, [&](const SampleInfo& sample, uint32_t key, std::span<const int64_t> row) {
        const size_t server = frame.server_of_node[sample.node];
        if (server == kNoServer || !summed[key]) return;
        const Step* step = differences.step(sample, key, row);
        if (!step) {
          stalls.erase(key);
          return;
        }
        Sums& s = sums[server];
        if (s.sample != sample.id) {
          flush(frame, server, s);
          s = {};
        }
        const double ios = step->at(reads) + step->at(writes);
        const double stall_ms = stalled_ms(stalls[key], sample, *step, ios);
        if (!frame.tick_of(sample.t_ns, s.tick)) return;
        s.sample = sample.id;
        s.disks += 1;
        s.seconds = step->seconds;
        s.ios += ios;
        s.read_sectors += step->at(sectors_read);
        s.written_sectors += step->at(sectors_written);
        s.wait_ms += step->at(read_ms) + step->at(write_ms);
        s.busy_ms += step->at(io_ms);
        s.weighted_ms += step->at(weighted_ms);
        s.stall_ms = std::max(s.stall_ms, stall_ms);
      }));
  for (size_t i = 0; i < sums.size(); ++i) flush(frame, i, sums[i]);
  return Ok{};
}

}  // namespace culprit
