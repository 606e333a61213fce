#include "simulate/counters.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace culprit {

namespace {

constexpr double kCpus = 4;
constexpr double kUserMsPerMB = 8, kSystemMsPerMB = 6;  // of the daemon and the kernel below it, per MB moved
constexpr double kSoftirqMsPerPacket = 0.001;
constexpr uint64_t kNodeStream = uint64_t{1} << 32;  // numbers of the nodes, apart from those of the servers' models
constexpr std::string_view kDisk = "sdb", kNic = "eth0", kDaemon = "glusterfsd";

// Counters that a healthy machine hardly ever moves, and the model never: they begin small.
constexpr std::string_view kQuiet[] = {
    "discards",         "sectors_discarded", "discard_ms",     "flushes",    "flush_ms",
    "rx_errors",        "rx_dropped",        "tx_errors",      "tx_dropped", "dsack_dups",
    "lost_retransmits", "dsack_received",    "dsack_old_sent", "in_errors",  "listen_drops",
    "syn_retrans",      "nice_ms",           "irq_ms",         "steal_ms",   "cancelled_write_bytes",
    "psi_mem_some_us",  "psi_mem_full_us",
};

int64_t first_value(Random& random, const Column& column, int64_t largest) {
  if (column.kind == ColumnKind::gauge) return 0;
  const bool quiet = std::find(std::begin(kQuiet), std::end(kQuiet), column.name) != std::end(kQuiet);
  return quiet ? random.between(0, 100) : random.between(largest / 4000, largest);
}

std::string address_of(const char* net, int base, size_t index) {
  return cat(net, base + static_cast<int>(index / 250), ".", static_cast<int>(index % 250) + 1);
}
std::string server_address(size_t i) {
  return address_of("10.77.", 1, i);
}
std::string client_address(size_t i) {
  return address_of("10.77.", 200, i);
}

int64_t packets_of(int64_t bytes) {
  return (bytes + static_cast<int64_t>(kMss) - 1) / static_cast<int64_t>(kMss);
}

int64_t on_wire(int64_t payload, int64_t packets) {
  return payload + packets * static_cast<int64_t>(kHeaderBytes);
}

}  // namespace

Cluster simulated_cluster(const SimulationPlan& plan) {
  Cluster cluster;
  cluster.name = "simulated";
  cluster.fs = "glusterfs";
  for (int i = 0; i < plan.request.servers; ++i) {
    Node node;
    node.name = cat("s", i + 1);
    node.address = server_address(static_cast<size_t>(i));
    node.roles = {"io"};
    node.disks = {std::string(kDisk)};
    node.nics = {std::string(kNic)};
    cluster.nodes.push_back(std::move(node));
  }
  for (int i = 0; i < plan.request.clients; ++i) {
    Node node;
    node.name = cat("c", i + 1);
    node.kind = NodeKind::client;
    node.address = client_address(static_cast<size_t>(i));
    node.nics = {std::string(kNic)};
    cluster.nodes.push_back(std::move(node));
  }
  return cluster;
}

Counters::Counters(const SimulationPlan& plan) : plan_(plan), servers_(static_cast<size_t>(plan.request.servers)) {
  nodes_.resize(servers_ + static_cast<size_t>(plan.request.clients));
  for (size_t i = 0; i < nodes_.size(); ++i) {
    nodes_[i].is_server = i < servers_;
    start(nodes_[i], static_cast<int64_t>(i));
  }
  connect();
}

