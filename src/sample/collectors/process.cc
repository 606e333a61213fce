// What the file system's own daemons read, write and burn. Device bytes minus theirs is foreign I/O.
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/procfile.h"
#include "base/text.h"
#include "sample/collector.h"
#include "sample/daemons.h"
#include "sample/percent.h"

namespace culprit {

namespace {

using Row = std::array<int64_t, process_column::count>;

struct Wanted {
  std::string_view name;
  int column;
};

constexpr Wanted kIo[] = {{"rchar:", process_column::read_call_bytes},
                          {"wchar:", process_column::write_call_bytes},
                          {"read_bytes:", process_column::read_bytes},
                          {"write_bytes:", process_column::write_bytes},
                          {"cancelled_write_bytes:", process_column::cancelled_write_bytes}};
constexpr std::string_view kNeeds = "the daemon's own user, or root (CAP_SYS_PTRACE), for /proc/PID/io";

// A daemon with its open files: they belong to this process for ever, a successor with the same pid cannot slip in.
struct Watched {
  Daemon daemon;
  ProcFile stat;
  ProcFile io;
  uint32_t key = 0;
  bool io_readable = true;
};

void read_io(std::string_view text, Row& row) {
  std::string_view line;
  while (next_line(text, line)) {
    std::string_view name = next_word(line);
    int64_t value = 0;
    for (const Wanted& w : kIo)
      if (w.name == name && next_number(line, value) && value >= 0) row[static_cast<size_t>(w.column)] = value;
  }
}

void read_stat(std::string_view stat, int64_t ms_per_tick, int64_t page_bytes, Row& row) {
  constexpr struct {
    int field, column;
  } kStat[] = {{14, process_column::user_ms},
               {15, process_column::system_ms},
               {20, process_column::threads},
               {24, process_column::rss_bytes}};
  const int64_t factors[] = {ms_per_tick, ms_per_tick, 1, page_bytes};
  for (size_t i = 0; i < std::size(kStat); ++i) {
    int64_t value = 0;
    if (stat_field(stat, kStat[i].field, value) && value >= 0 && value <= INT64_MAX / factors[i])
      row[static_cast<size_t>(kStat[i].column)] = value * factors[i];
  }
}

class ProcessCollector : public Collector {
 public:
  ProcessCollector(const SampleEnv& env, KeyCounter& keys)
      : root_(env.root),
        keys_(keys),
        table_(daemon_table_of(env)),
        ms_per_tick_(1000 / std::max(1L, ::sysconf(_SC_CLK_TCK))),
        page_bytes_(::sysconf(_SC_PAGESIZE)) {}

  Status collect(Sample& sample) override {
    table_->refresh(sample.mono_ns);
    if (table_->generation() != generation_) follow_table();
    size_t before = watched_.size();
    std::erase_if(watched_, [&](Watched& watched) { return !collect_daemon(sample, watched); });
    if (watched_.size() != before) table_->note_vanished();
    return Ok{};
  }

 private:
  // Keeps the open files of those that are still there.
  void follow_table() {
    generation_ = table_->generation();
    std::vector<Watched> now;
    for (const Daemon& daemon : table_->daemons()) {
      auto known = std::find_if(watched_.begin(), watched_.end(), [&](const Watched& w) {
        return w.daemon.pid == daemon.pid && w.daemon.start_ticks == daemon.start_ticks;
      });
      std::string folder = cat(root_, "/proc/", daemon.pid);
      if (known != watched_.end())
        now.push_back(std::move(*known));
      else
        now.push_back({daemon, ProcFile(folder + "/stat"), ProcFile(folder + "/io")});
    }
    watched_ = std::move(now);
  }

  // False when the process has ended.
  bool collect_daemon(Sample& sample, Watched& watched) {
    auto stat = watched.stat.read();
    int64_t start = 0;
    if (!stat || !stat_field(*stat, 22, start) || start != watched.daemon.start_ticks) return false;
    Row row;
    row.fill(kAbsent);
    read_stat(*stat, ms_per_tick_, page_bytes_, row);
    if (watched.io_readable) {
      auto io = watched.io.read();
      if (io)
        read_io(*io, row);
      else
        refuse_io(sample, watched, io.error());
    }
    if (watched.key == 0) announce(sample, watched);
    sample.add(source_process, watched.key, row);
    return true;
  }

  void refuse_io(Sample& sample, Watched& watched, const Error& error) {
    watched.io_readable = false;
    if (std::exchange(said_io_, true)) return;
    sample.notes.push_back(
        cat("bytes of ", watched.daemon.label(), " cannot be read (", error.message(), "): this needs ", kNeeds));
  }

  void announce(Sample& sample, Watched& watched) {
    const Daemon& daemon = watched.daemon;
    watched.key = keys_.add(sample, source_process, daemon.label(),
                            cat("start=", daemon.start_ticks, " cmd=", percent_encode(daemon.command)));
  }

  std::string root_;
  KeyCounter& keys_;
  std::shared_ptr<DaemonTable> table_;
  std::vector<Watched> watched_;
  int64_t generation_ = 0;
  int64_t ms_per_tick_;
  int64_t page_bytes_;
  bool said_io_ = false;
};

Status probe(const SampleEnv& env) {
  DaemonTable table(env.root, env.daemons);
  table.refresh(0);
  if (table.daemons().empty())
    return unsupported_error("no daemon of a known file system runs here",
                             "name yours with daemons = [...] in cluster.toml");
  ProcFile io(cat(env.root, "/proc/", table.daemons()[0].pid, "/io"));
  auto text = io.read();
  if (!text) return system_error(text.error().what, text.error().errno_value, cat("it needs ", kNeeds));
  return Ok{};
}

}  // namespace

extern const CollectorInfo collector_process;
const CollectorInfo collector_process = {
    .name = "process",
    .summary = "bytes, CPU time and memory of the file system's daemons",
    .source = &source_process,
    .needs = kNeeds,
    .make = [](const SampleEnv& env, KeyCounter& keys) -> std::unique_ptr<Collector> {
      return std::make_unique<ProcessCollector>(env, keys);
    },
    .probe = probe,
};

}  // namespace culprit
