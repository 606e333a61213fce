// What a fault does to the servers, as one table of factors. Work falls on all servers alike, because a client waits
// for the slowest one (FAST'10, section 6.1, observation 2); everything else happens at the victim.
#pragma once

#include <span>
#include <string_view>

namespace culprit {

// Many faults depend on where the data flows: `with` holds when all of it flows in the fault's direction, `against`
// when none does; in between the geometric mean weighted by the workload's share.
struct Graded {
  double with = 1;
  double against = 1;
  double at(double share) const;
};

enum class FaultDirection { none, towards_victim, from_victim };

struct SimulatedFault {
  std::string_view name;
  std::string_view summary;
  FaultDirection direction = FaultDirection::none;
  Graded work{};                // file system's throughput, on every server
  double victim_latency = 1;    // time a disk request takes at the victim
  double others_latency = 1;    // ... at the others, which now have less to do
  double device_busy = 0;       // share of the time the victim's disk is busy with somebody else's requests
  double hog_read_sectors = 0;  // third party's observed reads, as a multiple of the disk's rate
  double hog_rx_bytes = 0;      // third party's traffic to the victim, as a multiple of the link's rate
  double hog_tx_bytes = 0;      // ... from the victim
  Graded client_cwnd{};         // windows of the clients' sockets to the victim
  Graded server_cwnd{};         // windows of the victim's sockets
  double client_loss = 0;       // share of the segments that get lost on their way to the victim
  double server_loss = 0;       // ... on their way from it
  double rtt = 1;               // round-trip time to the victim
};

std::span<const SimulatedFault> simulated_faults();

}  // namespace culprit
