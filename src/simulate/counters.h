// Turns what happened into what collectors would have read: one Sample per node and tick, with cumulative counters
// that begin somewhere (machines have been up for a while), keys, and small lateness of every sample.
#pragma once

#include <array>
#include <vector>

#include "model/cluster.h"
#include "model/sample.h"
#include "simulate/model.h"

namespace culprit {

constexpr int kServerPort = 49152;  // GlusterFS' first brick

Cluster simulated_cluster(const SimulationPlan& plan);

class Counters {
 public:
  explicit Counters(const SimulationPlan& plan);

  // Adds what happened since the last tick.
  void add(const std::vector<ServerTick>& servers);
  // The node's sample (servers first, then clients, as in the cluster) at this tick. The first one brings the keys.
  void sample(size_t node, int64_t tick, Sample& out);
  size_t nodes() const { return nodes_.size(); }

 private:
  template <size_t N>
  using Row = std::array<int64_t, N>;

  struct Socket {
    Row<tcp_column::count> values{};
    std::string name, detail;
  };
  struct NodeState {
    Random random{0, 0};
    bool is_server = true;
    Row<disk_column::count> disk{};
    Row<nic_column::count> nic{};
    Row<netstat_column::count> netstat{};
    Row<process_column::count> process{};
    Row<system_column::count> system{};
    std::vector<Socket> sockets;
    int64_t boot_ns = 0;  // wall clock minus monotonic clock
    bool keys_sent = false;
    Carry timeouts, cpu_user, cpu_system, softirq;
  };

  void start(NodeState& node, int64_t index);
  void connect();
  void add_disk(NodeState& node, const DiskTick& disk);
  void add_stream(NodeState& sender, Socket& from, NodeState& receiver, Socket& to, const StreamTick& stream);
  void add_hog(NodeState& node, const ServerTick& tick);
  void add_system(NodeState& node, const DiskTick& disk, int64_t packets, int64_t bytes);
  void send_keys(NodeState& node, Sample& out);

  SimulationPlan plan_;
  size_t servers_;
  std::vector<NodeState> nodes_;
};

}  // namespace culprit
