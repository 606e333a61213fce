#include "study/row.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "base/fd.h"
#include "base/text.h"
#include "study/campaign_folder.h"
#include "study/judge.h"

namespace culprit {

namespace {

using Json = nlohmann::ordered_json;
// What is read needs no order, and an ordered object copies its members as it grows: deep ones exhaust the stack.
using Parsed = nlohmann::json;

constexpr size_t kLongestLine = 1 << 20;
constexpr size_t kLongestText = 1000;
constexpr size_t kMostMembers = 1000;     // of any list or map in a row
constexpr double kLargestNumber = 1e15;   // no metric, time or parameter is larger; sums of them stay finite
constexpr int64_t kMostServers = 100000;  // ten times the largest systems there are

std::string one_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json to_json(const RowAccusation& accused) {
  Json evidence = Json::array();
  for (const RowEvidence& each : accused.evidence)
    evidence.push_back(
        {{"metric", each.metric}, {"value", each.value}, {"low", each.peers_low}, {"high", each.peers_high}});
  return {{"server", accused.server},
          {"resource", accused.resource},
          {"cause", accused.cause},
          {"onset_from_s", accused.onset_from_s},
          {"onset_until_s", accused.onset_until_s},
          {"end_s", or_null(accused.end_s)},
          {"known_s", accused.known_s},
          {"evidence", std::move(evidence)}};
}

// The members of one object, each checked as it is taken. The first problem is kept, later ones follow from it.
class Members {
 public:
  Members(const Parsed& object, std::string& problem) : object_(object), problem_(problem) {
    if (!object.is_object() && problem_.empty()) problem_ = "a part of it is no object";
  }

  std::string text(const char* name, size_t limit = kLongestText) {
    const Parsed* it = find(name, &Parsed::is_string);
    if (!it) return "";
    const auto& value = it->get_ref<const std::string&>();
    if (value.size() > limit) fail(name, "is too long");
    return value;
  }
  double number(const char* name) {
    const Parsed* it = find(name, &Parsed::is_number);
    return it ? checked(name, *it) : 0;
  }
  std::optional<double> number_or_null(const char* name) {
    const Parsed* it = find(name, nullptr);
    if (!it || it->is_null()) return std::nullopt;
    return number(name);
  }
  int64_t integer(const char* name, int64_t low, int64_t high) {
    const Parsed* it = find(name, &Parsed::is_number_integer);
    if (!it) return 0;
    const bool fits = !it->is_number_unsigned() || it->get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX);
    const int64_t value = fits ? it->get<int64_t>() : 0;
    if (!fits || value < low || value > high) fail(name, "is out of range");
    return value;
  }
  uint64_t seed(const char* name) {
    const Parsed* it = find(name, &Parsed::is_number_unsigned);
    return it ? it->get<uint64_t>() : 0;
  }
  bool flag(const char* name) {
    const Parsed* it = find(name, &Parsed::is_boolean);
    return it && it->get<bool>();
  }
  const Parsed& array(const char* name) { return container(name, &Parsed::is_array); }
  const Parsed& object(const char* name) { return container(name, &Parsed::is_object); }
  std::map<std::string, double> numbers(const char* name) {
    std::map<std::string, double> out;
    for (const auto& [key, value] : object(name).items()) {
      if (!value.is_number() || key.size() > kLongestText)
        fail(name, "holds something else than numbers");
      else
        out[key] = checked(name, value);
    }
    return out;
  }
  std::map<std::string, std::string> texts(const char* name) {
    std::map<std::string, std::string> out;
    for (const auto& [key, value] : object(name).items()) {
      const bool good =
          value.is_string() && key.size() <= kLongestText && value.get_ref<const std::string&>().size() <= kLongestText;
      if (!good)
        fail(name, "holds something else than short texts");
      else
        out[key] = value.get<std::string>();
    }
    return out;
  }
  void fail(const std::string& name, const char* why) {
    if (problem_.empty()) problem_ = cat("its ", name, " ", why);
  }

