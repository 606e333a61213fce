#include "analyse/checklist.h"

#include "base/check.h"

namespace culprit {

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

}  // namespace culprit
