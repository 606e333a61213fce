#include "study/campaign_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/fd.h"
#include "base/text.h"

namespace culprit {

namespace {

constexpr std::string_view kSets[] = {"train", "score", "control", "overhead"};
constexpr std::string_view kOutcomes[] = {"kept", "spoiled", "failed"};
constexpr size_t kLongestLine = 1 << 16;
constexpr size_t kLargestJournal = 64 << 20;

template <typename Enum, size_t N>
Result<Enum> find_name(const std::string_view (&names)[N], const std::string& name) {
  for (size_t i = 0; i < N; ++i)
    if (names[i] == name) return static_cast<Enum>(i);
  return input_error(cat("unknown word ", printable(name)));
}

Error bad_line(std::string_view why) {
  return input_error(cat("the line is no attempt of a campaign: ", printable(std::string(why), 120)));
}

// A fraction, or a number that T cannot hold, would be cut to something that nobody wrote.
template <typename T>
Status take_whole(const nlohmann::json& row, const char* name, T& out) {
  const nlohmann::json& value = row.at(name);
  const bool fits = value.is_number_unsigned() ? std::in_range<T>(value.get<uint64_t>())
                                               : value.is_number_integer() && std::in_range<T>(value.get<int64_t>());
  if (!fits) return bad_line(cat("its ", name, " is no number of that kind"));
  out = value.get<T>();
  return Ok{};
}

std::string journal_path(const std::string& campaign) {
  return campaign + "/journal.jsonl";
}

}  // namespace

std::string_view name_of(RunSet set) {
  return kSets[static_cast<size_t>(set)];
}

std::string_view name_of(Outcome outcome) {
  return kOutcomes[static_cast<size_t>(outcome)];
}

std::string format_attempt(const Attempt& attempt) {
  const Experiment& it = attempt.experiment;
  nlohmann::ordered_json row = {{"id", it.id},
                                {"set", name_of(it.set)},
                                {"workload", it.workload},
                                {"fault", it.fault},
                                {"params", it.params},
                                {"victim", it.victim},
                                {"iteration", it.iteration},
                                {"recorded", it.recorded},
                                {"seed", it.seed},
                                {"attempt", attempt.number},
                                {"outcome", name_of(attempt.outcome)},
                                {"reason", attempt.reason},
                                {"run", attempt.run},
                                {"begin_ns", attempt.begin_ns},
                                {"begun_ns", attempt.begun_ns},
                                {"on_ns", attempt.on_ns},
                                {"off_ns", attempt.off_ns},
                                {"end_ns", attempt.end_ns},
                                {"interval_ns", attempt.interval_ns},
                                {"measured", attempt.measured},
                                {"said", attempt.said}};
  return row.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Result<Attempt> parse_attempt(std::string_view line) {
  if (line.size() > kLongestLine) return bad_line("it is too long");
  nlohmann::json row = nlohmann::json::parse(line, nullptr, false);
  if (!row.is_object()) return bad_line("it is no JSON object");
  Attempt attempt;
  Experiment& it = attempt.experiment;
  std::string set, outcome;
  try {
    it.id = row.at("id").get<std::string>();
    set = row.at("set").get<std::string>();
    it.workload = row.at("workload").get<std::string>();
    it.fault = row.at("fault").get<std::string>();
    it.params = row.at("params").get<std::map<std::string, std::string>>();
    it.victim = row.at("victim").get<std::string>();
    RETURN_IF_ERROR(take_whole(row, "iteration", it.iteration));
    it.recorded = row.at("recorded").get<bool>();
    RETURN_IF_ERROR(take_whole(row, "seed", it.seed));
    RETURN_IF_ERROR(take_whole(row, "attempt", attempt.number));
    outcome = row.at("outcome").get<std::string>();
    attempt.reason = row.at("reason").get<std::string>();
    attempt.run = row.at("run").get<std::string>();
    RETURN_IF_ERROR(take_whole(row, "begin_ns", attempt.begin_ns));
    if (row.contains("begun_ns")) RETURN_IF_ERROR(take_whole(row, "begun_ns", attempt.begun_ns));
    RETURN_IF_ERROR(take_whole(row, "on_ns", attempt.on_ns));
    RETURN_IF_ERROR(take_whole(row, "off_ns", attempt.off_ns));
    RETURN_IF_ERROR(take_whole(row, "end_ns", attempt.end_ns));
    RETURN_IF_ERROR(take_whole(row, "interval_ns", attempt.interval_ns));
    attempt.measured = row.at("measured").get<std::map<std::string, double>>();
    if (row.contains("said"))  // journals of before have neither this nor begun_ns
      attempt.said = row.at("said").get<std::map<std::string, std::string>>();
  } catch (const nlohmann::json::exception& error) {
    return bad_line(error.what());
  }
  ASSIGN_OR_RETURN(it.set, find_name<RunSet>(kSets, set));
  ASSIGN_OR_RETURN(attempt.outcome, find_name<Outcome>(kOutcomes, outcome));
  if (attempt.run.find("..") != std::string::npos || (!attempt.run.empty() && attempt.run[0] == '/'))
    return bad_line("its run lies outside of the campaign");
  return attempt;
}

Result<std::vector<Attempt>> read_journal(const std::string& campaign) {
  ASSIGN_OR_RETURN(const std::string text, read_file(journal_path(campaign), kLargestJournal));
  std::vector<Attempt> attempts;
  size_t number = 0;
  for (size_t begin = 0; begin < text.size(); ++number) {
    size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;
    auto attempt = parse_attempt(std::string_view(text).substr(begin, end - begin));
    if (!attempt)
      return input_error(cat(journal_path(campaign), ", line ", number + 1, ": ", attempt.error().message()),
                         "take the line out, and the campaign does that run again");
    attempts.push_back(std::move(*attempt));
    begin = end + 1;
  }
  return attempts;
}

Status append_attempt(const std::string& campaign, const Attempt& attempt) {
  std::string path = journal_path(campaign);
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file.valid()) return system_error(cat("cannot open ", path), errno);
  // A line that a crash cut off would run into the next one.
  off_t end = ::lseek(file.get(), 0, SEEK_END);
  char last = '\n';
  while (end > 0 && ::pread(file.get(), &last, 1, end - 1) == 1 && last != '\n') --end;
  if (::ftruncate(file.get(), end) != 0 || ::lseek(file.get(), end, SEEK_SET) < 0)
    return system_error(cat("cannot repair ", path), errno);
  RETURN_IF_ERROR(write_all(file.get(), format_attempt(attempt), path));
  if (::fsync(file.get()) != 0) return system_error(cat("cannot sync ", path), errno);
  return Ok{};
}

std::vector<Attempt> kept(const std::vector<Attempt>& attempts) {
  std::vector<Attempt> out;
  std::copy_if(attempts.begin(), attempts.end(), std::back_inserter(out),
               [](const Attempt& attempt) { return attempt.outcome == Outcome::kept; });
  return out;
}

}  // namespace culprit
