// A source is a kind of counters a node has (disk, nic, tcp, ...): a named table of columns, one row per device and
// tick. The standard sources are listed here, because collectors write them, simulate makes them and analyse reads
// them. The run's database and the node stream describe their own columns, so both ends may be of different age.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace culprit {

enum class ColumnKind { counter, gauge };  // a counter only grows until it is reset

struct Column {
  std::string_view name;  // carries its unit: read_ms, rx_bytes; sectors are 512 bytes; a bare plural is a count
  ColumnKind kind;
  std::string_view help;
};

struct Source {
  std::string_view name;
  std::string_view key;  // what a row belongs to: "device", "flow", "daemon"; "" when there is one row per node
  std::string_view help;
  std::span<const Column> columns;
};

constexpr int64_t kAbsent = std::numeric_limits<int64_t>::min();  // a value this kernel or socket does not have

namespace disk_column {
enum {
  reads,
  reads_merged,
  sectors_read,
  read_ms,
  writes,
  writes_merged,
  sectors_written,
  write_ms,
  in_flight,
  io_ms,
  weighted_ms,
  discards,
  sectors_discarded,
  discard_ms,
  flushes,
  flush_ms,
  count
};
}
namespace nic_column {
enum { rx_bytes, rx_packets, rx_errors, rx_dropped, tx_bytes, tx_packets, tx_errors, tx_dropped, count };
}
namespace tcp_column {
enum {
  cwnd_segments,
  ssthresh_segments,
  rtt_us,
  unacked_segments,
  bytes_sent,
  bytes_received,
  data_segments_out,
  retrans_segments,
  retrans_bytes,
  ooo_segments_in,
  dsack_dups,
  delivery_rate_bytes_per_s,
  count
};
}
namespace netstat_column {
enum {
  in_segments,
  out_segments,
  retrans_segments,
  timeouts,
  fast_retrans,
  lost_retransmits,
  ofo_queued,
  dsack_received,
  dsack_old_sent,
  in_errors,
  listen_drops,
  syn_retrans,
  count
};
}
namespace process_column {
enum {
  read_bytes,
  write_bytes,
  cancelled_write_bytes,
  read_call_bytes,
  write_call_bytes,
  user_ms,
  system_ms,
  rss_bytes,
  threads,
  count
};
}
namespace system_column {
enum {
  user_ms,
  nice_ms,
  system_ms,
  idle_ms,
  iowait_ms,
  irq_ms,
  softirq_ms,
  steal_ms,
  context_switches,
  running,
  blocked,
  mem_available_bytes,
  dirty_bytes,
  writeback_bytes,
  psi_cpu_some_us,
  psi_io_some_us,
  psi_io_full_us,
  psi_mem_some_us,
  psi_mem_full_us,
  count
};
}

extern const Source source_disk;
extern const Source source_nic;
extern const Source source_tcp;
extern const Source source_netstat;
extern const Source source_process;
extern const Source source_system;

std::span<const Source* const> standard_sources();
const Source* find_source(std::string_view name);

}  // namespace culprit
