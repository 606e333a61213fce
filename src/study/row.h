// One run of a campaign, judged: the truth, the verdict with its evidence, and what that scores. One line of JSON each,
// small and in a fixed order, so that the files are committed, compared by git, and campaigns of several days add up.
// docs/formats/campaign_rows.md. All times are seconds from the run's beginning, rounded to milliseconds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "study/experiment.h"

namespace culprit {

// A metric that convicted: the server's mean and the range of its peers' means.
struct RowEvidence {
  std::string metric;
  double value = 0;
  double peers_low = 0;
  double peers_high = 0;
};

struct RowAccusation {
  std::string server;
  std::string resource;
  std::string cause;
  double onset_from_s = 0;
  double onset_until_s = 0;
  std::optional<double> end_s;  // none: it lasted until the data ended
  double known_s = 0;
  std::vector<RowEvidence> evidence;
};

struct Row {
  std::string campaign;
  Experiment truth;  // its set is score or control, never train
  int64_t interval_ns = 0;
  int servers = 0;
  double seconds = 0;          // of data that were looked at
  std::string origin;          // recorded, imported, simulated
  std::optional<double> on_s;  // the injection; there is one exactly when the run has a fault
  std::optional<double> off_s;
  std::string detector;
  std::map<std::string, double> changed;  // parameters that are not at their defaults
  std::string answer;                     // healthy, culprit, undecided
  std::string reason;
  std::vector<RowAccusation> accused;
  bool itp = false, ifp = false, dtp = false, dfp = false;  // rule 16, set by score_row
  std::optional<double> latency_s;                          // from the injection until it was known; with itp only
  std::map<std::string, double> measured;                   // of the machine, as the journal has it
};

// An attempt that does not count. Kept beside the rows, because what was thrown away is a part of the result.
struct Discard {
  std::string campaign;
  std::string id;
  RunSet set = RunSet::score;
  std::string workload;
  std::string fault;
  std::map<std::string, std::string> params;
  int attempt = 1;
  Outcome outcome = Outcome::failed;
  std::string reason;
};

struct RowFile {
  std::vector<Row> rows;
  std::vector<Discard> discards;
};

// "disk_hog share=0.25": two intensities of a fault are two faults, wherever runs are counted.
std::string label_of(const std::string& fault, const std::map<std::string, std::string>& params);
bool has_fault(const Row& row);  // a server was really at fault: not so in controls
bool is_undecided(const Row& row);
std::string method_of(const Row& row);  // the detector and what was changed: "fast10 k=4"

std::string format_row(const Row& row);  // with its line break, like the others
std::string format_discard(const Discard& discard);
std::string format_rows(const RowFile& file);

// Every byte is suspect: sizes and numbers are bounded, and the scores must follow from the accusations.
Result<Row> parse_row(std::string_view line);
Result<RowFile> parse_rows(std::string_view text, const std::string& name_for_errors);
Result<RowFile> read_rows(const std::string& path);

// Adds one file to another. A run that was judged twice in the same way would count twice, so it is an error. A discard
// is the same whatever detector the rows are of, so a second copy of it is left out.
Status add_rows(RowFile& to, const RowFile& more);

}  // namespace culprit
