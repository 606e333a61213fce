// Rows to tables: how often was the diagnosis right, per fault, per workload and per cell; what faults are taken for;
// how long it takes; how often a healthy server is accused. The order of the rows does not matter.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "study/row.h"

namespace culprit {

// Counts over some runs. ITP and DTP are shares of the runs with a fault, IFP and DFP of all of them: that is how the
// aggregates of the paper's tables come out of their rows.
struct Scores {
  std::string name;
  int runs = 0;
  int faulty = 0;  // with a fault
  int caused = 0;  // with a fault whose cause the checklist has a word for; the others' DTP is not scored
  int itp = 0;
  int ifp = 0;
  int dtp = 0;
  int dfp = 0;
  int undecided = 0;
};

// What the victim of a fault was said to have. Every run counts once.
struct Confusion {
  std::string fault;
  std::map<std::string, int> named;  // cause, or one of the three below
};
constexpr std::string_view kNothing = "nothing";           // healthy, it was said
constexpr std::string_view kUndecided = "undecided";       //
constexpr std::string_view kOtherServer = "other server";  // only others, or the victim only before the injection

// Of one sampling interval: with ten times shorter windows a fault is known ten times sooner.
struct Latency {
  std::string fault;
  int64_t interval_ns = 0;
  int early = 0;                // the victim was accused before the injection and ever since: no time to measure
  std::vector<double> seconds;  // sorted
};

struct Alarms {
  std::string name;
  int runs = 0;
  int accusations = 0;
  double server_hours = 0;
};

// One cell of the campaign, to see whether runs are thrown away where it suits.
struct DiscardCell {
  RunSet set = RunSet::score;
  std::string workload;
  std::string fault;
  int kept = 0;  // of training runs there are no rows: 0
  int spoiled = 0;
  int failed = 0;
};

struct Tally {
  std::string method;
  std::map<std::string, int> campaigns;  // rows of each
  std::map<int64_t, int> intervals;      // rows at each sampling interval
  int simulated = 0;                     // rows that are no evidence of accuracy
  Scores total{.name = "aggregate"};     // the scored set without the controls
  std::vector<Scores> by_fault;          // "none" first, then the paper's six, then others
  std::vector<Scores> by_workload;
  std::vector<Scores> by_cell;
  std::vector<Scores> controls;
  std::vector<Confusion> confusion;
  std::vector<Latency> latency;
  Alarms fault_free{.name = "fault-free"};
  Alarms control{.name = "control"};
};

Scores count_scores(const std::vector<Row>& rows, std::string name);
Tally tally_rows(const std::vector<Row>& rows);  // of one method

// Rows of different detectors or parameters are never added up: one list each, in the order of their names.
std::map<std::string, std::vector<Row>> rows_by_method(const std::vector<Row>& rows);

struct Discards {
  std::vector<DiscardCell> cells;  // only those in which something was discarded
  int kept = 0;                    // all runs of the sets score and control
  int discarded = 0;               // all attempts at them
};
Discards tally_discards(const RowFile& file);

}  // namespace culprit
