// fast10: the peer comparison of "Black-Box Problem Diagnosis in Parallel File Systems" (FAST'10), section 10.
//
// Servers of a striped file system do alike; a faulty one does not. Phase I looks, metric by metric, for a server whose
// values in a window are distributed unlike those of more than half of its peers (peers.h), for k of the last 2k-1
// windows (flags.h), beyond a threshold that training found in fault-free runs; congestion windows get a test of their
// own (congestion.h). Phase II asks a fixed list of questions which metrics those were (checklist.h). What the paper
// leaves open is decided in sixteen rules, see docs/fast10.md; this file puts the parts together.
#include <algorithm>
#include <future>
#include <limits>
#include <set>

#include "analyse/activity.h"
#include "analyse/checklist.h"
#include "analyse/congestion.h"
#include "analyse/detector.h"
#include "analyse/flags.h"
#include "base/text.h"
#include "base/units.h"

namespace culprit {

namespace {

constexpr Parameter kParameters[] = {
    {"average_span", 5, 1, 1000, "ticks of the moving average (section 10.1)"},
    {"average_least", 3, 1, 1000, "ticks of them that must have a value"},
    {"window_size", 64, 4, 100000, "ticks of a window (WinSize)"},
    {"window_shift", 32, 1, 100000, "ticks from a window to the next (WinShift)"},
    {"least_values", 24, 1, 100000, "values a server must have in a window to be judged in it"},
    {"least_servers", 3, 3, 1000, "servers a metric must know in a window; of two nobody can say which one is odd"},
    {"k", 3, 1, 100, "windows of the last 2k-1 that must be anomalous"},
    {"bins", 16, 2, 1000, "bins of a histogram"},
    {"epsilon", 1e-4, 1e-12, 0.1, "added to every bin, so that empty ones stay finite"},
    {"median_share", 0.05, 0, 1, "least bin width as a share of the pooled median"},
    {"floor_sectors", 128, 0, 1e9, "sectors/s below which storage throughput is nothing"},
    {"floor_await", 0.05, 0, 1e6, "ms below which a difference of await is nothing"},
    {"floor_bytes", 10000, 0, 1e12, "bytes/s below which network throughput is nothing"},
    {"step", 0.1, 1e-6, 10, "training: grid of the thresholds", true},
    {"factor", 2, 1, 100, "training: cushion on a trained threshold", true},
    {"weak", 7.8, 0, 100, "a threshold above this is weak: a victim spread over all bins cannot exceed it"},
    {"weak_factor", 2, 0, 1000,
     "weak servers are also judged by the ratio of medians, beyond this many times training's; 0: they are not"},
    {"cwnd_span", 31, 1, 1000, "ticks of the moving average of cwnd, and in which a socket must have sent"},
    {"cwnd_least", 16, 1, 1000, "ticks of them that must have a value"},
    {"cwnd_step", 0.01, 1e-6, 1, "training: grid of the cwnd fraction", true},
    {"cwnd_margin", 1.5, 0.1, 100,
     "distance from the median at which cwnd is flagged, as a multiple of training's; the paper has 1"},
};

constexpr Metric kHistogram[] = {Metric::rd_sec, Metric::wr_sec, Metric::await, Metric::rxbyt, Metric::txbyt};
constexpr Metric kCongestion[] = {Metric::cwnd_to_clients, Metric::cwnd_from_clients};
constexpr const char* kAnyServer = "*";
constexpr size_t kMostNamed = 10;  // servers in a note; more are not read

size_t natural(const Parameters& p, std::string_view name) {
  return static_cast<size_t>(p.integer(name));
}

PeerOptions peer_options(Metric metric, const Parameters& p) {
  PeerOptions out;
  out.average_span = natural(p, "average_span");
  out.average_least = natural(p, "average_least");
  out.windows = {natural(p, "window_size"), natural(p, "window_shift")};
  out.least_values = natural(p, "least_values");
  out.least_servers = natural(p, "least_servers");
  out.binning = {p.integer("bins"), p["epsilon"], p["median_share"], floor_of(metric, p)};
  return out;
}

CongestionOptions congestion_options(const Parameters& p) {
  return {natural(p, "cwnd_span"), natural(p, "cwnd_least"), natural(p, "least_servers")};
}

size_t ticks_needed(const Parameters& p) {
  return natural(p, "window_size") + (natural(p, "k") - 1) * natural(p, "window_shift");
}

size_t servers_with_data(const SeriesSet& series) {
  return static_cast<size_t>(std::count_if(series.sampled.begin(), series.sampled.end(), [](const auto& ticks) {
    return std::find(ticks.begin(), ticks.end(), true) != ticks.end();
  }));
}

// ---- training ----

struct Learned {
  double trained = 0;
  double above = 1;
  double below = 1;
  bool seen = false;
};

// A server that was known too rarely to be flagged, or only in runs without activity, has not shown how far it strays:
// it gets the others' maximum.
void learn(const PeerTable& table, size_t server, size_t k, bool active, Learned& out) {
  const double distance = least_unflagged_distance(table, server, k);
  if (is_missing(distance)) return;
  out.seen |= active;
  out.trained = std::max(out.trained, distance);
  for (const auto& cells : table.windows) {
    const PeerCell& cell = cells[server];
    if (cell.known != Known::yes) continue;
    out.above = std::max(out.above, cell.above);
    out.below = std::min(out.below, cell.below);
  }
}

// Rule 10: doubled, but never more than halfway from the trained one to the ceiling.
std::map<std::string, double> threshold_row(const Learned& learned, const Binning& binning, const Parameters& p) {
  const double trained = round_up_to_step(learned.trained, p["step"]);
  const double ceiling = distance_ceiling(binning);
  const double used = std::max(trained, std::min(trained * p["factor"], (trained + ceiling) / 2));
  return {{"trained", trained}, {"used", used}, {"above", learned.above}, {"below", learned.below}};
}

void train_histogram(std::span<const SeriesSet> runs, Metric metric, const Parameters& p, Profile& profile) {
  const PeerOptions options = peer_options(metric, p);
  const size_t k = natural(p, "k");
  std::map<std::string, Learned> by_server;
  for (const SeriesSet& run : runs) {
    if (!run.has(metric)) continue;
    const PeerTable table = compare_peers(run, metric, options);
    const bool active = often_active(table, k);
    for (size_t i = 0; i < run.servers.size(); ++i) learn(table, i, k, active, by_server[run.servers[i]]);
  }
  Learned worst;
  std::map<std::string, std::map<std::string, double>> rows;
  for (const auto& [server, learned] : by_server) {
    if (!learned.seen) continue;
    rows[server] = threshold_row(learned, options.binning, p);
    worst.trained = std::max(worst.trained, learned.trained);
    worst.above = std::max(worst.above, learned.above);
    worst.below = std::min(worst.below, learned.below);
  }
  if (rows.empty()) return;  // the least threshold would accuse of any noise
  rows[kAnyServer] = threshold_row(worst, options.binning, p);
  profile.thresholds[std::string(info(metric).name)] = std::move(rows);
}

void train_congestion(std::span<const SeriesSet> runs, Metric metric, const Parameters& p, Profile& profile) {
  std::vector<std::vector<Series>> shares;
  for (const SeriesSet& run : runs)
    if (run.has(metric)) shares.push_back(log_shares(run, metric, congestion_options(p)));
  const double fraction = train_fraction(shares, p["cwnd_step"]);
  if (!is_missing(fraction)) profile.thresholds[std::string(info(metric).name)][kAnyServer] = {{"fraction", fraction}};
}

Result<Profile> train(std::span<const SeriesSet> runs, const Parameters& p) {
  Profile profile;
  profile.detector = "fast10";
  profile.parameters = {p.all().begin(), p.all().end()};
  for (const SeriesSet& run : runs) {
    if (run.ticks < ticks_needed(p))
      return input_error(cat(run.run, " has ", run.ticks, " ticks; training needs at least ", ticks_needed(p)),
                         "record longer, or with a shorter --interval");
    if (servers_with_data(run) < natural(p, "least_servers"))
      return input_error(cat(run.run, " has data of ", servers_with_data(run), " servers; three are needed"),
                         "of two nobody can say which one is odd");
    profile.runs.push_back(run.run.substr(run.run.find_last_of('/') + 1));  // a profile travels, paths do not
    profile.simulated |= run.origin == "simulated";
    profile.interval_ns = run.interval_ns;
  }
  for (Metric metric : kHistogram) train_histogram(runs, metric, p, profile);
  for (Metric metric : kCongestion) train_congestion(runs, metric, p, profile);
  if (profile.thresholds.empty())
    return input_error("the training runs show no activity", "record them under the heaviest load the servers get");
  return profile;
}

// ---- diagnosis ----

// What the metrics said so far.
struct Findings {
  std::vector<Flag> flags;
  bool majority = false;
  bool undecided = false;  // some active metric or server could not be judged at all
  bool judged = false;     // somebody was, in something
  std::vector<NotJudged> not_judged;
  std::vector<std::string> notes;
};

void skip(Findings& findings, std::string server, Metric metric, std::string reason) {
  findings.not_judged.push_back({std::move(server), std::string(info(metric).name), std::move(reason)});
}

std::vector<Threshold> thresholds_of(const SeriesSet& series, Metric metric, const Profile& profile,
                                     const Parameters& p) {
  const auto& rows = profile.thresholds.at(std::string(info(metric).name));
  std::vector<Threshold> out;
  for (const std::string& server : series.servers) {
    auto found = rows.find(server);
    const auto& row = found != rows.end() ? found->second : rows.at(kAnyServer);
    Threshold t;
    t.used = row.at("used");
    t.weak = t.used > p["weak"];
    if (p["weak_factor"] > 0) {
      t.above = row.at("above") * p["weak_factor"];
      t.below = row.at("below") / p["weak_factor"];
    }
    out.push_back(t);
  }
  return out;
}

// What kept most of the unknown windows from being judged; of equals the first in this order.
std::string reason_of(const Coverage& c) {
  constexpr std::string_view kWords[kLacks] = {"no data", "fewer than three servers had data", "too few values",
                                               "nothing to measure"};  // by Lack
  std::string_view words = "half of the servers deviate";
  size_t most = c.majority;
  for (size_t lack = 0; lack < kLacks; ++lack) {
    if (c.lacks[lack] <= most) continue;
    most = c.lacks[lack];
    words = kWords[lack];
  }
  return cat(words, " in ", most, " of ", c.windows, " windows");
}

// Says why a server was not judged in a metric, if it was not.
void note_coverage(const PeerTable& table, size_t server, const std::string& name, Metric metric, size_t k,
                   Findings& findings) {
  const Coverage c = coverage(table, server, k);
  findings.judged |= !c.never;
  if (!c.gap) return;
  skip(findings, name, metric, reason_of(c));
  findings.undecided |= c.missing * 2 > c.windows || (c.never && c.missing > 0);
}

void judge_histogram(const SeriesSet& series, Metric metric, PeerTable table, const Profile& profile,
                     const Parameters& p, Findings& findings) {
  const size_t k = natural(p, "k");
  if (!series.has(metric)) return skip(findings, kAnyServer, metric, "it was not recorded");
  if (!profile.thresholds.count(std::string(info(metric).name))) {
    if (!often_active(table, k)) return;  // nobody could have been flagged in it
    findings.undecided = true;
    return skip(findings, kAnyServer, metric, "the training runs showed no activity in it");
  }
  const std::vector<Threshold> thresholds = thresholds_of(series, metric, profile, p);
  findings.majority |= majority_persists(apply_majority_rule(table, thresholds), k);
  for (size_t i = 0; i < series.servers.size(); ++i) {
    std::vector<Flag> flags = find_flags(table, i, thresholds[i], k);
    for (Flag& flag : flags) {
      flag.metric = metric;
      findings.flags.push_back(std::move(flag));
    }
    note_coverage(table, i, series.servers[i], metric, k, findings);  // a log may end while somebody is flagged
    if (!flags.empty()) continue;
    if (const size_t last = deviating_at_the_end(table, i, thresholds[i]); last > 0)
      findings.notes.push_back(cat(series.servers[i], " deviates in the last ", last,
                                   last == 1 ? " window" : " windows", " (", info(metric).name,
                                   "), too few to convict it: look again with more data"));
    if (thresholds[i].weak && table.ever_active())
      skip(findings, series.servers[i], metric,
           thresholds[i].above > 0 ? "its peers differed so much in training that only a far larger ratio is judged"
                                   : "its peers differed so much in training that nothing can stand out");
  }
}

void judge_congestion(const SeriesSet& series, Metric metric, const Profile& profile, const Parameters& p,
                      Findings& findings) {
  if (!series.has(metric)) return skip(findings, kAnyServer, metric, "it was not recorded");
  const std::vector<Series> shares = log_shares(series, metric, congestion_options(p));
  const bool sent = std::any_of(shares.begin(), shares.end(), [](const Series& share) {
    return std::any_of(share.begin(), share.end(), [](double v) { return !is_missing(v); });
  });
  if (!sent) return skip(findings, kAnyServer, metric, "fewer than three servers had sockets that sent");
  auto row = profile.thresholds.find(std::string(info(metric).name));
  if (row == profile.thresholds.end()) {
    if (!ever_differs(shares)) return;
    findings.undecided = true;
    return skip(findings, kAnyServer, metric, "the training runs showed no activity, or no difference, in it");
  }
  const double limit = congestion_limit(row->second.at(kAnyServer).at("fraction"), p["cwnd_margin"]);
  if (limit <= 0) return skip(findings, kAnyServer, metric, "it varied so much in training that nothing can stand out");
  for (size_t i = 0; i < series.servers.size(); ++i) {
    if (std::all_of(shares[i].begin(), shares[i].end(), is_missing))
      skip(findings, series.servers[i], metric, "none of its sockets sent");
    else
      findings.judged = true;
    for (Flag& flag : find_congestion(shares, i, metric, limit, congestion_options(p)))
      findings.flags.push_back(std::move(flag));
  }
}

Verdict undecided(Verdict verdict, std::string reason, std::string note = "") {
  verdict.answer = Answer::undecided;
  verdict.reason = std::move(reason);
  if (!note.empty()) verdict.notes.push_back(std::move(note));
  return verdict;
}

// "As much as its peers'" may be said only if it was looked at.
void doubt_unasked(const std::vector<NotJudged>& not_judged, Accusation& culprit) {
  auto unasked = [&](const char* metric) {
    return std::any_of(not_judged.begin(), not_judged.end(), [&](const NotJudged& row) {
      return row.metric == metric && (row.server == kAnyServer || row.server == culprit.server);
    });
  };
  if (culprit.step == 2 && (unasked("rd_sec") || unasked("wr_sec")))
    culprit.why = cat("its disks ", how_disks_answer(culprit.evidence),
                      " (await); whether they also move more data was not judged, so it may be a disk-hog");
}

// Servers without thresholds of their own get the loosest ones: whoever reads the verdict should know.
void note_strangers(const SeriesSet& series, const Profile& profile, Verdict& verdict) {
  std::set<std::string> trained;
  for (const auto& [metric, rows] : profile.thresholds)
    for (const auto& [server, row] : rows)
      if (server != kAnyServer) trained.insert(server);
  if (trained.empty()) return;  // cwnd alone: one limit for all
  std::vector<std::string> strangers;
  for (const std::string& server : series.servers)
    if (!trained.count(server)) strangers.push_back(server);
  const size_t all = strangers.size();
  if (all == 0) return;
  if (all == series.servers.size()) {
    verdict.notes.push_back("the profile was trained on other servers: all get its loosest thresholds");
    return;
  }
  if (all > kMostNamed) strangers.resize(kMostNamed);
  verdict.notes.push_back(cat(join(strangers, " "), all > kMostNamed ? cat(" and ", all - kMostNamed, " more") : "",
                              all == 1 ? " was" : " were",
                              " not in the training runs, or too rarely: the profile's loosest thresholds apply"));
}

Verdict conclude(const SeriesSet& series, const Parameters& p, Findings findings, Verdict verdict) {
  verdict.not_judged = std::move(findings.not_judged);
  verdict.notes.insert(verdict.notes.end(), findings.notes.begin(), findings.notes.end());
  for (const Incident& incident : find_incidents(std::move(findings.flags), natural(p, "window_size")))
    verdict.culprits.push_back(accuse(series, incident));
  for (Accusation& culprit : verdict.culprits) doubt_unasked(verdict.not_judged, culprit);
  std::stable_sort(verdict.culprits.begin(), verdict.culprits.end(), [](const Accusation& a, const Accusation& b) {
    return std::tie(a.onset_from_ns, a.server) < std::tie(b.onset_from_ns, b.server);
  });
  if (!verdict.culprits.empty()) {
    verdict.answer = Answer::culprit;
    return verdict;
  }
  if (findings.majority) return undecided(verdict, "the majority deviates");
  if (!findings.judged) return undecided(verdict, "nothing could be judged");
  if (findings.undecided) return undecided(verdict, "not everything that was active could be judged");
  verdict.answer = Answer::healthy;
  verdict.reason = "no server deviates from its peers";
  return verdict;
}

struct Bounds {
  const char* name;
  bool congestion;  // of the cwnd metrics
  double low;
  double high;
  const char* words;
};

constexpr double kAnySize = std::numeric_limits<double>::max();
constexpr Bounds kBounds[] = {
    {"fraction", true, 0, 1, "between 0 and 1"},
    {"used", false, std::numeric_limits<double>::min(), kAnySize, "above 0"},
    {"above", false, 1, kAnySize, "at least 1"},
    {"below", false, 0, 1, "between 0 and 1"},  // 0 with a floor of 0: then nothing is too little
};

// A profile is a file that people edit: every number the judges take from it must be there and make sense.
Status check_profile(const Profile& profile) {
  for (const auto& [metric, rows] : profile.thresholds) {
    const bool congestion = metric.starts_with("cwnd");
    if (!rows.count(kAnyServer))
      return input_error(cat("the profile has no row '*' for ", printable(metric)), "train it again");
    for (const auto& [server, row] : rows) {
      for (const Bounds& bounds : kBounds) {
        if (bounds.congestion != congestion) continue;
        const std::string where = cat("'", bounds.name, "' for ", printable(metric), " of ", printable(server));
        const auto found = row.find(bounds.name);
        if (found == row.end()) return input_error(cat("the profile has no ", where), "train it again");
        if (!(found->second >= bounds.low && found->second <= bounds.high))
          return input_error(cat("the profile's ", where, " is not ", bounds.words), "train it again");
      }
    }
  }
  return Ok{};
}

bool same_interval(int64_t a, int64_t b) {  // imports have only an estimate
  const double x = static_cast<double>(a);  // a profile may hold any number, and a - b overflow
  const double y = static_cast<double>(b);
  return std::abs(x - y) <= 0.1 * std::max(x, y);
}

Result<Verdict> diagnose(const SeriesSet& series, const Profile* profile, const Parameters& p) {
  Verdict verdict;
  if (servers_with_data(series) < natural(p, "least_servers"))
    return undecided(verdict, "fewer than three servers have data", "of two nobody can say which one is odd");
  if (!profile)
    return undecided(
        verdict, "no profile",
        "train one on fault-free runs with culprit train, or use --detector median_ratio, which needs none");
  if (series.ticks < ticks_needed(p))
    return undecided(verdict, cat("the run has ", series.ticks, " ticks, a verdict needs ", ticks_needed(p)));
  RETURN_IF_ERROR(check_profile(*profile));
  if (!any_activity(series, p)) return undecided(verdict, "nothing happened", "an idle file system tells nothing");
  if (!same_interval(profile->interval_ns, series.interval_ns))
    return undecided(verdict,
                     cat("the profile was trained at ", format_duration(profile->interval_ns),
                         ", the run has ticks of ", format_duration(series.interval_ns)),
                     "healthy servers differ more in short ticks than in long ones: train on runs of this interval");
  note_strangers(series, *profile, verdict);
  Findings findings;
  // All pairs of a thousand servers take a while: the metrics are compared side by side, then judged in turn.
  std::vector<std::future<PeerTable>> tables;
  for (Metric metric : kHistogram)
    tables.push_back(std::async(std::launch::async, [&series, &p, metric] {
      return series.has(metric) ? compare_peers(series, metric, peer_options(metric, p)) : PeerTable();
    }));
  for (size_t m = 0; m < tables.size(); ++m)
    judge_histogram(series, kHistogram[m], tables[m].get(), *profile, p, findings);
  for (Metric metric : kCongestion) judge_congestion(series, metric, *profile, p, findings);
  return conclude(series, p, std::move(findings), std::move(verdict));
}

}  // namespace

extern const DetectorInfo detector_fast10;
const DetectorInfo detector_fast10 = {
    "fast10", "peer comparison of distributions, trained on fault-free runs (FAST'10)", kParameters, train, diagnose};

}  // namespace culprit
