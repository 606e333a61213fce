// Network metrics: interfaces summed per server, and the congestion windows of the file system's data sockets (rule
// 11).
#include <set>

#include "analyse/derive.h"
#include "analyse/differences.h"
#include "base/text.h"
#include "fs/adapter.h"

namespace culprit {

namespace {

struct NicSums {
  int64_t sample = -1;
  size_t tick = 0;
  double rx_bytes = 0, rx_packets = 0, tx_bytes = 0, tx_packets = 0;
};

void flush(Frame& frame, size_t server, const NicSums& s) {
  if (s.sample < 0) return;
  frame.put(Metric::rxbyt, server, s.tick, s.rx_bytes);
  frame.put(Metric::rxpck, server, s.tick, s.rx_packets);
  frame.put(Metric::txbyt, server, s.tick, s.tx_bytes);
  frame.put(Metric::txpck, server, s.tick, s.tx_packets);
}

// A socket's two ends as its key names them: "10.0.0.1:49152>10.0.0.9:1017".
struct Ends {
  std::string local_host, peer_host;
  int local_port = 0, peer_port = 0;
};

bool split_end(std::string_view end, std::string& host, int& port) {
  const size_t colon = end.rfind(':');
  if (colon == std::string_view::npos) return false;
  auto number = parse_int(end.substr(colon + 1));
  if (!number || *number < 0 || *number > 65535) return false;
  host = end.substr(0, colon);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  port = static_cast<int>(*number);
  return true;
}

bool parse_ends(std::string_view name, Ends& out) {
  const size_t arrow = name.find('>');
  return arrow != std::string_view::npos && split_end(name.substr(0, arrow), out.local_host, out.local_port) &&
         split_end(name.substr(arrow + 1), out.peer_host, out.peer_port);
}

// Whose congestion window a socket's is.
struct FlowPlace {
  size_t server = kNoServer;
  Metric metric = Metric::count;
};

class FlowMap {
 public:
  explicit FlowMap(const Frame& frame) : frame_(frame), ports_(data_ports_of(frame.run.manifest().cluster)) {
    const auto& nodes = frame.run.nodes();
    for (size_t n = 0; n < nodes.size(); ++n) {
      if (nodes[n].kind != NodeKind::server || nodes[n].address.empty()) continue;
      server_addresses_.insert(nodes[n].address);
      if (frame.server_of_node[n] != kNoServer) by_address_[nodes[n].address] = frame.server_of_node[n];
    }
    learn_addresses();
  }

  FlowPlace place(const KeyInfo& key) const {
    Ends ends;
    if (!parse_ends(key.name, ends)) return {};
    const bool at_server = frame_.run.nodes()[key.node].kind == NodeKind::server;
    if (at_server && serves(key, ends) && !server_addresses_.count(ends.peer_host))
      return {frame_.server_of_node[key.node], Metric::cwnd_to_clients};
    if (!at_server && uses(key, ends)) {
      auto found = by_address_.find(ends.peer_host);
      if (found != by_address_.end()) return {found->second, Metric::cwnd_from_clients};
    }
    return {};
  }

  // Any socket of the file system that leaves the machine, also one to another server.
  bool of_file_system(const KeyInfo& key) const {
    Ends ends;
    if (!parse_ends(key.name, ends) || ends.peer_host.starts_with("127.") || ends.peer_host == "::1") return false;
    return serves(key, ends) || uses(key, ends);
  }

 private:
  // Data ports may overlap the ephemeral ones (GlusterFS' do), so the collector looked whether somebody listens there.
  bool serves(const KeyInfo& key, const Ends& ends) const {
    const std::string side = detail_value(key.detail, "side");
    return is_data(ends.local_port) && (side.empty() || side == "server");
  }

  // Likewise at the other end: whoever connects to a service of ours that is not the file system's may do so from a
  // port that looks like data.
  bool uses(const KeyInfo& key, const Ends& ends) const {
    return is_data(ends.peer_port) && detail_value(key.detail, "side") != "other";
  }

  bool is_data(int port) const {
    for (const PortRange& range : ports_)
      if (range.contains(port)) return true;
    return false;
  }

  // Where the cluster file names no addresses, the servers' own data sockets tell them.
  void learn_addresses() {
    for (const KeyInfo& key : frame_.run.keys()) {
      Ends ends;
      if (key.source != "tcp" || frame_.server_of_node[key.node] == kNoServer || !parse_ends(key.name, ends)) continue;
      if (!serves(key, ends)) continue;
      by_address_.emplace(ends.local_host, frame_.server_of_node[key.node]);
      server_addresses_.insert(ends.local_host);
    }
  }

