#include "study/tally_pairs.h"

#include <set>

#include "base/text.h"

namespace culprit {

namespace {

std::set<std::string> servers_of(const Row& row) {
  std::set<std::string> out;
  for (const RowAccusation& accused : row.accused) out.insert(accused.server);
  return out;
}

std::set<std::pair<std::string, std::string>> causes_of(const Row& row) {
  std::set<std::pair<std::string, std::string>> out;
  for (const RowAccusation& accused : row.accused) out.insert({accused.server, accused.cause});
  return out;
}

bool same_experiment(const Experiment& a, const Experiment& b) {
  return a.set == b.set && a.workload == b.workload && a.fault == b.fault && a.params == b.params &&
         a.victim == b.victim;
}

Result<std::map<std::string, const Row*>> by_id(const std::vector<Row>& rows) {
  std::map<std::string, const Row*> out;
  for (const Row& row : rows)
    if (!out.insert({row.truth.id, &row}).second)
      return input_error(cat("run ", printable(row.truth.id), " is there twice on one side of the pairs"),
                         "each side must be one campaign, judged in one way");
  return out;
}

}  // namespace

Result<RunPairs> pair_rows(const std::vector<Row>& a, const std::vector<Row>& b) {
  ASSIGN_OR_RETURN(const auto left, by_id(a));
  ASSIGN_OR_RETURN(const auto right, by_id(b));
  RunPairs out;
  for (const auto& [id, row] : left) {
    auto other = right.find(id);
    if (other == right.end()) {
      ++out.only_a;
      continue;
    }
    if (!same_experiment(row->truth, other->second->truth))
      return input_error(cat("run ", printable(id), " is not the same experiment in both campaigns"),
                         "run both from one plan and one seed, only the sampling may differ");
    RunPair pair{*row, *other->second};
    pair.same_answer = pair.a.answer == pair.b.answer;
    pair.same_servers = servers_of(pair.a) == servers_of(pair.b);
    pair.same_causes = causes_of(pair.a) == causes_of(pair.b);
    out.a = pair.a.campaign;
    out.b = pair.b.campaign;
    out.pairs.push_back(std::move(pair));
  }
  out.only_b = static_cast<int>(right.size() - out.pairs.size());
  if (out.pairs.empty()) return input_error("the two campaigns have no run in common", "pairs are runs of the same id");
  return out;
}

}  // namespace culprit
