#include "study/judge_campaign.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>

#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "study/campaign_folder.h"
#include "study/judge.h"

namespace culprit {

namespace {

// Calls work(0) ... work(count - 1) on all processors. The first error by number, so that it is the same every time.
Status in_parallel(size_t count, const std::function<Status(size_t)>& work, const RunProgress& progress) {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  size_t done = 0;
  std::map<size_t, Error> errors;
  auto worker = [&] {
    for (size_t i = next++; i < count; i = next++) {
      Status status = work(i);
      const std::lock_guard lock(mutex);
      if (!status) {
        errors.emplace(i, status.error());
        next = count;
        return;
      }
      ++done;
      if (progress) progress(done, count);
    }
  };
  std::vector<std::thread> threads;
  const size_t processors = std::max(1u, std::thread::hardware_concurrency());
  for (size_t i = 0; i < std::min(processors, count); ++i) threads.emplace_back(worker);
  for (std::thread& thread : threads) thread.join();
  if (!errors.empty()) return errors.begin()->second;
  return Ok{};
}

std::string name_of_folder(const std::string& path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(path, error);
  return error ? path : (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

Discard discard_of(const std::string& campaign, const Attempt& attempt) {
  const Experiment& it = attempt.experiment;
  return {campaign, it.id, it.set, it.workload, it.fault, it.params, attempt.number, attempt.outcome, attempt.reason};
}

Status check_attempt(const Attempt& attempt) {
  const Experiment& it = attempt.experiment;
  const std::string hint = "take its line out of the journal, and the campaign does that run again";
  if (it.set == RunSet::train && it.fault != "none")
    return input_error(cat("run ", printable(it.id), " is a training run and has a fault"), hint);
  if (it.set == RunSet::score && it.fault != "none" && (it.victim.empty() || attempt.on_ns == 0))
    return input_error(cat("run ", printable(it.id), " has a fault, but no victim or no time of injection"), hint);
  return Ok{};
}

Result<SeriesSet> load_run(const CampaignRuns& campaign, const Attempt& attempt, const SeriesOptions& options) {
  ASSIGN_OR_RETURN(const RunReader reader, RunReader::open(cat(campaign.path, "/", attempt.run)));
  return load_series(reader, options);
}

Result<CallData> load_calls(const CampaignRuns& campaign, const Attempt& attempt) {
  ASSIGN_OR_RETURN(const RunReader reader, RunReader::open(cat(campaign.path, "/", attempt.run)));
  return load_call_data(reader, {});
}

// Healthy servers differ more in short ticks than in long ones, so a profile is good for one interval only.
Status check_intervals(const CampaignRuns& campaign, const LoadedRuns& loaded) {
  const int64_t trained = loaded.train.front().interval_ns;
  auto check = [&](const std::vector<Attempt>& attempts, const std::vector<SeriesSet>& runs) -> Status {
    for (size_t i = 0; i < runs.size(); ++i)
      if (runs[i].interval_ns != trained)
        return input_error(
            cat("run ", printable(attempts[i].experiment.id), " of ", campaign.name, " was sampled every ",
                format_duration(runs[i].interval_ns), ", the training runs every ", format_duration(trained)),
            "put runs of another interval into a campaign of their own, with training runs of that interval");
    return Ok{};
  };
  RETURN_IF_ERROR(check(campaign.train, loaded.train));
  return check(campaign.scored, loaded.scored);
}

void say_what_was_seen(const SeriesSet& series, const DetectorInfo& detector, Verdict& verdict) {
  verdict.detector = detector.name;
  verdict.origin = series.origin;
  verdict.servers = series.servers;
  verdict.interval_ns = series.interval_ns;
  verdict.from_ns = series.start_ns;
  verdict.until_ns = series.time_of(series.ticks);
}

void say_what_was_seen(const CallData& calls, const DetectorInfo& detector, Verdict& verdict) {
  verdict.detector = detector.name;
  verdict.origin = calls.origin;
  for (const NodeCalls& server : calls.servers) verdict.servers.push_back(server.name);
  verdict.interval_ns = kNsPerSecond;
  verdict.from_ns = calls.start_ns;
  verdict.until_ns = calls.end_ns;
}

Result<Profile> train_on(const LoadedRuns& loaded, const DetectorInfo& detector, const Parameters& parameters) {
  return detector.reads_calls() ? detector.train_calls(loaded.train_calls, parameters)
                                : detector.train(loaded.train, parameters);
}

Result<Verdict> diagnose_one(const LoadedRuns& loaded, size_t i, const DetectorInfo& detector, const Profile* profile,
                             const Parameters& parameters) {
  if (detector.reads_calls()) {
    ASSIGN_OR_RETURN(Verdict verdict, detector.diagnose_calls(loaded.scored_calls[i], profile, parameters));
    say_what_was_seen(loaded.scored_calls[i], detector, verdict);
    return verdict;
  }
  ASSIGN_OR_RETURN(Verdict verdict, detector.diagnose(loaded.scored[i], profile, parameters));
  say_what_was_seen(loaded.scored[i], detector, verdict);
  return verdict;
}

}  // namespace

Result<CampaignRuns> open_campaign(const std::string& path) {
  if (!path_exists(path + "/journal.jsonl"))
    return input_error(cat(path, " is no campaign: it has no journal.jsonl"),
                       "give a directory that culprit campaign made, or a file that culprit score --rows wrote");
  ASSIGN_OR_RETURN(const std::vector<Attempt> attempts, read_journal(path));
  CampaignRuns out;
  out.path = path;
  out.name = name_of_folder(path);
  for (const Attempt& attempt : attempts) {
    if (attempt.experiment.set == RunSet::overhead) continue;  // times of work, nothing to diagnose
    if (attempt.outcome != Outcome::kept) {
      out.discards.push_back(discard_of(out.name, attempt));
      continue;
    }
    RETURN_IF_ERROR(check_attempt(attempt));
    (attempt.experiment.set == RunSet::train ? out.train : out.scored).push_back(attempt);
  }
  if (out.scored.empty())
    return input_error(cat("there is nothing to score in ", path),
                       "let culprit campaign finish it; timed runs: culprit score --overhead");
  return out;
}

Result<LoadedRuns> load_runs(const CampaignRuns& campaign, const DetectorInfo& detector, const Parameters& parameters,
                             const RunProgress& progress) {
  const size_t train = detector.can_train() ? campaign.train.size() : 0;
  const size_t all = train + campaign.scored.size();
  if (detector.can_train() && train == 0)
    return input_error(cat(campaign.path, " has no training runs, and ", detector.name, " needs them"),
                       detector.reads_calls()
                           ? "let culprit campaign make them, or use --detector hotdep09_hang, which needs none"
                           : "let culprit campaign make them, or use --detector median_ratio, which needs none");
  SeriesOptions options;
  if (parameters.all().count("cwnd_span")) options.cwnd_span = parameters.integer("cwnd_span");
  LoadedRuns out;
  auto attempt_of = [&](size_t i) -> const Attempt& {
    return i < train ? campaign.train[i] : campaign.scored[i - train];
  };
  auto load = [&](size_t i) -> Status {
    ASSIGN_OR_RETURN((i < train ? out.train[i] : out.scored[i - train]), load_run(campaign, attempt_of(i), options));
    return Ok{};
  };
  auto calls = [&](size_t i) -> Status {
    ASSIGN_OR_RETURN((i < train ? out.train_calls[i] : out.scored_calls[i - train]),
                     load_calls(campaign, attempt_of(i)));
    return Ok{};
  };
  if (detector.reads_calls()) {
    out.train_calls.resize(train);
    out.scored_calls.resize(campaign.scored.size());
    RETURN_IF_ERROR(in_parallel(all, calls, progress));
    return out;
  }
  out.train.resize(train);
  out.scored.resize(campaign.scored.size());
  RETURN_IF_ERROR(in_parallel(all, load, progress));
  if (train > 0) RETURN_IF_ERROR(check_intervals(campaign, out));
  return out;
}

Result<std::vector<Row>> score_runs(const CampaignRuns& campaign, const LoadedRuns& loaded,
                                    const DetectorInfo& detector, const Parameters& parameters) {
  std::optional<Profile> profile;
  if (detector.can_train()) {
    ASSIGN_OR_RETURN(profile, train_on(loaded, detector, parameters));
  }
  const std::map<std::string, double> changed = changed_parameters(detector, parameters);
  std::vector<Row> rows(detector.reads_calls() ? loaded.scored_calls.size() : loaded.scored.size());
  auto diagnose = [&](size_t i) -> Status {
    ASSIGN_OR_RETURN(const Verdict verdict,
                     diagnose_one(loaded, i, detector, profile ? &*profile : nullptr, parameters));
    rows[i] = judge(campaign.name, campaign.scored[i], verdict, changed);
    return Ok{};
  };
  RETURN_IF_ERROR(in_parallel(rows.size(), diagnose, nullptr));
  return rows;
}

std::map<std::string, double> changed_parameters(const DetectorInfo& detector, const Parameters& parameters) {
  std::map<std::string, double> out;
  for (const Parameter& row : detector.parameters)
    if (parameters[row.name] != row.value) out[std::string(row.name)] = parameters[row.name];
  return out;
}

}  // namespace culprit
