// What is to be simulated: the user's words, checked, and the plan they make.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "simulate/faults.h"
#include "simulate/workloads.h"

namespace culprit {

constexpr int kMaxServers = 10000;  // addresses and memory for that many are there
constexpr int kMaxClients = 1000;

struct SimulationRequest {
  int servers = 5;
  int clients = 2;
  std::string workload = "ddw";
  std::string fault = "none";
  std::string on;  // the victim, "s3"; "" only with fault none
  uint64_t seed = 1;
  int64_t ticks = 600;
  int64_t interval_ns = kNsPerSecond;
  int64_t fault_from = 120;  // ticks
  int64_t fault_for = 300;
  double spread = 0.05;  // deviation between healthy servers
};

struct SimulationPlan {
  SimulationRequest request;
  const Workload* workload = nullptr;
  const SimulatedFault* fault = nullptr;
  int victim = -1;       // index of the server; -1: none
  int64_t start_ns = 0;  // wall clock of the first tick; follows from the seed

  bool faulty_at(int64_t tick) const;
  int64_t time_of(int64_t tick) const { return start_ns + tick * request.interval_ns; }
};

Result<SimulationPlan> make_plan(const SimulationRequest& request);

}  // namespace culprit