// A machine that has been up for days: every counter stands somewhere.
void Counters::start(NodeState& node, int64_t index) {
  node.random = Random(plan_.request.seed, kNodeStream + static_cast<uint64_t>(index));
  const auto fill = [&](auto& row, const Source& source) {
    for (size_t c = 0; c < row.size(); ++c) row[c] = first_value(node.random, source.columns[c], 4'000'000'000);
  };
  fill(node.disk, source_disk);
  fill(node.nic, source_nic);
  fill(node.netstat, source_netstat);
  fill(node.process, source_process);
  fill(node.system, source_system);
  node.process[process_column::rss_bytes] = node.random.between(17'000'000, 20'000'000);
  node.process[process_column::threads] = 24;
  node.system[system_column::mem_available_bytes] = node.random.between(3'000'000'000, 3'200'000'000);
  const int64_t uptime_ns =
      node.random.between(86'400, 40 * 86'400) * kNsPerSecond + node.random.between(0, kNsPerSecond - 1);
  node.boot_ns = plan_.start_ns - uptime_ns;
}

// Every client has one connection to every server. Server sockets are in the order of clients, and the other way round.
void Counters::connect() {
  for (size_t s = 0; s < servers_; ++s) {
    for (size_t c = 0; servers_ + c < nodes_.size(); ++c) {
      const std::string server = cat(server_address(s), ":", kServerPort);
      const std::string client = cat(client_address(c), ":", 1023 - static_cast<int>(s % 900));  // a privileged port
      Socket sockets[2];
      for (int side = 0; side < 2; ++side) {
        NodeState& owner = side == 0 ? nodes_[s] : nodes_[servers_ + c];
        for (size_t column = 0; column < tcp_column::count; ++column)
          sockets[side].values[column] = first_value(owner.random, source_tcp.columns[column], 40'000'000);
        sockets[side].name = side == 0 ? cat(server, ">", client) : cat(client, ">", server);
        sockets[side].detail =
            cat("side=", side == 0 ? "server" : "client", " inode=", owner.random.between(20'000, 90'000));
        owner.sockets.push_back(std::move(sockets[side]));
      }
    }
  }
}

void Counters::add(const std::vector<ServerTick>& servers) {
  std::vector<std::array<int64_t, 2>> before;  // bytes and packets
  const auto traffic = [](const NodeState& n) {
    return std::array<int64_t, 2>{n.nic[nic_column::rx_bytes] + n.nic[nic_column::tx_bytes],
                                  n.nic[nic_column::rx_packets] + n.nic[nic_column::tx_packets]};
  };
  for (const NodeState& node : nodes_) before.push_back(traffic(node));
  for (size_t s = 0; s < servers.size(); ++s) {
    NodeState& server = nodes_[s];
    add_disk(server, servers[s].disk);
    for (size_t c = 0; c < servers[s].flows.size(); ++c) {
      NodeState& client = nodes_[servers_ + c];
      const FlowTick& flow = servers[s].flows[c];
      add_stream(client, client.sockets[s], server, server.sockets[c], flow.up);
      add_stream(server, server.sockets[c], client, client.sockets[s], flow.down);
      server.process[process_column::read_call_bytes] += flow.up.bytes;
      server.process[process_column::write_call_bytes] += flow.down.bytes;
    }
    add_hog(server, servers[s]);
  }
  const DiskTick idle;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const auto now = traffic(nodes_[i]);
    add_system(nodes_[i], i < servers_ ? servers[i].disk : idle, now[1] - before[i][1], now[0] - before[i][0]);
  }
}

void Counters::add_disk(NodeState& node, const DiskTick& disk) {
  using namespace disk_column;
  auto& row = node.disk;
  row[reads] += disk.reads;
  row[sectors_read] += disk.sectors_read;
  row[read_ms] += disk.read_ms;
  row[writes] += disk.writes;
  row[sectors_written] += disk.sectors_written;
  row[write_ms] += disk.write_ms;
  row[in_flight] = disk.in_flight;
  row[io_ms] += disk.io_ms;
  row[weighted_ms] += disk.read_ms + disk.write_ms;
  node.process[process_column::read_bytes] += disk.own_bytes_read;
  node.process[process_column::write_bytes] += disk.own_bytes_written;
  node.process[process_column::read_call_bytes] += disk.own_bytes_read;
  node.process[process_column::write_call_bytes] += disk.own_bytes_written;
}

// Losses happen behind the receiver's NIC (a filter drops there), so the NIC counts what is sent again as well.
void Counters::add_stream(NodeState& sender, Socket& from, NodeState& receiver, Socket& to, const StreamTick& s) {
  const int64_t packets = s.segments + s.retransmitted;
  const int64_t bytes = on_wire(s.bytes + s.retransmitted_bytes, packets);
  sender.nic[nic_column::tx_bytes] += bytes;
  sender.nic[nic_column::tx_packets] += packets;
  sender.nic[nic_column::rx_bytes] += on_wire(0, s.acks);
  sender.nic[nic_column::rx_packets] += s.acks;
  receiver.nic[nic_column::rx_bytes] += bytes;
  receiver.nic[nic_column::rx_packets] += packets;
  receiver.nic[nic_column::tx_bytes] += on_wire(0, s.acks);
  receiver.nic[nic_column::tx_packets] += s.acks;

  const int64_t timeouts =  // a window of a few segments cannot bring the three duplicates that a fast repair needs
      std::min(s.retransmitted,
               sender.timeouts.whole(static_cast<double>(s.retransmitted) * (s.cwnd < 4 ? 0.3 : 0.02)));
  sender.netstat[netstat_column::in_segments] += s.acks;
  sender.netstat[netstat_column::out_segments] += s.segments;
  sender.netstat[netstat_column::retrans_segments] += s.retransmitted;
  sender.netstat[netstat_column::timeouts] += timeouts;
  sender.netstat[netstat_column::fast_retrans] += s.retransmitted - timeouts;
  receiver.netstat[netstat_column::in_segments] += s.segments;
  receiver.netstat[netstat_column::out_segments] += s.acks;
  receiver.netstat[netstat_column::ofo_queued] += s.out_of_order;

  using namespace tcp_column;
  from.values[cwnd_segments] = s.cwnd;
  from.values[ssthresh_segments] = s.ssthresh < 0 ? kAbsent : s.ssthresh;
  from.values[rtt_us] = s.rtt_us;
  from.values[unacked_segments] = s.unacked;
  from.values[delivery_rate_bytes_per_s] = s.delivery_rate;
  from.values[bytes_sent] += s.bytes + s.retransmitted_bytes;
  from.values[data_segments_out] += packets;
  from.values[retrans_segments] += s.retransmitted;
  from.values[retrans_bytes] += s.retransmitted_bytes;
  to.values[bytes_received] += s.bytes;
  to.values[ooo_segments_in] += s.out_of_order;
}

