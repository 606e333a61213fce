// CPU, memory and pressure of the whole node: is the machine itself short of something?
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/procfile.h"
#include "base/text.h"
#include "sample/collector.h"

namespace culprit {

namespace {

using Row = std::array<int64_t, system_column::count>;

struct Wanted {
  std::string_view name;
  int column;
};

constexpr Wanted kStat[] = {{"ctxt", system_column::context_switches},
                            {"procs_running", system_column::running},
                            {"procs_blocked", system_column::blocked}};
constexpr Wanted kMeminfo[] = {{"MemAvailable:", system_column::mem_available_bytes},
                               {"Dirty:", system_column::dirty_bytes},
                               {"Writeback:", system_column::writeback_bytes}};
constexpr int kCpuColumns = 8;  // user nice system idle iowait irq softirq steal, in this order in both

void set(Row& row, int column, int64_t value, int64_t factor) {
  if (value >= 0 && value <= INT64_MAX / factor) row[static_cast<size_t>(column)] = value * factor;
}

// "NAME VALUE ..." lines: the wanted ones, until all are found.
void read_named(std::string_view text, std::span<const Wanted> wanted, int64_t factor, Row& row) {
  std::string_view line;
  for (size_t missing = wanted.size(); missing > 0 && next_line(text, line);) {
    for (const Wanted& w : wanted) {
      if (!line.starts_with(w.name) || line.size() == w.name.size() || line[w.name.size()] != ' ') continue;
      line.remove_prefix(w.name.size());
      int64_t value = 0;
      if (next_number(line, value)) set(row, w.column, value, factor);
      --missing;
      break;
    }
  }
}

class SystemCollector : public Collector {
 public:
  explicit SystemCollector(const SampleEnv& env)
      : stat_(env.root + "/proc/stat"),
        meminfo_(env.root + "/proc/meminfo"),
        cpu_(env.root + "/proc/pressure/cpu"),
        io_(env.root + "/proc/pressure/io"),
        memory_(env.root + "/proc/pressure/memory"),
        ms_per_tick_(1000 / std::max(1L, ::sysconf(_SC_CLK_TCK))) {}

  Status collect(Sample& sample) override {
    Row row;
    row.fill(kAbsent);
    ASSIGN_OR_RETURN(std::string_view stat, stat_.read());
    read_cpu(stat, row);
    read_named(stat, kStat, 1, row);
    if (auto meminfo = meminfo_.read()) read_named(*meminfo, kMeminfo, 1024, row);
    if (has_pressure_) read_pressure(row);
    sample.add(source_system, 0, row);
    return Ok{};
  }

 private:
  void read_cpu(std::string_view stat, Row& row) {
    std::string_view line;
    if (!next_line(stat, line) || next_word(line) != "cpu") return;
    for (int column = 0; column < kCpuColumns; ++column) {
      int64_t value = 0;
      if (!next_number(line, value)) return;
      set(row, system_column::user_ms + column, value, ms_per_tick_);
    }
  }

  void read_pressure(Row& row) {
    bool some = read_one(cpu_, system_column::psi_cpu_some_us, row);
    some |= read_one(io_, system_column::psi_io_some_us, row);
    some |= read_one(memory_, system_column::psi_mem_some_us, row);
    has_pressure_ = some;  // a kernel without it will not grow it: three failing opens per tick are saved
  }

  // "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234" and the same with "full" in the next column.
  static bool read_one(ProcFile& file, int column, Row& row) {
    auto text = file.read();
    if (!text) return false;
    std::string_view line;
    for (std::string_view rest = *text; next_line(rest, line);) {
      size_t total = line.find("total=");
      if (total == std::string_view::npos) continue;
      auto value = parse_int(trim(line.substr(total + 6)));
      if (!value) continue;
      bool is_first = line.starts_with("some");
      if (is_first)
        set(row, column, *value, 1);
      else if (line.starts_with("full") && column != system_column::psi_cpu_some_us)
        set(row, column + 1, *value, 1);
    }
    return true;
  }

  ProcFile stat_, meminfo_, cpu_, io_, memory_;
  int64_t ms_per_tick_;
  bool has_pressure_ = true;
};

Status probe(const SampleEnv& env) {
  Sample sample;
  return SystemCollector(env).collect(sample);
}

}  // namespace

extern const CollectorInfo collector_system;
const CollectorInfo collector_system = {
    .name = "system",
    .summary = "CPU time, memory and pressure of the whole node",
    .source = &source_system,
    .needs = "",
    .make = [](const SampleEnv& env, KeyCounter&) -> std::unique_ptr<Collector> {
      return std::make_unique<SystemCollector>(env);
    },
    .probe = probe,
};

}  // namespace culprit
