// TCP state per socket with its peer: the congestion window shows a lossy path before any other counter does.
// A socket is a flow for as long as the kernel's cookie for it lives; the same addresses with a new cookie are a new
// flow.
#include <arpa/inet.h>
#include <linux/tcp.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "sample/collector.h"
#include "sample/daemons.h"
#include "sample/sock_diag.h"

namespace culprit {

namespace {

constexpr size_t kMostFlows = 4096;  // 250 kB per tick in the run; a server with more is judged by these as well

using Row = std::array<int64_t, tcp_column::count>;

struct Field {
  int column;
  size_t offset;
  size_t bytes;
};

#define CULPRIT_TCP_FIELD(column, member) \
  { tcp_column::column, offsetof(tcp_info, member), sizeof(tcp_info::member) }
constexpr Field kFields[] = {
    CULPRIT_TCP_FIELD(cwnd_segments, tcpi_snd_cwnd),
    CULPRIT_TCP_FIELD(ssthresh_segments, tcpi_snd_ssthresh),
    CULPRIT_TCP_FIELD(rtt_us, tcpi_rtt),
    CULPRIT_TCP_FIELD(unacked_segments, tcpi_unacked),
    CULPRIT_TCP_FIELD(bytes_sent, tcpi_bytes_sent),
    CULPRIT_TCP_FIELD(bytes_received, tcpi_bytes_received),
    CULPRIT_TCP_FIELD(data_segments_out, tcpi_data_segs_out),
    CULPRIT_TCP_FIELD(retrans_segments, tcpi_total_retrans),
    CULPRIT_TCP_FIELD(retrans_bytes, tcpi_bytes_retrans),
    CULPRIT_TCP_FIELD(ooo_segments_in, tcpi_rcv_ooopack),
    CULPRIT_TCP_FIELD(dsack_dups, tcpi_dsack_dups),
    CULPRIT_TCP_FIELD(delivery_rate_bytes_per_s, tcpi_delivery_rate),
};
#undef CULPRIT_TCP_FIELD

// Older kernels give a shorter tcp_info: what lies beyond its end is absent.
Row row_of(std::string_view info) {
  Row row;
  row.fill(kAbsent);
  for (const Field& field : kFields) {
    if (field.offset + field.bytes > info.size()) continue;
    uint64_t value = 0;
    uint32_t narrow = 0;
    if (field.bytes == sizeof value) {
      std::memcpy(&value, info.data() + field.offset, sizeof value);
    } else {
      std::memcpy(&narrow, info.data() + field.offset, sizeof narrow);
      value = narrow;
    }
    if (value <= INT64_MAX) row[static_cast<size_t>(field.column)] = static_cast<int64_t>(value);
  }
  if (row[tcp_column::ssthresh_segments] >= 0x7fffffff) row[tcp_column::ssthresh_segments] = kAbsent;  // not set yet
  return row;
}

struct Flow {
  inet_diag_sockid id{};
  uint32_t key = 0;
  uint32_t tick = 0;  // when it was last seen
};

bool same_ends(const inet_diag_sockid& a, const inet_diag_sockid& b) {
  return a.idiag_sport == b.idiag_sport && a.idiag_dport == b.idiag_dport &&
         std::memcmp(a.idiag_src, b.idiag_src, sizeof a.idiag_src) == 0 &&
         std::memcmp(a.idiag_dst, b.idiag_dst, sizeof a.idiag_dst) == 0;
}

struct NewFlow {
  inet_diag_msg head{};
  uint64_t cookie = 0;
  Row row{};
};

class TcpCollector : public Collector {
 public:
  TcpCollector(const SampleEnv& env, KeyCounter& keys)
      : has_kernel_(env.root.empty()), keys_(keys), ports_(env.data_ports), table_(daemon_table_of(env)) {}

  Status collect(Sample& sample) override {
    if (!has_kernel_) return Ok{};  // a tree of files has no sockets
    table_->refresh(sample.mono_ns);
    ++tick_;
    left_out_ = 0;
    new_flows_.clear();
    ASSIGN_OR_RETURN(bool whole,
                     diag_.dump(SocketStates::connected, [&](const SocketInfo& socket) { visit(sample, socket); }));
    if (!new_flows_.empty()) RETURN_IF_ERROR(admit_new_flows(sample));
    if (whole) std::erase_if(flows_, [&](const auto& entry) { return entry.second.tick != tick_; });
    if (left_out_ > 0 && !std::exchange(said_left_out_, true))
      sample.notes.push_back(cat("more than ", kMostFlows, " sockets: ", left_out_, " are left out"));
    return Ok{};
  }