void Counters::add_hog(NodeState& node, const ServerTick& tick) {
  const int64_t rx = packets_of(tick.hog_rx_bytes), tx = packets_of(tick.hog_tx_bytes);
  node.nic[nic_column::rx_bytes] += on_wire(tick.hog_rx_bytes, rx) + on_wire(0, tx / 2);
  node.nic[nic_column::rx_packets] += rx + tx / 2;
  node.nic[nic_column::tx_bytes] += on_wire(tick.hog_tx_bytes, tx) + on_wire(0, rx / 2);
  node.nic[nic_column::tx_packets] += tx + rx / 2;
  node.netstat[netstat_column::in_segments] += rx + tx / 2;
  node.netstat[netstat_column::out_segments] += tx + rx / 2;
}

void Counters::add_system(NodeState& node, const DiskTick& disk, int64_t packets, int64_t bytes) {
  using namespace system_column;
  const int64_t tick_ms = plan_.request.interval_ns / kNsPerMs;
  const double mb = static_cast<double>(bytes + (disk.sectors_read + disk.sectors_written) * 512) / 1e6;
  const int64_t in_user = node.cpu_user.whole(mb * kUserMsPerMB);
  const int64_t in_kernel = node.cpu_system.whole(mb * kSystemMsPerMB);
  const int64_t in_softirq = node.softirq.whole(static_cast<double>(packets) * kSoftirqMsPerPacket);
  auto& row = node.system;
  row[user_ms] += in_user;
  row[system_ms] += in_kernel;
  row[softirq_ms] += in_softirq;
  row[iowait_ms] += disk.io_ms;
  const int64_t all_ms = static_cast<int64_t>(kCpus) * tick_ms;
  row[idle_ms] += std::max<int64_t>(0, all_ms - in_user - in_kernel - in_softirq - disk.io_ms);
  row[context_switches] += packets / 2 + (disk.reads + disk.writes) * 4 + tick_ms / 5;
  row[running] = 1;
  row[blocked] = std::min<int64_t>(disk.in_flight, 16);
  row[dirty_bytes] = disk.sectors_written * 512 / 4;
  row[writeback_bytes] = std::min(row[dirty_bytes], disk.in_flight * 131072);
  row[psi_cpu_some_us] += (in_user + in_kernel) * 10;
  row[psi_io_some_us] += disk.io_ms * 900;
  row[psi_io_full_us] += disk.io_ms * 700;
  node.process[process_column::user_ms] += node.is_server ? in_user : 0;
  node.process[process_column::system_ms] += node.is_server ? in_kernel / 2 : 0;
}

void Counters::send_keys(NodeState& node, Sample& out) {
  uint32_t id = 0;
  out.keys.push_back({++id, &source_nic, std::string(kNic), ""});
  if (node.is_server) {
    out.keys.push_back({++id, &source_disk, std::string(kDisk), ""});
    const int64_t pid = node.random.between(900, 30000);
    const std::string command = cat("start=", node.random.between(2000, 90000), " cmd=/usr/sbin/", kDaemon);
    out.keys.push_back({++id, &source_process, cat(kDaemon, "/", pid), command});
  }
  for (const Socket& socket : node.sockets) out.keys.push_back({++id, &source_tcp, socket.name, socket.detail});
  node.keys_sent = true;
}

void Counters::sample(size_t index, int64_t tick, Sample& out) {
  NodeState& node = nodes_[index];
  out.clear();
  const int64_t late_ns = node.random.between(40, 400) * kNsPerUs;
  out.t_ns = plan_.time_of(tick) + late_ns;
  out.mono_ns = out.t_ns - node.boot_ns;
  out.cost_ns = (150 + 2 * static_cast<int64_t>(node.sockets.size())) * kNsPerUs;
  if (!node.keys_sent) send_keys(node, out);
  uint32_t id = 0;
  out.add(source_nic, ++id, node.nic);
  if (node.is_server) {
    out.add(source_disk, ++id, node.disk);
    out.add(source_process, ++id, node.process);
  }
  for (const Socket& socket : node.sockets) out.add(source_tcp, ++id, socket.values);
  out.add(source_netstat, 0, node.netstat);
  out.add(source_system, 0, node.system);
}

}  // namespace culprit
