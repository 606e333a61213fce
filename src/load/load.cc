#include "load/load.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <limits>
#include <thread>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "load/load_data.h"
#include "load/load_file.h"

namespace culprit {

namespace {

constexpr int64_t kNap = 100 * kNsPerMs;  // a signal between the look at `stop` and the sleep costs this at most
constexpr int64_t kEver = std::numeric_limits<int64_t>::max();

class LoadRun {
 public:
  LoadRun(const LoadOptions& options, const std::atomic<bool>& stop, std::vector<LoadLine>& lines)
      : options_(options),
        stop_(stop),
        lines_(lines),
        file_(options.file, options.direct, stop),
        data_(options.seed, options.record),
        pacer_(options.rate) {}

  Status run();

 private:
  Status do_phase(const LoadPhase& phase);
  Status move_data(const LoadPhase& phase);
  Status begin_pass(const LoadPhase& phase);
  Status go_through(const LoadPhase& phase, int64_t end_ns, LoadLine& line);
  Result<int64_t> length(const LoadPhase& phase) const;
  bool wait_for_turn(int64_t end_ns);

  const LoadOptions& options_;
  const std::atomic<bool>& stop_;
  std::vector<LoadLine>& lines_;
  LoadFile file_;
  LoadData data_;
  LoadPacer pacer_;
  int64_t begin_ns_ = monotonic_now_ns();
  int64_t phases_left_ = 0;  // of those that move data
  uint64_t records_ = 0;     // written, over all phases: what is written over changes
};

// How far a phase goes before it starts over.
Result<int64_t> LoadRun::length(const LoadPhase& phase) const {
  if (phase.step == LoadStep::write) return options_.file_size;
  ASSIGN_OR_RETURN(int64_t length, file_.size());
  if (options_.file_size > 0) length = std::min(length, options_.file_size);
  if (options_.direct) length -= length % kLoadAlignment;
  if (length == 0)
    return input_error(cat("there is nothing in ", options_.file, " to ", phase.name),
                       "make it first with --phases write");
  return length;
}

// False when the time is over or it is to stop.
bool LoadRun::wait_for_turn(int64_t end_ns) {
  while (!stop_) {
    int64_t now = monotonic_now_ns();
    if (now >= end_ns) return false;
    int64_t turn = begin_ns_ + pacer_.next_ns(now - begin_ns_);
    if (turn <= now) return true;
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min({turn - now, end_ns - now, kNap})));
  }
  return false;
}

// What this machine remembers of a file that is smaller than its memory would hide the servers.
Status LoadRun::begin_pass(const LoadPhase& phase) {
  if (options_.cold && !phase.writes()) RETURN_IF_ERROR(file_.drop());
  return file_.open(phase.step);
}

Status LoadRun::go_through(const LoadPhase& phase, int64_t end_ns, LoadLine& line) {
  RETURN_IF_ERROR(begin_pass(phase));
  ASSIGN_OR_RETURN(const int64_t size, length(phase));
  const int64_t limit = options_.duration_ns > 0 ? kEver : options_.bytes;
  int64_t offset = 0;
  while (line.bytes < limit && wait_for_turn(end_ns)) {
    int64_t want = std::min({options_.record, size - offset, limit - line.bytes});
    if (phase.writes()) data_.stamp(records_++);
    ASSIGN_OR_RETURN(int64_t moved, phase.writes() ? file_.write_at(data_.data(), want, offset)
                                                   : file_.read_at(data_.data(), want, offset));
    pacer_.sent(moved);
    line.bytes += moved;
    offset = (offset + moved) % size;
    if (offset == 0 && !phase.writes()) RETURN_IF_ERROR(begin_pass(phase));
  }
  return Ok{};
}

// The time that is left is shared by the phases that are left: what an fsync took, the later ones do without.
Status LoadRun::move_data(const LoadPhase& phase) {
  if (phase.writes()) data_.fill();
  LoadLine& line = lines_.emplace_back(LoadLine{phase.name});
  int64_t start = monotonic_now_ns();
  int64_t end = kEver;
  if (options_.duration_ns > 0) end = start + (begin_ns_ + options_.duration_ns - start) / phases_left_;
  --phases_left_;
  Status status = go_through(phase, end, line);
  line.ns = monotonic_now_ns() - start;
  return status;
}

Status LoadRun::do_phase(const LoadPhase& phase) {
  if (phase.step == LoadStep::fsync) return file_.sync();
  if (phase.step == LoadStep::drop) return file_.drop();
  return move_data(phase);
}

Status LoadRun::run() {
  phases_left_ = std::count_if(options_.phases.begin(), options_.phases.end(),
                               [](const LoadPhase& phase) { return phase.moves_data(); });
  std::string_view name = "the end";
  auto in_phase = [&](Status status) -> Status {
    if (status) return Ok{};
    Error error = std::move(status).error();
    if (stop_ && error.errno_value == EINTR) return Ok{};
    error.what = cat("phase ", name, ": ", error.what);
    return error;
  };
  for (const LoadPhase& phase : options_.phases) {
    if (stop_) return Ok{};
    name = phase.name;
    RETURN_IF_ERROR(in_phase(do_phase(phase)));
  }
  if (stop_ || !file_.unsynced()) return Ok{};
  name = "fsync at the end";
  return in_phase(file_.sync());
}

}  // namespace

Status run_load(const LoadOptions& options, const std::atomic<bool>& stop, std::vector<LoadLine>& lines) {
  return LoadRun(options, stop, lines).run();
}

}  // namespace culprit
