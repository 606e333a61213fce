#include "explain/verdict_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"

namespace culprit {

namespace {

constexpr size_t kMostShown = 10;  // more than a screenful is not read

struct Phrase {
  const char* metric;
  const char* text;
};

// What a metric says of a server, to be followed by its value.
constexpr Phrase kPhrases[] = {
    {"rd_sec", "its disks read"},
    {"wr_sec", "its disks write"},
    {"await", "requests take"},
    {"rxbyt", "it receives"},
    {"txbyt", "it sends"},
    {"cwnd_to_clients", "congestion windows to its clients are"},
    {"cwnd_from_clients", "its clients' congestion windows towards it are"},
    {"tps", "its disks complete"},
    {"avgrq-sz", "requests have"},
    {"avgqu-sz", "the queue holds"},
    {"svctm", "a request keeps the disks busy for"},
    {"util", "its disks are busy"},
    {"retrans", "it sends again"},
    {"foreign_io", "disk traffic that is not the file system's is"},
    {"foreign_net", "network traffic that is not the file system's is"},
    {"rxpck", "it receives"},
    {"txpck", "it sends"},
    {"dread", "a read from its storage takes"},
    {"dwrite", "a write to its storage takes"},
    {"nsread", "reading a piece of a request takes"},
    {"ncread", "reading a piece of its answers takes its clients"},
};

struct Advice {
  const char* cause;
  const char* text;
};

// Where an admin would look next.
constexpr Advice kAdvice[] = {
    {"disk-hog", "who reads and writes there (pidstat -d 1, iotop), cron jobs, RAID checks, backups"},
    {"disk-busy", "the disk itself (smartctl -a, dmesg), its controller's patrol reads, others that share it"},
    {"network-hog", "who talks to whom (ss -tinp, nethogs), backups, a flood from outside"},
    {"packet-loss", "its link (ethtool -S, ip -s link), cable and switch port, nstat -az TcpRetransSegs"},
    {"disk-slow", "the disk and who else uses it (iostat -x 1, pidstat -d 1, smartctl -a, dmesg)"},
    {"network-slow", "its link and who else uses it (ip -s link, ethtool -S, ss -tin, nstat -az TcpRetransSegs)"},
    {"propagated-error", "space and inodes (df -h, df -i), mount options, limits (/proc/PID/limits), dmesg"},
    {"silent-error",
     "the files named here on its storage, then space, mount options, limits and dmesg as for any error"},
    {"crash", "the daemon's log, coredumpctl, dmesg (out of memory?), its limits (/proc/PID/limits)"},
    {"hang", "what its threads wait for (/proc/PID/task/*/stack, gdb -p), whether it is stopped (ps: state T), dmesg"},
};

std::string phrase(const std::string& metric) {
  for (const Phrase& row : kPhrases)
    if (metric == row.metric) return row.text;
  return metric + " is";
}

std::string plain(double value) {
  const double size = std::fabs(value);
  if (size >= 100 || size == 0) return fmt::format("{:.0f}", value);
  return size >= 10 ? fmt::format("{:.1f}", value) : fmt::format("{:.2g}", value);
}

std::string rate(double bytes) {
  if (std::fabs(bytes) < 1) bytes = 0;  // what differences of large numbers leave
  if (std::fabs(bytes) >= 1e6) return plain(bytes / 1e6) + " MB/s";
  return std::fabs(bytes) >= 1e3 ? plain(bytes / 1e3) + " kB/s" : plain(bytes) + " B/s";
}

// "3.1-3.6 ms": the unit once when both have it.
std::string range_text(double low, double high, const std::string& unit) {
  std::string a = value_text(low, unit);
  const std::string b = value_text(high, unit);
  if (a == b) return a;
  const size_t cut_a = a.find(' ');
  const size_t cut_b = b.find(' ');
  if (cut_a != std::string::npos && cut_b != std::string::npos && a.substr(cut_a) == b.substr(cut_b))
    return low < 0 ? a + " to " + b : a.substr(0, cut_a) + "-" + b;
  return a + " to " + b;
}

// What lies among the peers' values says nothing; --json has it all the same.
bool outside(const Evidence& e) {
  return e.value < e.peers_low || e.value > e.peers_high;
}

// What decided goes into the first sentence: a metric if there is one, a fact otherwise.
std::string evidence_lines(const Accusation& culprit) {
  std::string out;
  for (size_t i = 1; i < culprit.evidence.size(); ++i)
    if (culprit.evidence[i].indicting) out += fmt::format("  also: {}\n", evidence_text(culprit.evidence[i]));
  for (size_t i = culprit.evidence.empty() ? 1 : 0; i < culprit.facts.size(); ++i)
    out += fmt::format("  also: {}\n", culprit.facts[i]);
  for (const Evidence& evidence : culprit.evidence)
    if (!evidence.indicting && outside(evidence)) out += fmt::format("  beside: {}\n", evidence_text(evidence));
  return out;
}

std::string first_evidence(const Accusation& culprit) {
  if (!culprit.evidence.empty()) return evidence_text(culprit.evidence.front());
  return culprit.facts.empty() ? "it gave no evidence" : culprit.facts.front();
}

std::string onset_text(const Accusation& culprit) {
  const std::string from = format_time(culprit.onset_from_ns);
  const std::string until = format_time(culprit.onset_until_ns);
  return from == until ? fmt::format("  began at {}", from) : fmt::format("  began between {} and {}", from, until);
}

std::string accusation_text(const Accusation& culprit) {
  std::string out = fmt::format("{} is at fault ({}, {}): {}.\n", culprit.server, culprit.resource, culprit.cause,
                                first_evidence(culprit));
  out += evidence_lines(culprit) + onset_text(culprit);
  out += culprit.end_ns ? fmt::format(", over by about {}\n", format_time(culprit.end_ns)) : ", still so at the end\n";
  if (culprit.step)
    out += fmt::format("  decided by step {} of the checklist (docs/fast10.md): {}\n", culprit.step, culprit.why);
  for (const Advice& row : kAdvice)
    if (culprit.cause == row.cause) out += fmt::format("  to look at on {}: {}\n", culprit.server, row.text);
  return out;
}

std::string headline(const Verdict& verdict) {
  switch (verdict.answer) {
    case Answer::healthy:
      return fmt::format("healthy: {}\n", verdict.reason);
    case Answer::undecided:
      return fmt::format("undecided: {}\n", verdict.reason);
    case Answer::culprit:
      return "";
  }
  return "";
}

// Rows with the same metric and reason are one line: "rd_sec on s1 s2 s3: ...".
std::string not_judged_text(const Verdict& verdict) {
  std::string out;
  for (size_t i = 0; i < verdict.not_judged.size(); ++i) {
    const NotJudged& row = verdict.not_judged[i];
    auto same = [&](const NotJudged& other) { return other.metric == row.metric && other.reason == row.reason; };
    if (i > 0 && same(verdict.not_judged[i - 1])) continue;
    std::string servers;
    for (size_t j = i; j < verdict.not_judged.size() && same(verdict.not_judged[j]); ++j)
      servers += (servers.empty() ? "" : " ") + verdict.not_judged[j].server;
    out += fmt::format("not judged: {} of {}: {}\n", row.metric, servers == "*" ? "all servers" : servers, row.reason);
  }
  return out;
}

}  // namespace

std::string value_text(double value, const std::string& unit) {
  if (unit == "bytes/s") return rate(value);
  if (unit == "sectors/s") return rate(value * 512);
  if (unit == "%") return plain(value) + " %";
  return plain(value) + " " + unit;
}

std::string evidence_text(const Evidence& e) {
  std::string out = fmt::format("{} {} there, {} on its {} peers", phrase(e.metric), value_text(e.value, e.unit),
                                range_text(e.peers_low, e.peers_high, e.unit), e.peers);
  if (!e.indicting) return out;
  return out +
         fmt::format(", in {} of {} {} ({})", e.windows, e.windows_judged, e.per_tick ? "ticks" : "windows", e.metric);
}

std::string verdict_text(const Verdict& verdict) {
  std::string out = headline(verdict);
  for (size_t i = 0; i < std::min(kMostShown, verdict.culprits.size()); ++i)
    out += accusation_text(verdict.culprits[i]);
  if (verdict.culprits.size() > kMostShown)
    out += fmt::format("and {} more, which --json lists\n", verdict.culprits.size() - kMostShown);
  out += not_judged_text(verdict);
  if (verdict.partial) out += "note: the run is partial: its recorder did not close it, the last tick may be missing\n";
  if (verdict.origin == "simulated") out += "note: the run is simulated, which is no evidence of accuracy\n";
  for (const std::string& note : verdict.notes) out += fmt::format("note: {}\n", note);
  out += fmt::format("{} looked at {} server{} over {} ticks of {}, {} to {}\n", verdict.detector,
                     verdict.servers.size(), verdict.servers.size() == 1 ? "" : "s", verdict.ticks,
                     format_duration(verdict.interval_ns), format_time(verdict.from_ns), format_time(verdict.until_ns));
  return out;
}

}  // namespace culprit