 private:
  bool is_data_port(int port) const {
    return std::any_of(ports_.begin(), ports_.end(), [&](const PortRange& range) { return range.contains(port); });
  }

  void visit(Sample& sample, const SocketInfo& socket) {
    auto found = flows_.find(socket.cookie());
    if (found != flows_.end() && same_ends(found->second.id, socket.head.id)) {
      if (std::exchange(found->second.tick, tick_) != tick_)
        sample.add(source_tcp, found->second.key, row_of(socket.info));
      return;
    }
    if (socket.head.idiag_inode == 0)
      return;  // nobody has accepted it yet, or its process has closed it: not a flow yet, or no more
    if (flows_.size() + new_flows_.size() >= kMostFlows) {
      ++left_out_;
    } else if (is_wanted(socket.head, sample.mono_ns)) {
      new_flows_.push_back({socket.head, socket.cookie(), row_of(socket.info)});
    }
  }

  bool is_wanted(const inet_diag_msg& head, int64_t mono_ns) {
    if (ports_.empty()) return true;
    if (is_data_port(ntohs(head.id.idiag_sport)) || is_data_port(ntohs(head.id.idiag_dport))) return true;
    return table_->owner_of(head.idiag_inode, mono_ns) != nullptr;
  }

  Status admit_new_flows(Sample& sample) {
    std::unordered_set<int> listening;
    auto remember = [&](const SocketInfo& socket) { listening.insert(ntohs(socket.head.id.idiag_sport)); };
    if (!ports_.empty()) RETURN_IF_ERROR(diag_.dump(SocketStates::listening, remember));
    for (const NewFlow& flow : new_flows_) {
      const inet_diag_sockid& id = flow.head.id;
      Flow& known = flows_[flow.cookie];
      if (known.tick == tick_) continue;  // the kernel listed it twice
      std::string name = cat(format_endpoint(flow.head.idiag_family, id.idiag_src, ntohs(id.idiag_sport)), ">",
                             format_endpoint(flow.head.idiag_family, id.idiag_dst, ntohs(id.idiag_dport)));
      std::string detail = cat("inode=", flow.head.idiag_inode, " side=", side_of(id, listening));
      if (const Daemon* daemon = table_->owner_of(flow.head.idiag_inode, sample.mono_ns))
        detail += cat(" daemon=", daemon->label());
      known = {id, keys_.add(sample, source_tcp, std::move(name), std::move(detail)), tick_};
      sample.add(source_tcp, known.key, flow.row);
    }
    return Ok{};
  }

  // A data port at our end makes us the server only if somebody listens on it: GlusterFS' range overlaps the ephemeral
  // ports. And where somebody listens we are never the client, whatever port the other end came from.
  std::string_view side_of(const inet_diag_sockid& id, const std::unordered_set<int>& listening) const {
    int local = ntohs(id.idiag_sport);
    if (listening.contains(local)) return is_data_port(local) ? "server" : "other";
    return is_data_port(ntohs(id.idiag_dport)) ? "client" : "other";
  }

  bool has_kernel_;
  KeyCounter& keys_;
  std::vector<PortRange> ports_;
  std::shared_ptr<DaemonTable> table_;
  SockDiag diag_;
  std::unordered_map<uint64_t, Flow> flows_;  // by cookie; those that were not seen in a tick are forgotten
  std::vector<NewFlow> new_flows_;
  uint32_t tick_ = 0;
  size_t left_out_ = 0;
  bool said_left_out_ = false;
};

Status probe(const SampleEnv& env) {
  if (!env.root.empty()) return Ok{};
  RETURN_IF_ERROR(SockDiag().dump(SocketStates::connected, [](const SocketInfo&) {}));
  return Ok{};
}

}  // namespace

extern const CollectorInfo collector_tcp;
const CollectorInfo collector_tcp = {
    .name = "tcp",
    .summary = "congestion window, round-trip time, bytes and losses of each TCP socket",
    .source = &source_tcp,
    .needs = "a kernel with CONFIG_INET_DIAG (module tcp_diag)",
    .make = [](const SampleEnv& env, KeyCounter& keys) -> std::unique_ptr<Collector> {
      return std::make_unique<TcpCollector>(env, keys);
    },
    .probe = probe,
};

}  // namespace culprit
