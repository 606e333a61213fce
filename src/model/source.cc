#include "model/source.h"

namespace culprit {

namespace {

constexpr auto C = ColumnKind::counter;
constexpr auto G = ColumnKind::gauge;

constexpr Column kDisk[] = {
    {"reads", C, "read requests completed"},
    {"reads_merged", C, "reads merged into others before the device saw them"},
    {"sectors_read", C, "512-byte sectors read"},
    {"read_ms", C, "time all reads took, queue included"},
    {"writes", C, "write requests completed"},
    {"writes_merged", C, "writes merged into others before the device saw them"},
    {"sectors_written", C, "512-byte sectors written"},
    {"write_ms", C, "time all writes took, queue included"},
    {"in_flight", G, "requests the device has now"},
    {"io_ms", C, "time with at least one request in flight"},
    {"weighted_ms", C, "sum over time of the requests in flight"},
    {"discards", C, "discard requests completed"},
    {"sectors_discarded", C, "512-byte sectors discarded"},
    {"discard_ms", C, "time all discards took"},
    {"flushes", C, "flush requests completed"},
    {"flush_ms", C, "time all flushes took"},
};
constexpr Column kNic[] = {
    {"rx_bytes", C, "bytes received"},
    {"rx_packets", C, "packets received"},
    {"rx_errors", C, "bad packets received"},
    {"rx_dropped", C, "received packets dropped for want of room"},
    {"tx_bytes", C, "bytes sent"},
    {"tx_packets", C, "packets sent"},
    {"tx_errors", C, "packets not sent"},
    {"tx_dropped", C, "packets dropped before they were sent"},
};
constexpr Column kTcp[] = {
    {"cwnd_segments", G, "congestion window"},
    {"ssthresh_segments", G, "slow start threshold; absent until the first loss"},
    {"rtt_us", G, "smoothed round-trip time"},
    {"unacked_segments", G, "segments in flight"},
    {"bytes_sent", C, "bytes sent, retransmissions included"},
    {"bytes_received", C, "bytes received in order"},
    {"data_segments_out", C, "segments with data sent"},
    {"retrans_segments", C, "segments sent again"},
    {"retrans_bytes", C, "bytes sent again"},
    {"ooo_segments_in", C, "segments that arrived out of order: loss towards this node"},
    {"dsack_dups", C, "segments the peer got twice"},
    {"delivery_rate_bytes_per_s", G, "the kernel's newest estimate of what gets through"},
};
constexpr Column kNetstat[] = {
    {"in_segments", C, "TCP segments received"},
    {"out_segments", C, "TCP segments sent, without retransmissions"},
    {"retrans_segments", C, "TCP segments sent again"},
    {"timeouts", C, "retransmission timers that ran out"},
    {"fast_retrans", C, "retransmissions without waiting for the timer"},
    {"lost_retransmits", C, "retransmissions that were lost too"},
    {"ofo_queued", C, "segments that arrived out of order"},
    {"dsack_received", C, "peers told us they got a segment twice"},
    {"dsack_old_sent", C, "we told a peer it sent an old segment again"},
    {"in_errors", C, "bad TCP segments received"},
    {"listen_drops", C, "connections dropped at a full backlog"},
    {"syn_retrans", C, "connection requests sent again"},
};
constexpr Column kProcess[] = {
    {"read_bytes", C, "bytes the daemon caused to be read from disks"},
    {"write_bytes", C, "bytes the daemon caused to be written to disks"},
    {"cancelled_write_bytes", C, "written bytes that were truncated before they reached a disk"},
    {"read_call_bytes", C, "bytes returned by its read calls, sockets and cache included"},
    {"write_call_bytes", C, "bytes taken by its write calls, sockets and cache included"},
    {"user_ms", C, "CPU time in user mode"},
    {"system_ms", C, "CPU time in the kernel"},
    {"rss_bytes", G, "resident memory"},
    {"threads", G, "threads"},
};
constexpr Column kSystem[] = {
    {"user_ms", C, "CPU time in user mode, all CPUs"},
    {"nice_ms", C, "CPU time in user mode at low priority"},
    {"system_ms", C, "CPU time in the kernel"},
    {"idle_ms", C, "idle CPU time"},
    {"iowait_ms", C, "idle CPU time while requests were outstanding"},
    {"irq_ms", C, "CPU time in interrupts"},
    {"softirq_ms", C, "CPU time in soft interrupts"},
    {"steal_ms", C, "CPU time the hypervisor gave to others"},
    {"context_switches", C, "context switches"},
    {"running", G, "runnable threads"},
    {"blocked", G, "threads waiting for I/O"},
    {"mem_available_bytes", G, "memory that can be had without swapping"},
    {"dirty_bytes", G, "page cache still to be written"},
    {"writeback_bytes", G, "page cache being written"},
    {"psi_cpu_some_us", C, "time in which somebody waited for a CPU"},
    {"psi_io_some_us", C, "time in which somebody waited for I/O"},
    {"psi_io_full_us", C, "time in which everybody waited for I/O"},
    {"psi_mem_some_us", C, "time in which somebody waited for memory"},
    {"psi_mem_full_us", C, "time in which everybody waited for memory"},
};

static_assert(std::size(kDisk) == disk_column::count && std::size(kNic) == nic_column::count);
static_assert(std::size(kTcp) == tcp_column::count && std::size(kNetstat) == netstat_column::count);
static_assert(std::size(kProcess) == process_column::count && std::size(kSystem) == system_column::count);

}  // namespace

const Source source_disk{"disk", "device", "block devices, from /proc/diskstats", kDisk};
const Source source_nic{"nic", "device", "network interfaces, from /proc/net/dev", kNic};
const Source source_tcp{"tcp", "flow", "TCP sockets, from NETLINK_SOCK_DIAG", kTcp};
const Source source_netstat{"netstat", "", "TCP loss counters of the node, from /proc/net/{snmp,netstat}", kNetstat};
const Source source_process{"process", "daemon", "the file system's daemons, from /proc/PID/{io,stat}", kProcess};
const Source source_system{"system", "", "CPU, memory and pressure, from /proc/{stat,meminfo,pressure}", kSystem};

std::span<const Source* const> standard_sources() {
  static const Source* const all[] = {&source_disk,    &source_nic,     &source_tcp,
                                      &source_netstat, &source_process, &source_system};
  return all;
}

const Source* find_source(std::string_view name) {
  for (const Source* source : standard_sources())
    if (source->name == name) return source;
  return nullptr;
}

}  // namespace culprit
