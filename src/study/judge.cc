#include "study/judge.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/units.h"

namespace culprit {

namespace {

struct FaultCauses {
  std::string_view fault;
  std::vector<std::string_view> causes;  // each of them is right
};

// An error may reach a client or stay hidden, and a daemon may die or hang of it (HotDep'09, section 5): all are true.
const std::vector<FaultCauses>& right_causes() {
  static const std::vector<std::string_view> kError = {"propagated-error", "silent-error", "crash", "hang"};
  static const std::vector<FaultCauses> table = {
      {"disk_hog", {"disk-hog", "disk-slow"}},
      {"disk_busy", {"disk-busy", "disk-slow"}},
      {"write_network_hog", {"network-hog", "network-slow"}},
      {"read_network_hog", {"network-hog", "network-slow"}},
      {"receive_pktloss", {"packet-loss", "network-slow"}},
      {"send_pktloss", {"packet-loss", "network-slow"}},
      {"err_inodes", kError},
      {"err_files", kError},
      {"err_space", kError},
      {"err_fsize", kError},
      {"err_vmsize", kError},
      {"err_remount", kError},
      {"crash", {"crash"}},
      {"hang", {"hang"}},
  };
  return table;
}

const FaultCauses* causes_of(std::string_view fault) {
  for (const FaultCauses& row : right_causes())
    if (row.fault == fault) return &row;
  return nullptr;
}

constexpr size_t kLongestReason = 500;

double to_ms(double seconds) {
  return std::round(seconds * 1000) / 1000;
}

double seconds_between(int64_t from_ns, int64_t until_ns) {
  return to_ms(static_cast<double>(until_ns - from_ns) / static_cast<double>(kNsPerSecond));
}

// Four digits: enough to judge by, and lines of two campaigns stay comparable by eye.
double shortened(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return std::strtod(text, nullptr);
}

RowAccusation shorten(const Accusation& culprit, int64_t begin_ns) {
  RowAccusation out;
  out.server = culprit.server;
  out.resource = culprit.resource;
  out.cause = culprit.cause;
  out.onset_from_s = seconds_between(begin_ns, culprit.onset_from_ns);
  out.onset_until_s = seconds_between(begin_ns, culprit.onset_until_ns);
  if (culprit.end_ns) out.end_s = seconds_between(begin_ns, culprit.end_ns);
  out.known_s = seconds_between(begin_ns, culprit.known_ns);
  for (const Evidence& each : culprit.evidence)
    if (each.indicting && std::isfinite(each.value))
      out.evidence.push_back(
          {each.metric, shortened(each.value), shortened(each.peers_low), shortened(each.peers_high)});
  return out;
}

}  // namespace

bool has_right_cause(std::string_view fault) {
  return causes_of(fault) != nullptr;
}

bool is_right_cause(std::string_view fault, std::string_view cause) {
  const FaultCauses* row = causes_of(fault);
  return row && std::find(row->causes.begin(), row->causes.end(), cause) != row->causes.end();
}

bool finds_victim(const Row& row, const RowAccusation& accused) {
  return has_fault(row) && row.on_s && accused.server == row.truth.victim &&
         (!accused.end_s || *accused.end_s > *row.on_s);
}

void score_row(Row& row) {
  row.itp = row.ifp = row.dtp = row.dfp = false;
  row.latency_s.reset();
  for (const RowAccusation& accused : row.accused) {
    if (!finds_victim(row, accused)) {
      row.ifp = row.dfp = true;
      continue;
    }
    row.itp = true;
    const double latency = to_ms(accused.known_s - *row.on_s);
    row.latency_s = std::min(row.latency_s.value_or(latency), latency);
    if (!has_right_cause(row.truth.fault)) continue;
    (is_right_cause(row.truth.fault, accused.cause) ? row.dtp : row.dfp) = true;
  }
}

Row judge(const std::string& campaign, const Attempt& attempt, const Verdict& verdict,
          const std::map<std::string, double>& changed) {
  constexpr const char* kAnswers[] = {"healthy", "culprit", "undecided"};
  Row row;
  row.campaign = campaign;
  row.truth = attempt.experiment;
  row.interval_ns = verdict.interval_ns;
  row.servers = static_cast<int>(verdict.servers.size());
  row.seconds = seconds_between(verdict.from_ns, verdict.until_ns);
  row.origin = verdict.origin;
  if (has_fault(row)) {
    // A crash is seen in the server's log before anybody could look whether it is in force.
    row.on_s = seconds_between(attempt.begin_ns, attempt.begun_ns ? attempt.begun_ns : attempt.on_ns);
    if (attempt.off_ns) row.off_s = seconds_between(attempt.begin_ns, attempt.off_ns);
  }
  row.detector = verdict.detector;
  row.changed = changed;
  row.answer = kAnswers[static_cast<size_t>(verdict.answer)];
  row.reason = verdict.reason.substr(0, kLongestReason);
  for (const Accusation& culprit : verdict.culprits) row.accused.push_back(shorten(culprit, attempt.begin_ns));
  for (const auto& [name, value] : attempt.measured)
    if (std::isfinite(value)) row.measured[name] = shortened(value);
  score_row(row);
  return row;
}

}  // namespace culprit