 private:
  const Parsed* find(const char* name, bool (Parsed::*is)() const noexcept) {
    if (!object_.is_object()) return nullptr;
    auto it = object_.find(name);
    if (it != object_.end() && (!is || ((*it).*is)())) return &*it;
    fail(name, it == object_.end() ? "is missing" : "is of another type");
    return nullptr;
  }
  const Parsed& container(const char* name, bool (Parsed::*is)() const noexcept) {
    static const Parsed kEmpty = Parsed::array();
    const Parsed* it = find(name, is);
    if (it && it->size() <= kMostMembers) return *it;
    if (it) fail(name, "has too many members");
    return kEmpty;
  }
  double checked(const char* name, const Parsed& json) {
    const double value = json.get<double>();
    if (std::isfinite(value) && std::fabs(value) <= kLargestNumber) return value;
    fail(name, "is out of range");
    return 0;
  }
  const Parsed& object_;
  std::string& problem_;
};

RowAccusation parse_accusation(const Parsed& json, std::string& problem) {
  Members members(json, problem);
  RowAccusation out;
  out.server = members.text("server");
  out.resource = members.text("resource");
  out.cause = members.text("cause");
  out.onset_from_s = members.number("onset_from_s");
  out.onset_until_s = members.number("onset_until_s");
  out.end_s = members.number_or_null("end_s");
  out.known_s = members.number("known_s");
  for (const Parsed& each : members.array("evidence")) {
    Members one(each, problem);
    out.evidence.push_back({one.text("metric"), one.number("value"), one.number("low"), one.number("high")});
  }
  return out;
}

template <class Enum>
Enum word(Members& members, const char* name, std::initializer_list<Enum> known) {
  const std::string given = members.text(name);
  for (Enum each : known)
    if (name_of(each) == given) return each;
  members.fail(name, "is a word that is not known");
  return *known.begin();
}

Experiment parse_truth(Members& members) {
  Experiment out;
  out.id = members.text("id");
  out.set = word(members, "set", {RunSet::score, RunSet::control});
  out.workload = members.text("workload");
  out.fault = members.text("fault");
  out.params = members.texts("params");
  out.victim = members.text("victim");
  out.iteration = static_cast<int>(members.integer("iteration", 0, 1'000'000));
  out.seed = members.seed("seed");
  return out;
}

void parse_verdict(Members& members, std::string& problem, Row& row) {
  row.detector = members.text("detector");
  row.changed = members.numbers("changed");
  row.answer = members.text("answer");
  if (row.answer != "healthy" && row.answer != "culprit" && row.answer != "undecided")
    members.fail("answer", "is no answer");
  row.reason = members.text("reason");
  for (const Parsed& each : members.array("accused")) row.accused.push_back(parse_accusation(each, problem));
  row.itp = members.flag("itp");
  row.ifp = members.flag("ifp");
  row.dtp = members.flag("dtp");
  row.dfp = members.flag("dfp");
  row.latency_s = members.number_or_null("latency_s");
}

// What single members cannot show.
std::string contradiction(const Row& row) {
  if (has_fault(row) != row.on_s.has_value())
    return "it has a fault without a time of injection, or a time without a fault";
  if ((row.answer == "culprit") == row.accused.empty()) return "its answer and its accusations do not fit";
  if (row.servers < 1 || row.seconds < 0) return "it is about no servers or no time";
  Row again = row;
  score_row(again);
  if (again.itp != row.itp || again.ifp != row.ifp || again.dtp != row.dtp || again.dfp != row.dfp ||
      again.latency_s != row.latency_s)
    return "its scores do not follow from its accusations";
  return "";
}

Error bad_row(std::string_view why) {
  return input_error(cat("the line is no row of a campaign: ", printable(why, 200)),
                     "write the rows again with culprit score --rows");
}

// No object when the line holds none.
Parsed parse_line(std::string_view line) {
  return line.size() > kLongestLine ? Parsed() : Parsed::parse(line, nullptr, false);
}

Result<Row> row_of(const Parsed& json) {
  if (!json.is_object()) return bad_row("it is no JSON object, or too long");
  std::string problem;
  Members members(json, problem);
  Row row;
  row.campaign = members.text("campaign");
  row.truth = parse_truth(members);
  row.interval_ns = members.integer("interval_ns", 1, int64_t{86400} * 1'000'000'000);
  row.servers = static_cast<int>(members.integer("servers", 0, kMostServers));
  row.seconds = members.number("seconds");
  row.origin = members.text("origin");
  row.on_s = members.number_or_null("on_s");
  row.off_s = members.number_or_null("off_s");
  parse_verdict(members, problem, row);
  row.measured = members.numbers("measured");
  if (problem.empty()) problem = contradiction(row);
  if (!problem.empty()) return bad_row(problem);
  return row;
}

Result<Discard> discard_of(const Parsed& json) {
  std::string problem;
  Members members(json, problem);
  Discard out;
  out.campaign = members.text("campaign");
  out.id = members.text("id");
  out.set = word(members, "set", {RunSet::train, RunSet::score, RunSet::control});
  out.workload = members.text("workload");
  out.fault = members.text("fault");
  if (json.is_object() && json.contains("params")) out.params = members.texts("params");  // rows of before have none
  out.attempt = static_cast<int>(members.integer("attempt", 1, 1'000'000));
  out.outcome = word(members, "discarded", {Outcome::spoiled, Outcome::failed});
  out.reason = members.text("reason");
  if (!problem.empty()) return bad_row(problem);
  return out;
}

Status add_line(std::string_view line, RowFile& out) {
  const Parsed json = parse_line(line);
  if (json.is_object() && json.contains("discarded")) {
    ASSIGN_OR_RETURN(Discard discard, discard_of(json));
    out.discards.push_back(std::move(discard));
  } else {
    ASSIGN_OR_RETURN(Row row, row_of(json));
    out.rows.push_back(std::move(row));
  }
  return Ok{};
}

}  // namespace

std::string label_of(const std::string& fault, const std::map<std::string, std::string>& params) {
  std::string out = fault;
  for (const auto& [name, value] : params) out += cat(" ", name, "=", value);
  return out;
}

bool has_fault(const Row& row) {
  return row.truth.set == RunSet::score && row.truth.fault != "none";
}

bool is_undecided(const Row& row) {
  return row.answer == "undecided";
}

std::string method_of(const Row& row) {
  std::string out = row.detector;
  for (const auto& [name, value] : row.changed) {
    char number[32];
    std::snprintf(number, sizeof number, "%.10g", value);
    out += cat(" ", name, "=", number);
  }
  return out;
}

std::string format_row(const Row& row) {
  const Experiment& truth = row.truth;
  Json accused = Json::array();
  for (const RowAccusation& each : row.accused) accused.push_back(to_json(each));
  return one_line({{"campaign", row.campaign},
                   {"id", truth.id},
                   {"set", name_of(truth.set)},
                   {"workload", truth.workload},
                   {"fault", truth.fault},
                   {"params", Json(truth.params)},
                   {"victim", truth.victim},
                   {"iteration", truth.iteration},
                   {"seed", truth.seed},
                   {"interval_ns", row.interval_ns},
                   {"servers", row.servers},
                   {"seconds", row.seconds},
                   {"origin", row.origin},
                   {"on_s", or_null(row.on_s)},
                   {"off_s", or_null(row.off_s)},
                   {"detector", row.detector},
                   {"changed", Json(row.changed)},
                   {"answer", row.answer},
                   {"reason", row.reason},
                   {"accused", std::move(accused)},
                   {"itp", row.itp},
                   {"ifp", row.ifp},
                   {"dtp", row.dtp},
                   {"dfp", row.dfp},
                   {"latency_s", or_null(row.latency_s)},
                   {"measured", Json(row.measured)}});
}

std::string format_discard(const Discard& discard) {
  return one_line({{"campaign", discard.campaign},
                   {"id", discard.id},
                   {"set", name_of(discard.set)},
                   {"workload", discard.workload},
                   {"fault", discard.fault},
                   {"params", Json(discard.params)},
                   {"attempt", discard.attempt},
                   {"discarded", name_of(discard.outcome)},
                   {"reason", discard.reason.substr(0, kLongestText)}});
}

std::string format_rows(const RowFile& file) {
  std::string out;
  for (const Row& row : file.rows) out += format_row(row);
  for (const Discard& discard : file.discards) out += format_discard(discard);
  return out;
}

Result<Row> parse_row(std::string_view line) {
  return row_of(parse_line(line));
}

Result<RowFile> parse_rows(std::string_view text, const std::string& name_for_errors) {
  RowFile out;
  size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    if (Status added = add_line(line, out); !added)
      return input_error(cat(name_for_errors, ", line ", number, ": ", added.error().what), added.error().hint);
  }
  return out;
}

Result<RowFile> read_rows(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, read_file(path));
  return parse_rows(text, path);
}

Status add_rows(RowFile& to, const RowFile& more) {
  std::set<std::vector<std::string>> seen;
  auto key = [](const Row& row) { return std::vector{row.campaign, row.truth.id, method_of(row)}; };
  auto discard_key = [](const Discard& it) { return std::vector{it.campaign, it.id, std::to_string(it.attempt)}; };
  for (const Row& row : to.rows) seen.insert(key(row));
  for (const Row& row : more.rows) {
    if (!seen.insert(key(row)).second)
      return input_error(cat("run ", printable(row.truth.id), " of campaign ", printable(row.campaign),
                             " is there twice, judged by ", printable(method_of(row))),
                         "give every campaign once; two campaigns need two names");
    to.rows.push_back(row);
  }
  seen.clear();
  for (const Discard& discard : to.discards) seen.insert(discard_key(discard));
  for (const Discard& discard : more.discards)
    if (seen.insert(discard_key(discard)).second) to.discards.push_back(discard);
  return Ok{};
}

}  // namespace culprit
