// One loop: let the backend hand over what it has, flush twice a second, look whether it is time to stop. Whatever ends
// it, the backend is stopped and every log gets its end, so that the logs say themselves how they ended.
#include "capture/recorder.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "calls/path_hash.h"

namespace culprit {

namespace {

constexpr int64_t kFlushEvery = 500 * kNsPerMs;   // what a kill -9 can cost
constexpr int64_t kLongestTurn = 100 * kNsPerMs;  // how late a wish to stop may be noticed
constexpr const char* kFull = "disk full";

bool is_full(const Error& error) {
  return error.errno_value == ENOSPC || error.errno_value == EDQUOT;
}

// Writes what the backend sees. After the first failure nothing more is written: a log with a hole would not say so.
class LogSink : public CaptureSink {
 public:
  LogSink(const RecorderOptions& options, std::vector<CallLogWriter>& logs)
      : nodes_(options.capture.nodes), logs_(logs) {
    if (!options.hash_key.empty()) hasher_.emplace(options.hash_key);
  }

  void on_call(size_t node, const Call& call) override { write(node, call); }
  void on_sum(size_t node, const CallSum& sum) override { write(node, sum); }
  void on_fd(size_t node, FdRecord record) override {
    CHECK(node < nodes_.size()) << node;
    record.fd_class = classify(record, nodes_[node].around);  // before its name is hashed
    write(node, hasher_ ? hasher_->hash(std::move(record)) : record);
  }

  void flush() {
    for (CallLogWriter& log : logs_)
      if (!failure_) remember(log.flush());
  }

  const std::optional<Error>& failure() const { return failure_; }

 private:
  template <class Event>
  void write(size_t node, const Event& event) {
    CHECK(node < logs_.size()) << node;
    if (!failure_) remember(logs_[node].add(event));
  }
  void remember(Status status) {
    if (!status) failure_ = std::move(status).error();
  }

  const std::vector<CaptureNode>& nodes_;
  std::vector<CallLogWriter>& logs_;
  std::optional<PathHasher> hasher_;
  std::optional<Error> failure_;
};

class NoSink : public CaptureSink {
 public:
  void on_call(size_t, const Call&) override {}
  void on_fd(size_t, FdRecord) override {}
  void on_sum(size_t, const CallSum&) override {}
};

LogHeader make_header(const RecorderOptions& options, size_t node) {
  LogHeader header;
  const CaptureNode& captured = options.capture.nodes[node];
  header.node = captured.name;
  header.backend = options.backend;
  header.tool = options.tool;
  header.what = node < options.what.size() ? options.what[node] : "";
  header.start_ns = wall_now_ns();
  header.calls = options.call_set;
  header.sums = options.capture.sums;
  header.hashed = !options.hash_key.empty();
  header.around = captured.around;
  utsname system_name{};
  if (::uname(&system_name) == 0) {
    header.kernel = system_name.release;
    header.machine = system_name.machine;
  }
  return header;
}

Result<std::vector<CallLogWriter>> open_logs(const RecorderOptions& options) {
  std::vector<CallLogWriter> logs;
  for (size_t node = 0; node < options.capture.nodes.size(); ++node) {
    ASSIGN_OR_RETURN(CallLogWriter log, options.open_log(node, make_header(options, node)));
    logs.push_back(std::move(log));
  }
  return logs;
}

int64_t bytes_of(const std::vector<CallLogWriter>& logs) {
  int64_t bytes = 0;
  for (const CallLogWriter& log : logs) bytes += log.bytes();
  return bytes;
}

int64_t calls_of(const std::vector<CallLogWriter>& logs) {
  int64_t calls = 0;
  for (const CallLogWriter& log : logs) calls += log.calls();
  return calls;
}

std::string loss_note(int64_t lost, size_t nodes) {
  return cat(lost, lost == 1 ? " event was lost" : " events were lost", nodes > 1 ? " in all nodes together" : "",
             ": the buffer was full; a larger --buffer or a smaller --calls helps");
}

class Recording {
 public:
  Recording(const RecorderOptions& options, Backend& backend, std::vector<CallLogWriter> logs)
      : options_(options), backend_(backend), logs_(std::move(logs)), sink_(options, logs_) {}

  // Why it ended; an error when the backend gave up.
  Result<std::string> run();
  Result<RecorderOutcome> close(const std::string& stopped, const CaptureReport& report);
  CaptureSink& sink() { return sink_; }
  const std::optional<Error>& failure() const { return sink_.failure(); }

 private:
  std::string reason_to_stop() const;
  LogEnd make_end(size_t node, const std::string& stopped, const CaptureReport& report) const;
  int64_t time_left() const { return options_.for_ns - (monotonic_now_ns() - began_ns_); }
  void look_after_logs();

