// What the counters say about each fault, compared with the same seed without it: noise then cancels out.
#include "simulate/counters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace culprit {
namespace {

constexpr int kServers = 4, kClients = 2, kVictim = 1, kTicks = 200, kFrom = 40, kFor = 120;

SimulationPlan plan_for(const std::string& workload, const std::string& fault, uint64_t seed = 7) {
  SimulationRequest r;
  r.servers = kServers;
  r.clients = kClients;
  r.workload = workload;
  r.fault = fault;
  r.on = fault == "none" ? "" : "s2";
  r.seed = seed;
  r.ticks = kTicks;
  r.fault_from = kFrom;
  r.fault_for = kFor;
  auto plan = make_plan(r);
  EXPECT_TRUE(plan.ok());
  return *plan;
}

// All samples of all nodes: by tick, then node.
std::vector<std::vector<Sample>> samples_of(const SimulationPlan& plan) {
  Model model(plan);
  Counters counters(plan);
  std::vector<std::vector<Sample>> all;
  for (int64_t tick = 0; tick < plan.request.ticks; ++tick) {
    model.step();
    counters.add(model.servers());
    all.emplace_back(counters.nodes());
    for (size_t node = 0; node < counters.nodes(); ++node) counters.sample(node, tick, all.back()[node]);
  }
  return all;
}

// Sum over the rows of a source; sockets of a client are chosen by server.
int64_t value(const Sample& sample, const Source& source, int column, int row_index = -1) {
  int64_t sum = 0;
  int seen = 0;
  for (const SampleRow& row : sample.rows)
    if (row.source == &source && (row_index < 0 || seen++ == row_index))
      sum += sample.row(row)[static_cast<size_t>(column)];
  return sum;
}

// Means over the fault's time, per server.
struct Means {
  double rd_sec, wr_sec, await, util, queue, rx, tx, client_cwnd, server_cwnd, client_retrans, server_retrans,
      daemon_read;
};

Means means_of(const std::vector<std::vector<Sample>>& all, size_t server) {
  const Sample& a = all[kFrom][server];
  const Sample& b = all[kFrom + kFor][server];
  const auto diff = [&](const Source& source, int column) {
    return static_cast<double>(value(b, source, column) - value(a, source, column));
  };
  Means m{};
  using namespace disk_column;
  m.rd_sec = diff(source_disk, sectors_read) / kFor;
  m.wr_sec = diff(source_disk, sectors_written) / kFor;
  m.await = (diff(source_disk, read_ms) + diff(source_disk, write_ms)) /
            (diff(source_disk, reads) + diff(source_disk, writes));
  m.util = diff(source_disk, io_ms) / kFor / 1000;
  m.queue = diff(source_disk, weighted_ms) / kFor / 1000;
  m.rx = diff(source_nic, nic_column::rx_bytes) / kFor;
  m.tx = diff(source_nic, nic_column::tx_bytes) / kFor;
  m.server_retrans = diff(source_tcp, tcp_column::retrans_segments);
  m.daemon_read = diff(source_process, process_column::read_bytes) / 512 / kFor;
  for (size_t c = kServers; c < kServers + kClients; ++c) {
    const int row = static_cast<int>(server);
    m.client_retrans += static_cast<double>(value(all[kFrom + kFor][c], source_tcp, tcp_column::retrans_segments, row) -
                                            value(all[kFrom][c], source_tcp, tcp_column::retrans_segments, row));
    for (size_t t = kFrom + 10; t < kFrom + kFor; ++t)
      m.client_cwnd += static_cast<double>(value(all[t][c], source_tcp, tcp_column::cwnd_segments, row)) / kFor;
  }
  for (size_t t = kFrom + 10; t < kFrom + kFor; ++t)
    m.server_cwnd += static_cast<double>(value(all[t][server], source_tcp, tcp_column::cwnd_segments)) / kFor;
  return m;
}

std::vector<Means> means_for(const std::string& workload, const std::string& fault) {
  const auto all = samples_of(plan_for(workload, fault));
  std::vector<Means> out;
  for (size_t s = 0; s < kServers; ++s) out.push_back(means_of(all, s));
  return out;
}

TEST(Counters, SameSeedSameCountersOtherSeedOthers) {
  const auto a = samples_of(plan_for("ddr", "send_pktloss")), b = samples_of(plan_for("ddr", "send_pktloss"));
  const auto c = samples_of(plan_for("ddr", "send_pktloss", 8));
  for (size_t t = 0; t < a.size(); ++t)
    for (size_t n = 0; n < a[t].size(); ++n) {
      ASSERT_EQ(a[t][n].values, b[t][n].values);
      ASSERT_EQ(a[t][n].t_ns, b[t][n].t_ns);
      ASSERT_EQ(a[t][n].mono_ns, b[t][n].mono_ns);
    }
  EXPECT_NE(a.back()[0].values, c.back()[0].values);
}

TEST(Counters, AServerMoreChangesNoOther) {
  SimulationPlan plan = plan_for("ddw", "none");
  const auto four = samples_of(plan);
  plan.request.servers = 5;
  const auto five = samples_of(plan);
  for (size_t s = 0; s < kServers; ++s) {
    EXPECT_EQ(
        value(four.back()[s], source_disk, disk_column::writes) - value(four[0][s], source_disk, disk_column::writes),
        value(five.back()[s], source_disk, disk_column::writes) - value(five[0][s], source_disk, disk_column::writes));
  }
}

TEST(Counters, NeverDecreaseAndStartLarge) {
  for (const Workload& workload : workloads())
    for (const SimulatedFault& fault : simulated_faults()) {
      const auto all = samples_of(plan_for(std::string(workload.name), std::string(fault.name)));
      for (size_t t = 1; t < all.size(); ++t)
        for (size_t n = 0; n < all[t].size(); ++n) {
          const Sample &before = all[t - 1][n], &now = all[t][n];
          ASSERT_EQ(before.values.size(), now.values.size());
          ASSERT_GT(now.mono_ns, before.mono_ns);
          ASSERT_EQ(now.t_ns - before.t_ns, now.mono_ns - before.mono_ns);
          for (const SampleRow& row : now.rows)
            for (size_t c = 0; c < row.source->columns.size(); ++c) {
              if (row.source->columns[c].kind != ColumnKind::counter) continue;
              ASSERT_GE(now.values[row.first + c], before.values[row.first + c])
                  << row.source->name << " " << row.source->columns[c].name << " " << fault.name;
              ASSERT_GE(before.values[row.first + c], 0);
            }
        }
      EXPECT_GT(value(all[0][0], source_disk, disk_column::reads), 100000);
      EXPECT_GT(value(all[0][0], source_tcp, tcp_column::cwnd_segments), 0) << "gauges hold from the first tick on";
    }
}

TEST(Counters, DiskTotalsAgree) {
  for (const Workload& workload : workloads()) {
    const auto all = samples_of(plan_for(std::string(workload.name), "disk_hog"));
    for (size_t t = 1; t < all.size(); ++t)
      for (size_t s = 0; s < kServers; ++s) {
        const auto diff = [&](int c) {
          return value(all[t][s], source_disk, c) - value(all[t - 1][s], source_disk, c);
        };
        using namespace disk_column;
        ASSERT_EQ(diff(sectors_read) % 8, 0);
        ASSERT_GE(diff(sectors_read), 8 * diff(reads));
        ASSERT_EQ(diff(sectors_read) == 0, diff(reads) == 0);
        ASSERT_GE(diff(sectors_written), 8 * diff(writes));
        ASSERT_EQ(diff(weighted_ms), diff(read_ms) + diff(write_ms));
        ASSERT_LE(diff(io_ms), 1000);
      }
  }
}

TEST(Counters, BothEndsOfAConnectionAgree) {
  const auto all = samples_of(plan_for("postmark", "receive_pktloss"));
  for (int s = 0; s < kServers; ++s)
    for (int c = 0; c < kClients; ++c) {
      const auto diff = [&](size_t node, int row, int column) {
        return value(all.back()[node], source_tcp, column, row) - value(all[0][node], source_tcp, column, row);
      };
      using namespace tcp_column;
      const size_t client = static_cast<size_t>(kServers + c), server = static_cast<size_t>(s);
      EXPECT_EQ(diff(client, s, bytes_sent) - diff(client, s, retrans_bytes), diff(server, c, bytes_received));
      EXPECT_EQ(diff(server, c, bytes_sent) - diff(server, c, retrans_bytes), diff(client, s, bytes_received));
    }
}

TEST(Counters, KeysComeOnceAndNameBothEnds) {
  const auto all = samples_of(plan_for("ddw", "none"));
  const auto find = [](const Sample& sample, const Source& source) {
    return *std::find_if(sample.keys.begin(), sample.keys.end(), [&](const NewKey& k) { return k.source == &source; });
  };
  EXPECT_EQ(all[0][0].keys.size(), 3u + kClients);
  EXPECT_EQ(all[0][kServers].keys.size(), 1u + kServers);
  EXPECT_TRUE(all[1][0].keys.empty());
  const NewKey server = find(all[0][0], source_tcp), client = find(all[0][kServers], source_tcp);
  EXPECT_EQ(server.name, "10.77.1.1:49152>10.77.200.1:1023");
  EXPECT_EQ(client.name, "10.77.200.1:1023>10.77.1.1:49152");
  EXPECT_EQ(server.detail.substr(0, 18), "side=server inode=");
  EXPECT_EQ(client.detail.substr(0, 18), "side=client inode=");
  EXPECT_EQ(find(all[0][0], source_process).name.substr(0, 10), "glusterfsd");
}

TEST(Faults, WorkFallsOnAllServersAlike) {
  for (const Workload& workload : workloads()) {
    const std::string name(workload.name);
    const auto healthy = means_for(name, "none");
    for (const SimulatedFault& fault : simulated_faults()) {
      const auto ill = means_for(name, std::string(fault.name));
      const double expected = effects_of(plan_for(name, std::string(fault.name)), fault.name != "none", false).work;
      for (size_t s = 0; s < kServers; ++s) {
        EXPECT_NEAR(ill[s].wr_sec, healthy[s].wr_sec * expected, 0.02 * healthy[s].wr_sec + 8) << fault.name;
        EXPECT_NEAR(ill[s].daemon_read, healthy[s].daemon_read * expected, 0.02 * healthy[s].daemon_read + 8)
            << fault.name;
      }
    }
  }
}

TEST(Faults, OthersShowNothingButLessWork) {
  for (const char* workload : {"ddw", "ddr"}) {
    const auto healthy = means_for(workload, "none");
    for (const SimulatedFault& fault : simulated_faults()) {
      const auto ill = means_for(workload, std::string(fault.name));
      for (size_t s = 0; s < kServers; ++s) {
        if (s == kVictim) continue;
        EXPECT_NEAR(ill[s].rd_sec, ill[s].daemon_read, 1e-6) << fault.name;
        EXPECT_NEAR(ill[s].await / healthy[s].await, fault.others_latency, 0.05) << fault.name;
        EXPECT_LE(ill[s].util, healthy[s].util * 1.001) << fault.name;
        EXPECT_LE(ill[s].rx, healthy[s].rx * 1.001) << fault.name;
        EXPECT_LE(ill[s].tx, healthy[s].tx * 1.001) << fault.name;
        EXPECT_NEAR(ill[s].client_cwnd, healthy[s].client_cwnd, 1e-6) << fault.name;
        EXPECT_NEAR(ill[s].server_cwnd, healthy[s].server_cwnd, 1e-6) << fault.name;
      }
    }
  }
}

TEST(Faults, DiskHogAddsReadsThatTheDaemonDidNotAskFor) {
  for (const char* workload : {"ddw", "ddr", "postmark"}) {
    const Means m = means_for(workload, "disk_hog")[kVictim], h = means_for(workload, "none")[kVictim];
    EXPECT_NEAR(m.rd_sec - m.daemon_read, 0.53 * kDiskSectorsPerS, 300) << workload;
    EXPECT_NEAR(m.await / h.await, 10, 1) << workload;
    EXPECT_GT(m.util, 0.9) << workload;
  }
}

TEST(Faults, DiskBusyShowsOnlyInLatencyUtilisationAndQueue) {
  for (const char* workload : {"ddw", "ddr", "postmark"}) {
    const auto all = means_for(workload, "disk_busy");
    const Means m = all[kVictim], h = means_for(workload, "none")[kVictim];
    EXPECT_EQ(m.rd_sec, m.daemon_read) << workload;
    EXPECT_NEAR(m.await / h.await, 8, 1) << workload;
    EXPECT_GT(m.util, 0.9) << workload;
    EXPECT_GT(m.queue, 3 * all[0].queue) << workload;
    EXPECT_NEAR(m.rx / all[0].rx, h.rx / means_for(workload, "none")[0].rx, 0.02) << workload;
  }
}

TEST(Faults, NetworkHogsFillOneDirectionAndAcknowledgeInTheOther) {
  for (const char* workload : {"ddw", "ddr", "postmark"}) {
    const Means h = means_for(workload, "none")[kVictim];
    const Means in = means_for(workload, "write_network_hog")[kVictim],
                out = means_for(workload, "read_network_hog")[kVictim];
    EXPECT_GT(in.rx, 0.75 * kLinkBytesPerS) << workload;
    EXPECT_LT(in.rx, 1.1 * kLinkBytesPerS) << workload;
    EXPECT_LT(in.tx, h.tx + 0.05 * kLinkBytesPerS) << workload;
    EXPECT_GT(out.tx, 0.75 * kLinkBytesPerS) << workload;
    EXPECT_LT(out.rx, h.rx + 0.05 * kLinkBytesPerS) << workload;
    EXPECT_NEAR(in.await, h.await, 0.05 * h.await) << workload;
  }
}

TEST(Faults, LossShowsInTheRightDirectionOnly) {
  for (const char* workload : {"ddw", "ddr", "postmark"}) {
    const Means h = means_for(workload, "none")[kVictim];
    const Means receive = means_for(workload, "receive_pktloss")[kVictim],
                send = means_for(workload, "send_pktloss")[kVictim];
    EXPECT_LT(receive.client_cwnd, 0.4 * h.client_cwnd) << workload;
    EXPECT_NEAR(receive.server_cwnd, h.server_cwnd, 1e-6) << workload;
    EXPECT_GT(receive.client_retrans, 10 * h.client_retrans + 50) << workload;
    EXPECT_LE(receive.server_retrans, h.server_retrans + 20) << workload;
    EXPECT_LT(send.server_cwnd, 0.5 * h.server_cwnd) << workload;
    EXPECT_NEAR(send.client_cwnd, h.client_cwnd, 1e-6) << workload;
    EXPECT_GT(send.server_retrans, 10 * h.server_retrans + 50) << workload;
    EXPECT_LE(send.client_retrans, h.client_retrans + 20) << workload;
  }
}

TEST(Faults, EverythingIsAsBeforeOutsideTheFaultsTime) {
  const auto ill = samples_of(plan_for("ddw", "disk_hog")), healthy = samples_of(plan_for("ddw", "none"));
  const auto diff = [](const auto& all, size_t t) {
    return value(all[t][kVictim], source_disk, disk_column::reads) -
           value(all[t - 1][kVictim], source_disk, disk_column::reads);
  };
  EXPECT_EQ(diff(ill, kFrom), diff(healthy, kFrom));
  EXPECT_GT(diff(ill, kFrom + 1), 0);
  EXPECT_GT(diff(ill, kFrom + kFor), 0);
  EXPECT_EQ(diff(ill, kFrom + kFor + 1), 0);
}

TEST(Workloads, HealthyServersDifferAlikeInAllSeedsAndNotAtAllWithoutSpread) {
  const auto await_of = [](uint64_t seed, double spread, size_t server) {
    SimulationPlan plan = plan_for("ddr", "none", seed);
    plan.request.spread = spread;
    return means_of(samples_of(plan), server).await;
  };
  for (size_t s = 1; s < kServers; ++s) {
    EXPECT_NEAR(await_of(1, 0.5, s) / await_of(1, 0.5, 0), await_of(2, 0.5, s) / await_of(2, 0.5, 0), 0.2);
    EXPECT_NEAR(await_of(1, 0, s) / await_of(1, 0, 0), 1, 0.03);
  }
  EXPECT_GT(std::abs(std::log(await_of(1, 0.5, 1) / await_of(1, 0.5, 0))), 0.1);
}

TEST(Workloads, RowsArePlausible) {
  for (const Workload& w : workloads()) {
    const double requests = (w.read_sectors_per_s + w.write_sectors_per_s) / w.request_sectors;
    EXPECT_LT(requests * w.service_ms / 1000, 0.8) << w.name;
    EXPECT_LE(w.service_ms, w.await_ms) << w.name;
    EXPECT_LT((w.read_sectors_per_s + w.write_sectors_per_s), kDiskSectorsPerS) << w.name;
    EXPECT_TRUE(w.cwnd_kept > 0 && w.cwnd_kept < 1) << w.name;
  }
}

}  // namespace
}  // namespace culprit
