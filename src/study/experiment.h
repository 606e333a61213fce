// The nouns of a campaign: what one run is to be, and what became of one attempt at it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace culprit {

// train: fault-free, thresholds are learned from it. score: with a fault, or "none". control: no fault, but it looks
// odd. overhead: a fixed piece of work, timed with and without recording.
enum class RunSet { train, score, control, overhead };

struct Experiment {
  std::string id;  // also the name of its run: "score-ddw-disk_hog-3"
  RunSet set = RunSet::score;
  std::string workload;                       // one of `culprit list workloads`
  std::string fault = "none";                 // one of `culprit list faults`
  std::map<std::string, std::string> params;  // of the fault
  std::string victim;                         // the server that has it, or was away before; "" for none
  int iteration = 1;
  bool recorded = true;  // overhead: the half of a pair with recording
  uint64_t seed = 0;
};

enum class Outcome {
  kept,     // the run counts
  spoiled,  // the plan's rule on the machine's state says that it must not count; no verdict was looked at
  failed,   // it could not be carried out
};

// One line of a campaign's journal.
struct Attempt {
  Experiment experiment;
  int number = 1;  // the first try, the second ...
  Outcome outcome = Outcome::failed;
  std::string reason;  // of spoiled and failed
  std::string run;     // the run's directory, relative to the campaign's
  int64_t begin_ns = 0;
  int64_t begun_ns = 0;  // when the injector began with the fault, wall clock; 0: none, or a journal of before
  int64_t on_ns = 0;     // when it was in force; 0: none
  int64_t off_ns = 0;
  int64_t end_ns = 0;
  int64_t interval_ns = 0;
  std::map<std::string, double> measured;   // docs/formats/campaign.md
  std::map<std::string, std::string> said;  // node -> what its workload complained about: the first lines, and the last
};

}  // namespace culprit
