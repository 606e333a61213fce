#include "sample/sampler.h"

#include <ctime>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "sample/daemons.h"
#include "sample/percent.h"

namespace culprit {

namespace {

constexpr size_t kMostNote = 4096;  // a node may have thousands of devices; a line of the stream holds 64 kB

int64_t thread_cpu_ns() {
  timespec ts{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
  return int64_t{ts.tv_sec} * kNsPerSecond + ts.tv_nsec;
}

}  // namespace

Sampler::Sampler(SampleEnv env) : env_(std::move(env)) {
  env_.daemon_table = daemon_table_of(env_);
  for (const CollectorInfo* info : sample_collectors()) entries_.push_back({info, info->make(env_, keys_), ""});
}

void Sampler::take(Sample& sample) {
  int64_t started = thread_cpu_ns();
  sample.clear();
  sample.t_ns = wall_now_ns();
  sample.mono_ns = monotonic_now_ns();
  for (Entry& entry : entries_) {
    Status status = entry.collector->collect(sample);
    std::string error = status ? "" : cat(entry.info->name, ": ", status.error().message());
    if (!error.empty() && error != entry.last_error) sample.notes.push_back(error);
    if (!error.empty()) entry.last_error = std::move(error);
  }
  for (std::string& note : sample.notes) note = percent_encode_keep_blanks(std::string_view(note).substr(0, kMostNote));
  sample.cost_ns = thread_cpu_ns() - started;
}

int64_t next_tick(int64_t wall_ns, int64_t interval_ns) {
  CHECK(interval_ns > 0) << interval_ns;
  int64_t rest = wall_ns % interval_ns;
  if (rest < 0) rest += interval_ns;
  return wall_ns - rest + interval_ns;
}

int64_t skipped_ticks(int64_t last_mono_ns, int64_t mono_ns, int64_t interval_ns) {
  int64_t elapsed =
      mono_ns - last_mono_ns + interval_ns / 2;  // to the nearest tick: wake-ups are a little late or early
  return elapsed < 2 * interval_ns ? 0 : elapsed / interval_ns - 1;
}

int64_t Ticker::wait_ns(int64_t wall_ns) {
  if (next_ns_ - wall_ns > interval_ns_) next_ns_ = next_tick(wall_ns, interval_ns_);  // the clock was set back
  return next_ns_ > wall_ns ? next_ns_ - wall_ns : 0;
}

int64_t Ticker::begin(int64_t wall_ns, int64_t mono_ns) {
  int64_t skipped = last_mono_ns_ < 0 ? 0 : skipped_ticks(last_mono_ns_, mono_ns, interval_ns_);
  last_mono_ns_ = mono_ns;
  next_ns_ = next_tick(wall_ns, interval_ns_);
  return skipped;
}

}  // namespace culprit
