#include "analyse/checklist.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"

namespace culprit {

namespace {

constexpr std::string_view kAsFast = "answer as fast on average, but spread differently over time";

bool is_among_peers(const Evidence& e) {
  return e.peers > 0 && e.value >= e.peers_low && e.value <= e.peers_high;
}

// Whether all that convicted in the deciding step lies among the peers' means.
bool same_on_average(const Cause& cause, const std::vector<Evidence>& evidence) {
  return std::all_of(evidence.begin(), evidence.end(), [&](const Evidence& e) {
    const MetricInfo* metric = find_metric(e.metric);
    const bool asked = e.indicting && metric != nullptr && cause.asked.count(metric->id) > 0;
    return !asked || is_among_peers(e);
  });
}

}  // namespace

Cause find_cause(const std::set<Metric>& deviating) {
  auto has = [&](Metric metric) { return deviating.count(metric) > 0; };
  const bool congestion = has(Metric::cwnd_to_clients) || has(Metric::cwnd_from_clients);
  const bool receives = has(Metric::rxbyt);
  const bool sends = has(Metric::txbyt);

  const std::set<Metric> storage = {Metric::rd_sec, Metric::wr_sec};
  const std::set<Metric> traffic = {Metric::rxbyt, Metric::txbyt};
  if (has(Metric::rd_sec) || has(Metric::wr_sec))
    return {"disk-hog", Resource::disk, 1, "its disks move another amount of data than its peers' (rd_sec or wr_sec)",
            storage};
  if (has(Metric::await))
    return {"disk-busy",
            Resource::disk,
            2,
            "its disks move as much as its peers' but answer later (await alone)",
            {Metric::await}};
  // Acknowledgements of a hog may be buried in large I/O, so one direction is enough; but congestion together with one
  // direction only is how lost packets look, whose delayed acknowledgements shift the traffic of the faulty server.
  if (receives && sends)
    return {"network-hog", Resource::network, 3,
            "its traffic differs from its peers' in both directions (rxbyt and txbyt)", traffic};
  if ((receives || sends) && !congestion)
    return {"network-hog", Resource::network, 3,
            "its traffic differs from its peers' and no congestion window shrank (rxbyt or txbyt without cwnd)",
            traffic};
  CHECK(congestion) << "no indicting metric among " << deviating.size();
  return {"packet-loss",
          Resource::network,
          4,
          "congestion windows to or from it shrank (cwnd)",
          {Metric::cwnd_to_clients, Metric::cwnd_from_clients}};
}

std::string_view how_disks_answer(const std::vector<Evidence>& evidence) {
  for (const Evidence& e : evidence) {
    if (!e.indicting || e.metric != info(Metric::await).name) continue;
    if (is_among_peers(e)) return kAsFast;
    if (e.value < e.peers_low) return "answer sooner";
  }
  return "answer later";
}

std::string explain_step(const Cause& cause, const std::vector<Evidence>& evidence) {
  if (cause.step == 2) {
    const std::string_view how = how_disks_answer(evidence);
    return cat("its disks move as much as its peers' ", how == kAsFast ? "and " : "but ", how, " (await alone)");
  }
  if (cause.step == 4 || !same_on_average(cause, evidence)) return cause.why;
  return cat(cause.step == 1 ? "its disks move as much data as its peers'" : "its traffic is as much as its peers'",
             " on average, but spread differently over time ",
             cause.step == 1 ? "(rd_sec or wr_sec)" : "(rxbyt or txbyt)");
}

}  // namespace culprit
