// TCP loss counters of the whole node. The files name their columns in a line above the values, and kernels differ in
// them: the positions are looked up when the line of names changes, that is once.
#include <algorithm>
#include <array>

#include "base/procfile.h"
#include "base/text.h"
#include "sample/collector.h"

namespace culprit {

namespace {

using Row = std::array<int64_t, netstat_column::count>;

struct Wanted {
  std::string_view name;
  int column;
};

constexpr Wanted kSnmp[] = {{"InSegs", netstat_column::in_segments},
                            {"OutSegs", netstat_column::out_segments},
                            {"RetransSegs", netstat_column::retrans_segments},
                            {"InErrs", netstat_column::in_errors}};
constexpr Wanted kNetstat[] = {{"TCPTimeouts", netstat_column::timeouts},
                               {"TCPFastRetrans", netstat_column::fast_retrans},
                               {"TCPLostRetransmit", netstat_column::lost_retransmits},
                               {"TCPOFOQueue", netstat_column::ofo_queued},
                               {"TCPDSACKRecv", netstat_column::dsack_received},
                               {"TCPDSACKOldSent", netstat_column::dsack_old_sent},
                               {"ListenDrops", netstat_column::listen_drops},
                               {"TCPSynRetrans", netstat_column::syn_retrans}};

// One group of one file: a line of names and, below it, a line of values, both starting with `prefix`.
class Group {
 public:
  Group(std::string path, std::string_view prefix, std::span<const Wanted> wanted)
      : file_(std::move(path)), prefix_(prefix), wanted_(wanted) {}

  Status read(Row& row) {
    ASSIGN_OR_RETURN(std::string_view text, file_.read());
    std::string_view names, values;
    while (next_line(text, names))
      if (names.starts_with(prefix_)) break;
    if (!names.starts_with(prefix_) || !next_line(text, values) || !values.starts_with(prefix_))
      return input_error(cat(file_.path(), " has no ", prefix_, " lines"));
    if (names != names_) learn(names);
    next_word(values);
    for (int column : columns_) {
      std::string_view word = next_word(values);
      if (column < 0) continue;
      auto value = parse_int(word);
      if (value && *value >= 0) row[static_cast<size_t>(column)] = *value;
    }
    return Ok{};
  }

 private:
  void learn(std::string_view names) {
    names_ = names;
    columns_.clear();
    size_t used = 0;
    next_word(names);
    for (std::string_view word = next_word(names); !word.empty(); word = next_word(names)) {
      auto found = std::find_if(wanted_.begin(), wanted_.end(), [&](const Wanted& w) { return w.name == word; });
      columns_.push_back(found == wanted_.end() ? -1 : found->column);
      if (found != wanted_.end()) used = columns_.size();
    }
    columns_.resize(used);  // nothing behind the last wanted one needs to be split
  }

  ProcFile file_;
  std::string_view prefix_;
  std::span<const Wanted> wanted_;
  std::string names_;
  std::vector<int> columns_;
};

class NetstatCollector : public Collector {
 public:
  explicit NetstatCollector(const SampleEnv& env)
      : snmp_(env.root + "/proc/net/snmp", "Tcp:", kSnmp),
        netstat_(env.root + "/proc/net/netstat", "TcpExt:", kNetstat) {}

  Status collect(Sample& sample) override {
    Row row;
    row.fill(kAbsent);
    Status snmp = snmp_.read(row);
    Status netstat = netstat_.read(row);
    if (!snmp && !netstat) return snmp;
    sample.add(source_netstat, 0, row);
    return Ok{};
  }

 private:
  Group snmp_;
  Group netstat_;
};

Status probe(const SampleEnv& env) {
  Sample sample;
  return NetstatCollector(env).collect(sample);
}

}  // namespace

extern const CollectorInfo collector_netstat;
const CollectorInfo collector_netstat = {
    .name = "netstat",
    .summary = "TCP segments, retransmissions and losses of the whole node",
    .source = &source_netstat,
    .needs = "",
    .make = [](const SampleEnv& env, KeyCounter&) -> std::unique_ptr<Collector> {
      return std::make_unique<NetstatCollector>(env);
    },
    .probe = probe,
};

}  // namespace culprit
