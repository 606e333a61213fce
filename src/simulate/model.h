// What happens on every server between two ticks: requests on the disk, segments on each connection. Rates come from
// the workload's row, the fault's row multiplies them, noise is common (demand) or a server's own. No counter here.
#pragma once

#include <cstdint>
#include <vector>

#include "simulate/plan.h"
#include "simulate/random.h"

namespace culprit {

constexpr double kMss = 1448;        // payload of a full segment on Ethernet
constexpr double kHeaderBytes = 66;  // Ethernet, IP and TCP with time stamps

struct DiskTick {
  int64_t reads = 0, sectors_read = 0, read_ms = 0;
  int64_t writes = 0, sectors_written = 0, write_ms = 0;
  int64_t io_ms = 0, in_flight = 0;
  int64_t own_bytes_read = 0, own_bytes_written = 0;  // what the file system's daemon asked for
};

// One direction of one connection.
struct StreamTick {
  int64_t bytes = 0, segments = 0, retransmitted = 0, retransmitted_bytes = 0;
  int64_t out_of_order = 0;                                                     // segments, seen by the receiver
  int64_t acks = 0;                                                             // segments without data that come back
  int64_t cwnd = 0, ssthresh = -1, rtt_us = 0, unacked = 0, delivery_rate = 0;  // ssthresh -1: no loss so far
};

struct FlowTick {
  StreamTick up;    // client sends
  StreamTick down;  // server sends
};

struct ServerTick {
  DiskTick disk;
  std::vector<FlowTick> flows;                 // one per client
  int64_t hog_rx_bytes = 0, hog_tx_bytes = 0;  // a third party's payload
};

// A fault's row as this workload feels it; neutral while the server or the time is not concerned.
struct Effects {
  double work = 1;
  double latency = 1;
  double device_busy = 0;
  double hog_read_sectors_per_s = 0, hog_rx_bytes_per_s = 0, hog_tx_bytes_per_s = 0;
  double client_cwnd = 1, server_cwnd = 1, client_loss = 0, server_loss = 0;
  double rtt = 1;
};
Effects effects_of(const SimulationPlan& plan, bool active, bool victim);

class StreamModel {
 public:
  StreamModel(double level, double kept, double memory, double bias);
  // `loss` is a share of the segments; `meta_bytes` go in small segments.
  StreamTick step(Random& random, double data_bytes, double meta_bytes, double cwnd_factor, double loss, double rtt,
                  double seconds);

 private:
  void move_window(Random& random, double factor);

  double level_, kept_, cwnd_, ssthresh_ = -1;
  Wander top_, rtt_;
  Carry data_, meta_, segments_;
};

class ServerModel {
 public:
  ServerModel(const SimulationPlan& plan, int index);
  void step(const Effects& effects, double demand, ServerTick& out);

 private:
  void step_disk(const Effects& effects, double work, DiskTick& out);
  int64_t requests(Carry& carry, double sectors_per_s, double size) {
    return carry.whole(sectors_per_s * seconds_ / size);
  }
  void step_network(const Effects& effects, double work, ServerTick& out);

  const Workload& workload_;
  double seconds_;
  Random random_;
  double latency_bias_, work_bias_;
  Wander work_, latency_, request_size_;
  Carry reads_, hog_reads_, writes_, read_ms_, write_ms_, io_ms_;
  std::vector<StreamModel> up_, down_;
};

class Model {
 public:
  explicit Model(const SimulationPlan& plan);
  // What happens up to the next tick. The first step leads to tick 0: gauges need something before it.
  void step();
  const std::vector<ServerTick>& servers() const { return ticks_; }

 private:
  SimulationPlan plan_;
  int64_t tick_ = -1;
  Random common_;
  Wander demand_;
  std::vector<ServerModel> models_;
  std::vector<ServerTick> ticks_;
};

}  // namespace culprit
