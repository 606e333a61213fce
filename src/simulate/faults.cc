#include "simulate/faults.h"

#include <cmath>

namespace culprit {

namespace {

constexpr SimulatedFault kFaults[] = {
    {.name = "none", .summary = "all servers are healthy"},
    {.name = "disk_hog",
     .summary = "a process on the victim reads from its disk",
     .work = {0.5, 0.5},
     .victim_latency = 10,
     .others_latency = 0.95,
     .device_busy = 0.9,
     .hog_read_sectors = 0.53},
    {.name = "disk_busy",
     .summary = "somebody unseen uses the victim's disk",
     .work = {0.5, 0.5},
     .victim_latency = 8,
     .others_latency = 0.95,
     .device_busy = 0.9},
    {.name = "write_network_hog",
     .summary = "a third party sends to the victim",
     .direction = FaultDirection::towards_victim,
     .work = {0.6, 0.88},
     .hog_rx_bytes = 0.8,
     .client_cwnd = {0.3, 0.8},
     .rtt = 4},
    {.name = "read_network_hog",
     .summary = "the victim sends to a third party",
     .direction = FaultDirection::from_victim,
     .work = {0.6, 0.88},
     .hog_tx_bytes = 0.8,
     .server_cwnd = {0.3, 0.8},
     .rtt = 4},
    {.name = "receive_pktloss",
     .summary = "the victim loses 5 % of the packets sent to it",
     .direction = FaultDirection::towards_victim,
     .work = {0.35, 0.95},
     .client_cwnd = {0.03, 0.17},
     .client_loss = 0.05,
     .rtt = 1.5},
    {.name = "send_pktloss",
     .summary = "the clients lose 5 % of the packets from the victim",
     .direction = FaultDirection::from_victim,
     .work = {0.35, 0.95},
     .server_cwnd = {0.06, 0.38},
     .server_loss = 0.05,
     .rtt = 1.5},
};

}  // namespace

double Graded::at(double share) const {
  return std::pow(with, share) * std::pow(against, 1 - share);
}

std::span<const SimulatedFault> simulated_faults() {
  return kFaults;
}

}  // namespace culprit
