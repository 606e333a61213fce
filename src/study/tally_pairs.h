// The same experiments in two campaigns, for example at 1 s and at 100 ms: do they get the same verdicts?
#pragma once

#include <string>
#include <vector>

#include "study/tally.h"

namespace culprit {

struct RunPair {
  Row a;
  Row b;
  bool same_answer = false;
  bool same_servers = false;  // the same servers are accused
  bool same_causes = false;   // of the same causes
  bool same() const { return same_answer && same_servers && same_causes; }
};

struct RunPairs {
  std::string a;  // the campaigns' names
  std::string b;
  std::vector<RunPair> pairs;  // in the order of their ids
  int only_a = 0;
  int only_b = 0;
};

// Pairs by id. Two experiments of one id that are not the same one are an error, and so are no pairs at all.
Result<RunPairs> pair_rows(const std::vector<Row>& a, const std::vector<Row>& b);

}  // namespace culprit