  const RecorderOptions& options_;
  Backend& backend_;
  std::vector<CallLogWriter> logs_;
  LogSink sink_;
  int64_t began_ns_ = monotonic_now_ns();
  int64_t flushed_ns_ = 0;
};

std::string Recording::reason_to_stop() const {
  if (sink_.failure()) return is_full(*sink_.failure()) ? kFull : "error";
  if (options_.stop && options_.stop()) return "asked";
  if (options_.for_ns > 0 && time_left() <= 0) return "time over";
  if (options_.max_bytes > 0 && bytes_of(logs_) >= options_.max_bytes) return "size reached";
  return "";
}

void Recording::look_after_logs() {
  int64_t now = monotonic_now_ns();
  if (now - flushed_ns_ < kFlushEvery) return;
  flushed_ns_ = now;
  sink_.flush();
  if (options_.progress) options_.progress(calls_of(logs_), backend_.lost_so_far());
}

Result<std::string> Recording::run() {
  began_ns_ = flushed_ns_ = monotonic_now_ns();
  while (true) {
    std::string reason = reason_to_stop();
    if (!reason.empty()) return reason;
    int64_t wait = options_.for_ns > 0 ? std::min(kLongestTurn, time_left()) : kLongestTurn;
    ASSIGN_OR_RETURN(bool goes_on, backend_.turn(sink_, std::max<int64_t>(wait, 0)));
    look_after_logs();
    if (!goes_on) return sink_.failure() ? reason_to_stop() : "targets ended";
  }
}

LogEnd Recording::make_end(size_t node, const std::string& stopped, const CaptureReport& report) const {
  LogEnd end;
  end.end_ns = wall_now_ns();
  end.lost = report.lost;
  end.unseen = node < report.unseen.size() ? report.unseen[node] : 0;
  end.stopped = stopped;
  end.notes = report.notes;
  if (end.unseen > 0)
    end.notes.push_back(
        cat(end.unseen, " completions of AIO or io_uring could not be seen: nothing tells how they ended"));
  if (int64_t lost = end.all_lost(); lost > 0) end.notes.push_back(loss_note(lost, logs_.size()));
  return end;
}

// All of them, also when one cannot be closed.
Result<RecorderOutcome> Recording::close(const std::string& stopped, const CaptureReport& report) {
  RecorderOutcome outcome;
  outcome.stopped = stopped;
  outcome.command_status = report.command_status;
  outcome.duration_ns = monotonic_now_ns() - began_ns_;
  std::optional<Error> broken;
  if (stopped == kFull && options_.make_room) options_.make_room();
  for (size_t node = 0; node < logs_.size(); ++node) {
    LogEnd end = make_end(node, stopped, report);
    Status closed = logs_[node].close(end);
    if (!closed && (is_full(closed.error()) || stopped == kFull)) {
      outcome.stopped = kFull;
      end.notes.push_back("the disk was full: what was written before can be read");
    } else if (!closed && !broken) {
      broken = std::move(closed).error();
    }
    end.calls = logs_[node].calls();
    end.fds = logs_[node].fds();
    outcome.bytes.push_back(logs_[node].bytes());
    outcome.ends.push_back(std::move(end));
  }
  if (broken) return std::move(*broken);
  return outcome;
}

}  // namespace

Result<RecorderOutcome> record_calls(const RecorderOptions& options, Backend& backend) {
  CHECK(options.open_log) << "nowhere to write to";
  RETURN_IF_ERROR(backend.start(options.capture));
  // Only now: a log begins when its capture does, and getting ready takes a moment.
  Result<std::vector<CallLogWriter>> logs = open_logs(options);
  if (!logs) {
    NoSink nowhere;
    backend.end_command();
    static_cast<void>(backend.stop(nowhere));  // why there is no log matters more
    return std::move(logs).error();
  }
  Recording recording(options, backend, std::move(*logs));
  if (options.began) options.began();
  Result<std::string> stopped = recording.run();
  Result<CaptureReport> report = backend.stop(recording.sink());
  Result<RecorderOutcome> outcome = recording.close(stopped ? *stopped : "error", report ? *report : CaptureReport{});
  if (!stopped) return std::move(stopped).error();
  if (!report) return std::move(report).error();
  if (recording.failure() && !is_full(*recording.failure())) return *recording.failure();
  return outcome;
}

Result<RecorderOutcome> record_calls(const RecorderOptions& options) {
  ASSIGN_OR_RETURN(const BackendInfo* info, find_backend(options.backend));
  std::unique_ptr<Backend> backend = info->make();
  return record_calls(options, *backend);
}

}  // namespace culprit
