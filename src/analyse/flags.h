// From peer distances and thresholds to flags: k of the last 2k-1 windows (rules 7 to 9), and what could not be judged.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "analyse/incident.h"
#include "analyse/peers.h"

namespace culprit {

// The thresholds one server is judged by in one metric.
struct Threshold {
  double used = 0;
  bool weak = false;  // so near the ceiling that a distance says little
  double above = 0;   // weak ones: also anomalous when the ratio of medians leaves this range; 0: no such test
  double below = 0;
};

// Whether a server in a window deviates, given its threshold. Unknown servers do not.
bool deviates(const PeerCell& cell, const Threshold& threshold);

// Rule 8: where half of the known servers or more deviate, everybody becomes Known::majority.
// Returns for every window whether that happened.
std::vector<bool> apply_majority_rule(PeerTable& table, const std::vector<Threshold>& thresholds);
// Whether 3 of 5 (k of 2k-1) consecutive windows did.
bool majority_persists(const std::vector<bool>& windows, size_t k);
// Whether somebody could have been flagged: the metric was active in k of 2k-1 consecutive windows.
bool often_active(const PeerTable& table, size_t k);

// All maximal flagged times of one server in one metric.
std::vector<Flag> find_flags(const PeerTable& table, size_t server, const Threshold& threshold, size_t k);

// How many windows at the very end deviate without a break.
size_t deviating_at_the_end(const PeerTable& table, size_t server, const Threshold& threshold);

// How well a server could be judged in a metric.
struct Coverage {
  size_t windows = 0;
  size_t idle = 0;
  size_t missing = 0;
  size_t majority = 0;
  std::array<size_t, kLacks> lacks = {};  // idle and missing ones by what they lack
  bool gap = false;                       // somewhere more than k-1 of 2k-1 consecutive windows are unknown
  bool never = false;                     // fewer than k windows are known: it could not have been flagged at all
};
Coverage coverage(const PeerTable& table, size_t server, size_t k);

// Training (rule 10): the least threshold without a flag is decided by order statistics, because a server is flagged at
// T exactly when the k-th largest of 2k-1 consecutive distances is above T. kMissing when it could not have been
// flagged.
double least_unflagged_distance(const PeerTable& table, size_t server, size_t k);
// The least n x step, n >= 1, that is not below `distance`.
double round_up_to_step(double distance, double step);

}  // namespace culprit
