// What the file system's clients ask of every server, as a table. The figures are of the size that was measured on a
// GlusterFS cluster with disks of 15 MB/s and links of 160 Mbit/s; docs/simulate.md says how far to trust them.
#pragma once

#include <span>
#include <string_view>

namespace culprit {

constexpr double kDiskSectorsPerS = 15e6 / 512;  // what a disk can do at most
constexpr double kLinkBytesPerS = 20e6;          // what a server's link can carry at most

struct Workload {
  std::string_view name;
  std::string_view summary;
  double read_sectors_per_s;  // of one server
  double write_sectors_per_s;
  double request_sectors;
  double await_ms;             // queue included
  double service_ms;           // times requests per second gives the utilisation
  double meta_rx_bytes_per_s;  // requests, metadata
  double meta_tx_bytes_per_s;  // replies, metadata
  double client_cwnd;          // upper edge of the sawtooth, segments
  double server_cwnd;
  double cwnd_kept;    // share of the window that a congestion event leaves
  double client_loss;  // share of data segments lost in good health
  double server_loss;
  double imbalance;  // 1: healthy servers differ as much in work as in latency
  double common_sd;  // deviation of the demand, the same for all servers in a tick
  double own_sd;     // deviation of a server's own work around it
  double await_sd;
  double second_half;  // IOzone changes its phase half-way: factor on the work from there on

  double rx_share() const;  // share of the bytes that flow towards the servers
};

std::span<const Workload> workloads();

}  // namespace culprit
