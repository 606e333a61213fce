#include <nlohmann/json.hpp>

#include "base/units.h"
#include "explain/verdict_text.h"

namespace culprit {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Evidence& e) {
  Json out = {{"metric", e.metric},
              {"unit", e.unit},
              {"value", e.value},
              {"peers_low", e.peers_low},
              {"peers_median", e.peers_median},
              {"peers_high", e.peers_high},
              {"peers", e.peers},
              {"indicting", e.indicting}};
  if (e.indicting) {
    out["per_tick"] = e.per_tick;
    out["windows"] = e.windows;
    out["windows_judged"] = e.windows_judged;
    out["distance"] = e.distance;
    out["threshold"] = e.threshold;
  }
  return out;
}

Json to_json(const FailedCall& failed) {
  return {{"call", failed.call},
          {"errno", failed.error},
          {"count", failed.count},
          {"first", format_time(failed.first_ns)},
          {"last", format_time(failed.last_ns)},
          {"paths", failed.paths},
          {"told", failed.told}};
}

Json to_json(const Accusation& a) {
  Json out = {{"server", a.server}, {"resource", a.resource}, {"cause", a.cause}};
  out["onset"] = {{"from", format_time(a.onset_from_ns)},
                  {"until", format_time(a.onset_until_ns)},
                  {"from_ns", a.onset_from_ns},
                  {"until_ns", a.onset_until_ns}};
  out["end"] = a.end_ns ? Json(format_time(a.end_ns)) : Json(nullptr);
  out["known"] = format_time(a.known_ns);
  out["confidence"] = a.confidence;
  out["step"] = a.step;
  out["why"] = a.why;
  out["evidence"] = Json::array();
  for (const Evidence& evidence : a.evidence) out["evidence"].push_back(to_json(evidence));
  out["facts"] = a.facts;
  out["failed_calls"] = Json::array();
  for (const FailedCall& failed : a.failed_calls) out["failed_calls"].push_back(to_json(failed));
  return out;
}

}  // namespace

std::string verdict_json(const Verdict& verdict) {
  constexpr const char* kAnswers[] = {"healthy", "culprit", "undecided"};
  Json out = {{"verdict", kAnswers[static_cast<size_t>(verdict.answer)]}, {"reason", verdict.reason}};
  out["detector"] = verdict.detector;
  out["culprits"] = Json::array();
  for (const Accusation& culprit : verdict.culprits) out["culprits"].push_back(to_json(culprit));
  out["notes"] = verdict.notes;
  out["not_judged"] = Json::array();
  for (const NotJudged& row : verdict.not_judged)
    out["not_judged"].push_back({{"server", row.server}, {"metric", row.metric}, {"reason", row.reason}});
  out["servers"] = verdict.servers;
  out["run"] = verdict.run;
  out["origin"] = verdict.origin;
  out["partial"] = verdict.partial;
  out["from"] = format_time(verdict.from_ns);
  out["until"] = format_time(verdict.until_ns);
  out["interval_ns"] = verdict.interval_ns;
  out["ticks"] = verdict.ticks;
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace culprit
