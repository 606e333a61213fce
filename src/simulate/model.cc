#include "simulate/model.h"

#include <algorithm>
#include <cmath>

namespace culprit {

namespace {

constexpr uint64_t kHardwareSeed = 1;    // servers are the same machines in all runs, as training supposes
constexpr double kMemoryS = 1.5;         // noise is forgotten within a few seconds
constexpr double kRequestSizeSd = 0.04;  // requests are merged now more, now less
constexpr double kHogRequest = 256;      // sectors: what the block layer makes of a hog's large reads
constexpr double kMetaSegment = 300;     // bytes: requests and replies do not fill a segment
constexpr double kCwndSd = 0.12;         // where the window's upper edge lies from tick to tick
constexpr double kRiseTicks = 6;         // ticks from a congestion event to the next one
constexpr double kRttUs = 900;
constexpr double kRttSd = 0.15;
constexpr double kAckedAfterLoss = 20;  // segments that are acknowledged one by one after a gap, not every other one

double memory_of(const SimulationPlan& plan) {
  return std::exp(-static_cast<double>(plan.request.interval_ns) / (kMemoryS * static_cast<double>(kNsPerSecond)));
}

double seconds_of(const SimulationPlan& plan) {
  return static_cast<double>(plan.request.interval_ns) / static_cast<double>(kNsPerSecond);
}

int64_t to_sectors(int64_t requests, double size) {  // whole pages, at least one per request
  const double pages = std::max(1.0, std::round(size / 8));
  return requests * static_cast<int64_t>(pages) * 8;
}

}  // namespace

Effects effects_of(const SimulationPlan& plan, bool active, bool victim) {
  Effects effects;
  if (!active) return effects;
  const SimulatedFault& fault = *plan.fault;
  const double rx = plan.workload->rx_share();
  const double share = fault.direction == FaultDirection::from_victim ? 1 - rx : rx;
  effects.work = fault.work.at(share);
  effects.latency = victim ? fault.victim_latency : fault.others_latency;
  if (!victim) return effects;
  effects.device_busy = fault.device_busy;
  effects.hog_read_sectors_per_s = fault.hog_read_sectors * kDiskSectorsPerS;
  effects.hog_rx_bytes_per_s = fault.hog_rx_bytes * kLinkBytesPerS;
  effects.hog_tx_bytes_per_s = fault.hog_tx_bytes * kLinkBytesPerS;
  effects.client_cwnd = fault.client_cwnd.at(share);
  effects.server_cwnd = fault.server_cwnd.at(share);
  effects.client_loss = fault.client_loss;
  effects.server_loss = fault.server_loss;
  effects.rtt = fault.rtt;
  return effects;
}

StreamModel::StreamModel(double level, double kept, double memory, double bias)
    : level_(level * bias), kept_(kept), cwnd_(level * bias * kept), top_(kCwndSd, memory), rtt_(kRttSd, memory) {}

// A sawtooth below an edge that wanders; when the edge falls far (a fault), the window follows at once.
void StreamModel::move_window(Random& random, double factor) {
  const double top = std::max(2.0, level_ * factor * top_.next(random));
  const double pace = 0.5 + random.uniform();
  const double step = std::max((1 - kept_) * top, 0.5 * (top - cwnd_)) / kRiseTicks;
  cwnd_ += pace * step;
  if (cwnd_ <= top) return;
  cwnd_ = std::max(1.0, kept_ * std::min(cwnd_, top));
  ssthresh_ = std::max(2.0, cwnd_);
}

StreamTick StreamModel::step(Random& random, double data_bytes, double meta_bytes, double cwnd_factor, double loss,
                             double rtt, double seconds) {
  StreamTick out;
  move_window(random, cwnd_factor);
  out.bytes = data_.whole(data_bytes) + meta_.whole(meta_bytes);
  out.segments = segments_.whole(data_bytes / kMss + meta_bytes / kMetaSegment);
  const double segments = static_cast<double>(out.segments);
  out.retransmitted = random.poisson(segments * loss);
  const double payload = out.segments > 0 ? std::min(kMss, static_cast<double>(out.bytes) / segments) : 0;
  out.retransmitted_bytes = std::llround(static_cast<double>(out.retransmitted) * payload);
  out.out_of_order = std::llround(static_cast<double>(out.retransmitted) * std::clamp(cwnd_ / 2, 1.0, 3.0));
  out.acks = std::llround(segments * 0.5 * (1 + std::min(1.0, kAckedAfterLoss * loss)));
  out.cwnd = std::max<int64_t>(1, std::llround(cwnd_));
  out.ssthresh = ssthresh_ < 0 ? -1 : std::llround(ssthresh_);
  const double rtt_us = kRttUs * rtt * rtt_.next(random);
  out.rtt_us = std::llround(rtt_us);
  const double rate = static_cast<double>(out.bytes) / seconds;
  out.unacked = std::min<int64_t>(out.cwnd, std::llround(rate * rtt_us / 1e6 / kMss));
  out.delivery_rate = std::llround(std::min(kLinkBytesPerS, rate * 1.2));
  return out;
}

ServerModel::ServerModel(const SimulationPlan& plan, int index)
    : workload_(*plan.workload),
      seconds_(seconds_of(plan)),
      random_(plan.request.seed, static_cast<uint64_t>(index) + 1) {
  const double memory = memory_of(plan);
  const double spread = plan.request.spread;
  Random hardware(kHardwareSeed, static_cast<uint64_t>(index));
  latency_bias_ = std::exp(spread * hardware.normal());
  work_bias_ = std::exp(spread * workload_.imbalance * hardware.normal());
  work_ = Wander(workload_.own_sd, memory);
  latency_ = Wander(workload_.await_sd, memory);
  request_size_ = Wander(kRequestSizeSd, memory);
  for (int c = 0; c < plan.request.clients; ++c) {
    const double up_bias = std::exp(spread * random_.normal());
    const double down_bias = std::exp(spread * random_.normal());
    up_.emplace_back(workload_.client_cwnd, workload_.cwnd_kept, memory, up_bias);
    down_.emplace_back(workload_.server_cwnd, workload_.cwnd_kept, memory, down_bias);
  }
}

void ServerModel::step(const Effects& effects, double demand, ServerTick& out) {
  const double work = demand * effects.work * work_bias_ * work_.next(random_);
  step_disk(effects, work, out.disk);
  step_network(effects, work, out);
}

void ServerModel::step_disk(const Effects& effects, double work, DiskTick& out) {
  const double size = std::max(8.0, workload_.request_sectors * request_size_.next(random_));
  const double await_ms = workload_.await_ms * latency_bias_ * effects.latency * latency_.next(random_);
  const int64_t own_reads = requests(reads_, workload_.read_sectors_per_s * work, size);
  const int64_t own_writes = requests(writes_, workload_.write_sectors_per_s * work, size);
  const int64_t hog_reads = requests(hog_reads_, effects.hog_read_sectors_per_s, kHogRequest);
  out.reads = own_reads + hog_reads;
  out.writes = own_writes;
  out.own_bytes_read = to_sectors(own_reads, size) * 512;
  out.own_bytes_written = to_sectors(own_writes, size) * 512;
  out.sectors_read = out.own_bytes_read / 512 + to_sectors(hog_reads, kHogRequest);
  out.sectors_written = out.own_bytes_written / 512;
  out.read_ms = read_ms_.whole(static_cast<double>(out.reads) * await_ms);
  out.write_ms = write_ms_.whole(static_cast<double>(out.writes) * await_ms);
  const double elapsed_ms = seconds_ * 1e3;
  const double done = static_cast<double>(out.reads + out.writes);
  const double busy_ms = done * workload_.service_ms * latency_bias_ + effects.device_busy * elapsed_ms;
  out.io_ms = io_ms_.whole(std::min(elapsed_ms, busy_ms));
  out.in_flight = random_.poisson(done * await_ms / elapsed_ms);
}

void ServerModel::step_network(const Effects& effects, double work, ServerTick& out) {
  const double per_client = seconds_ / static_cast<double>(up_.size());
  const double up_data = workload_.write_sectors_per_s * 512 * work * per_client;
  const double down_data = workload_.read_sectors_per_s * 512 * work * per_client;
  const double up_meta = workload_.meta_rx_bytes_per_s * work * per_client;
  const double down_meta = workload_.meta_tx_bytes_per_s * work * per_client;
  out.flows.resize(up_.size());
  double rx = 0, tx = 0;
  for (size_t c = 0; c < up_.size(); ++c) {
    FlowTick& flow = out.flows[c];
    flow.up = up_[c].step(random_, up_data, up_meta, effects.client_cwnd, workload_.client_loss + effects.client_loss,
                          effects.rtt, seconds_);
    flow.down = down_[c].step(random_, down_data, down_meta, effects.server_cwnd,
                              workload_.server_loss + effects.server_loss, effects.rtt, seconds_);
    rx += static_cast<double>(flow.up.bytes);
    tx += static_cast<double>(flow.down.bytes);
  }
  const auto room = [&](double used) { return std::max(0.0, kLinkBytesPerS * seconds_ - used); };
  out.hog_rx_bytes = std::llround(std::min(effects.hog_rx_bytes_per_s * seconds_, room(rx)));
  out.hog_tx_bytes = std::llround(std::min(effects.hog_tx_bytes_per_s * seconds_, room(tx)));
}

Model::Model(const SimulationPlan& plan)
    : plan_(plan), common_(plan.request.seed, 0), demand_(plan.workload->common_sd, memory_of(plan)) {
  models_.reserve(static_cast<size_t>(plan.request.servers));
  for (int i = 0; i < plan.request.servers; ++i) models_.emplace_back(plan_, i);
  ticks_.resize(models_.size());
}

void Model::step() {
  const bool active = plan_.faulty_at(tick_);
  const bool second_half = tick_ * 2 >= plan_.request.ticks;
  const double demand = demand_.next(common_) * (second_half ? plan_.workload->second_half : 1);
  const Effects victim = effects_of(plan_, active, true);
  const Effects others = effects_of(plan_, active, false);
  for (size_t i = 0; i < models_.size(); ++i)
    models_[i].step(static_cast<int>(i) == plan_.victim ? victim : others, demand, ticks_[i]);
  ++tick_;
}

}  // namespace culprit
