// The time-series test for congestion windows (FAST'10, 10.1; rules 11 and 12): cwnd is too noisy for histograms, but
// every loss halves it, so on a logarithmic scale a lossy path sinks well below the median of the others.
#pragma once

#include <vector>

#include "analyse/incident.h"
#include "analyse/series.h"

namespace culprit {

struct CongestionOptions {
  size_t span = 31;
  size_t least = 16;
  size_t least_servers = 3;
};

// share[server][tick] = log cwnd / median of the servers' log cwnd, kMissing where it cannot be said.
std::vector<Series> log_shares(const SeriesSet& series, Metric metric, const CongestionOptions& options);

// Whether anybody ever sank below the median: where nobody did, there is nothing to learn from and nobody to flag.
bool ever_differs(const std::vector<Series>& shares);

// The largest fraction on a grid of `step` without a flag; kMissing when there is nothing to learn from.
double train_fraction(const std::vector<std::vector<Series>>& runs, double step);

// The share below which a server is flagged: 1 - margin (1 - fraction). Not above 0: nothing can be flagged.
double congestion_limit(double fraction, double margin);

std::vector<Flag> find_congestion(const std::vector<Series>& shares, size_t server, Metric metric, double limit,
                                  const CongestionOptions& options);

}  // namespace culprit
