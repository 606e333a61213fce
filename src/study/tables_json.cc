// The same numbers as tables.cc, for programs: unrounded, with the counts behind every share.
#include <nlohmann/json.hpp>

#include "study/campaign_folder.h"
#include "study/paper.h"
#include "study/tables.h"
#include "study/tally_interval.h"

namespace culprit {

namespace {

using Json = nlohmann::ordered_json;

std::string document(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json share(int hits, int of) {
  if (of == 0) return {{"hits", hits}, {"of", of}, {"share", nullptr}};
  const Interval sure = wilson(hits, of);
  return {
      {"hits", hits}, {"of", of}, {"share", static_cast<double>(hits) / of}, {"low", sure.low}, {"high", sure.high}};
}

Json to_json(const Scores& s) {
  return {{"name", s.name},
          {"runs", s.runs},
          {"itp", share(s.itp, s.faulty)},
          {"ifp", share(s.ifp, s.runs)},
          {"dtp", share(s.dtp, s.caused)},
          {"dfp", share(s.dfp, s.runs)},
          {"undecided", share(s.undecided, s.runs)}};
}

Json to_json(const Confusion& row);
Json to_json(const Latency& row);
Json to_json(const DiscardCell& cell);
Json to_json(const Tally& tally);
Json to_json(const PaperRow& row);
Json to_json(const PaperTable& table);
Json to_json(const RunPair& pair);

template <class List>
Json list_of(const List& list) {
  Json out = Json::array();
  for (const auto& each : list) out.push_back(to_json(each));
  return out;
}

Json to_json(const Confusion& row) {
  return {{"fault", row.fault}, {"named", Json(row.named)}};
}

Json to_json(const Latency& row) {
  Json out = {{"fault", row.fault},
              {"interval_ns", row.interval_ns},
              {"found", row.seconds.size() + static_cast<size_t>(row.early)},
              {"before", row.early}};
  if (!row.seconds.empty()) {
    out["low_s"] = quantile(row.seconds, 0.1);
    out["median_s"] = quantile(row.seconds, 0.5);
    out["high_s"] = quantile(row.seconds, 0.9);
  }
  return out;
}

Json to_json(const Alarms& alarms) {
  const Interval sure = poisson(alarms.accusations);
  Json out = {{"runs", alarms.runs}, {"accusations", alarms.accusations}, {"server_hours", alarms.server_hours}};
  if (alarms.server_hours > 0) {
    out["per_server_hour"] = alarms.accusations / alarms.server_hours;
    out["low"] = sure.low / alarms.server_hours;
    out["high"] = sure.high / alarms.server_hours;
  }
  return out;
}

Json to_json(const DiscardCell& cell) {
  return {{"set", name_of(cell.set)}, {"workload", cell.workload},
          {"fault", cell.fault},      {"kept", cell.set == RunSet::train ? Json(nullptr) : Json(cell.kept)},
          {"spoiled", cell.spoiled},  {"failed", cell.failed}};
}

Json to_json(const Tally& tally) {
  Json intervals = Json::array();
  for (const auto& [interval, runs] : tally.intervals) intervals.push_back({{"interval_ns", interval}, {"runs", runs}});
  return {{"method", tally.method},
          {"campaigns", Json(tally.campaigns)},
          {"intervals", std::move(intervals)},
          {"simulated", tally.simulated},
          {"aggregate", to_json(tally.total)},
          {"by_fault", list_of(tally.by_fault)},
          {"by_workload", list_of(tally.by_workload)},
          {"by_cell", list_of(tally.by_cell)},
          {"controls", list_of(tally.controls)},
          {"confusion", list_of(tally.confusion)},
          {"latency", list_of(tally.latency)},
          {"false_alarms", {{"fault_free", to_json(tally.fault_free)}, {"control", to_json(tally.control)}}}};
}

Json to_json(const PaperRow& row) {
  return {{"fault", row.fault}, {"itp", row.itp}, {"ifp", row.ifp}, {"dtp", row.dtp}, {"dfp", row.dfp}};
}

Json to_json(const PaperTable& table) {
  return {{"name", table.name},
          {"source", table.source},
          {"rows", list_of(table.rows)},
          {"aggregate", to_json(table.aggregate)}};
}

Json said(const Row& row) {
  Json accused = Json::array();
  for (const RowAccusation& each : row.accused) accused.push_back({{"server", each.server}, {"cause", each.cause}});
  return {{"answer", row.answer}, {"accused", std::move(accused)}};
}

Json to_json(const RunPair& pair) {
  return {{"id", pair.a.truth.id},
          {"fault", pair.a.truth.fault},
          {"victim", pair.a.truth.victim},
          {"same_answer", pair.same_answer},
          {"same_servers", pair.same_servers},
          {"same_causes", pair.same_causes},
          {"first", said(pair.a)},
          {"second", said(pair.b)}};
}

}  // namespace

std::string tallies_json(const std::vector<Tally>& tallies, const Discards& discards, bool with_paper) {
  Json out = {{"methods", list_of(tallies)},
              {"kept", discards.kept},
              {"discarded", discards.discarded},
              {"discards", list_of(discards.cells)}};
  if (with_paper) out["paper"] = list_of(paper_tables());
  return document(out);
}

std::string sweep_json(const std::vector<SweepRow>& rows) {
  Json list = Json::array();
  for (const SweepRow& row : rows) {
    Json one = to_json(row.scores);
    one["parameters"] = Json(row.setting.values);
    one["as_given"] = row.as_given;
    if (!row.impossible.empty()) one["impossible"] = row.impossible;
    list.push_back(std::move(one));
  }
  return document({{"sweep", std::move(list)}});
}

std::string pairs_json(const RunPairs& pairs) {
  return document({{"first", pairs.a},
                   {"second", pairs.b},
                   {"pairs", list_of(pairs.pairs)},
                   {"only_first", pairs.only_a},
                   {"only_second", pairs.only_b}});
}

}  // namespace culprit