  const Frame& frame_;
  std::vector<PortRange> ports_;
  std::set<std::string> server_addresses_;
  std::map<std::string, size_t> by_address_;
};

struct FlowState {
  FlowPlace place;
  int64_t sent = kAbsent;
  int64_t last_sent_tick = INT64_MIN / 2;
};

// Mean over the sockets of a server that sent lately, per tick.
struct WindowMeans {
  std::vector<Series> sum;
  std::vector<std::vector<int>> n;
  WindowMeans(size_t servers, size_t ticks) : sum(servers, Series(ticks, 0)), n(servers, std::vector<int>(ticks, 0)) {}
};

void put_means(Frame& frame, Metric metric, const WindowMeans& means) {
  for (size_t i = 0; i < means.sum.size(); ++i)
    for (size_t t = 0; t < frame.out.ticks; ++t)
      if (means.n[i][t] > 0) frame.put(metric, i, t, means.sum[i][t] / means.n[i][t]);
}

}  // namespace

Status derive_network(Frame& frame) {
  using namespace nic_column;
  const std::vector<bool> summed = summed_keys(frame, "nic", Resource::network);
  Differences differences(source_nic, frame.longest_ns);
  std::vector<NicSums> sums(frame.out.servers.size());
  const std::initializer_list<int> columns = {rx_bytes, rx_packets, tx_bytes, tx_packets};
  auto add = [&](const SampleInfo& sample, uint32_t key, std::span<const int64_t> row) {
    const size_t server = frame.server_of_node[sample.node];
    if (server == kNoServer || !summed[key]) return;
    const Step* step = differences.step(sample, key, row);
    NicSums& s = sums[server];
    if (!step) return;
    if (s.sample != sample.id) {
      flush(frame, server, s);
      s = {};
    }
    if (!frame.tick_of(sample.t_ns, s.tick)) return;
    s.sample = sample.id;
    s.rx_bytes += step->at(rx_bytes) / step->seconds;
    s.rx_packets += step->at(rx_packets) / step->seconds;
    s.tx_bytes += step->at(tx_bytes) / step->seconds;
    s.tx_packets += step->at(tx_packets) / step->seconds;
  };
  RETURN_IF_ERROR(frame.run.scan(source_nic, columns, add));
  for (size_t i = 0; i < sums.size(); ++i) flush(frame, i, sums[i]);
  return Ok{};
}

Status derive_congestion(Frame& frame) {
  using namespace tcp_column;
  std::unordered_map<uint32_t, FlowState> flows;
  const FlowMap map(frame);
  for (const KeyInfo& key : frame.run.keys())
    if (key.source == "tcp") flows[key.id].place = map.place(key);
  if (flows.empty()) return Ok{};  // nothing to make room for

  const std::initializer_list<int> columns = {cwnd_segments, bytes_sent, data_segments_out};
  WindowMeans to(frame.out.servers.size(), frame.out.ticks);
  WindowMeans from = to;
  auto add = [&](const SampleInfo& sample, uint32_t key, std::span<const int64_t> row) {
    FlowState& flow = flows[key];
    if (flow.place.server == kNoServer || row[cwnd_segments] == kAbsent) return;
    const int64_t sent = row[bytes_sent] != kAbsent ? row[bytes_sent] : row[data_segments_out];
    const int64_t tick_number = sample.t_ns / frame.out.interval_ns;
    const bool unknown = sent == kAbsent;  // an old kernel does not tell: then every socket counts
    if (unknown || (flow.sent != kAbsent && sent > flow.sent)) flow.last_sent_tick = tick_number;
    flow.sent = sent;
    size_t tick = 0;
    if (tick_number - flow.last_sent_tick >= frame.cwnd_span || !frame.tick_of(sample.t_ns, tick)) return;
    WindowMeans& means = flow.place.metric == Metric::cwnd_to_clients ? to : from;
    means.sum[flow.place.server][tick] += static_cast<double>(row[cwnd_segments]);
    means.n[flow.place.server][tick] += 1;
  };
  RETURN_IF_ERROR(frame.run.scan(source_tcp, columns, add));
  put_means(frame, Metric::cwnd_to_clients, to);
  put_means(frame, Metric::cwnd_from_clients, from);
  return Ok{};
}

std::vector<bool> file_system_sockets(const Frame& frame) {
  const FlowMap map(frame);
  const auto& keys = frame.run.keys();
  std::vector<bool> own(keys.empty() ? 1 : keys.back().id + 1, false);
  for (const KeyInfo& key : keys)
    if (key.source == "tcp") own[key.id] = map.of_file_system(key);
  return own;
}

}  // namespace culprit
