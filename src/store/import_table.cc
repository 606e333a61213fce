#include "store/import_table.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <memory>

#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "store/cluster_file.h"

namespace culprit {

namespace {

constexpr size_t kMaxNodes = 100'000;
constexpr size_t kMaxNameBytes = 255;  // of a device or metric; the kernel's own are shorter
constexpr int64_t kLatestNs = int64_t{4'102'444'800} * kNsPerSecond;  // 2100; a run cannot hold much later ones
constexpr size_t kMaxNotes = 200;                                     // a hostile file must not fill the manifest

Status check_word(std::string_view word, std::string_view noun) {
  bool bad = word.size() > kMaxNameBytes;
  for (char c : word) bad = bad || static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  if (!bad) return Ok{};
  return input_error(cat("'", printable(word), "' cannot be the name of a ", noun),
                     "no control characters, at most 255 bytes");
}

// Keeps the last of several values at one time; false when two of them differ.
bool drop_repeats(std::vector<TimedValue>& values, size_t& dropped, int64_t& where) {
  bool same = true;
  size_t kept = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (kept > 0 && values[kept - 1].t_ns == values[i].t_ns) {
      if (same && values[kept - 1].value != values[i].value) {
        same = false;
        where = values[i].t_ns;
      }
      values[kept - 1] = values[i];
      ++dropped;
    } else {
      values[kept++] = values[i];
    }
  }
  values.resize(kept);
  return same;
}

}  // namespace

Result<ReadFn> read_bytes_of(const std::string& path) {
  auto fd = std::make_shared<Fd>(path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd->valid()) return system_error(cat("cannot read ", path), errno);
  struct stat info {};
  if (::fstat(fd->get(), &info) == 0 && S_ISDIR(info.st_mode))
    return input_error(cat(path, " is a folder, not a file"), "give the files in it, one after the other");
  return ReadFn([fd, path](char* buffer, size_t size) -> Result<size_t> {
    while (true) {
      ssize_t n = ::read(fd->get(), buffer, size);
      if (n >= 0) return static_cast<size_t>(n);
      if (errno != EINTR) return system_error(cat("cannot read ", path), errno);
    }
  });
}

ReadFn read_bytes_from(std::string_view text) {
  return [text](char* buffer, size_t size) mutable -> Result<size_t> {
    size_t n = std::min(size, text.size());
    std::memcpy(buffer, text.data(), n);
    text.remove_prefix(n);
    return n;
  };
}

Result<size_t> ImportTable::node(std::string_view name) {
  if (auto found = node_ids_.find(name); found != node_ids_.end()) return found->second;
  RETURN_IF_ERROR(check_node_name(name));
  if (nodes_.size() >= kMaxNodes)
    return input_error("the input has more than 100000 nodes", "is the node column the right one?");
  nodes_.emplace_back(name);
  heard_.emplace_back();
  node_ids_.emplace(name, nodes_.size() - 1);
  return nodes_.size() - 1;
}

Result<size_t> ImportTable::series(size_t node, std::string_view device, std::string_view metric) {
  std::tuple<size_t, std::string, std::string> key(node, device, metric);
  if (auto found = series_ids_.find(key); found != series_ids_.end()) return found->second;
  RETURN_IF_ERROR(check_word(device, "device"));
  RETURN_IF_ERROR(check_word(metric, "metric"));
  if (metric.empty()) return input_error("a metric's name is empty", "metrics are named as in 'culprit list metrics'");
  if (series_.size() >= kMaxImportSeries)
    return input_error(cat("the input has more than ", kMaxImportSeries, " different devices and metrics"),
                       "is a column in the wrong place?");
  series_.push_back({node, std::string(device), std::string(metric), {}});
  series_ids_.emplace(std::move(key), series_.size() - 1);
  return series_.size() - 1;
}

Status ImportTable::check_room(int64_t t_ns) {
  if (t_ns < 0 || t_ns > kLatestNs)
    return input_error(cat("the time ", format_time(t_ns), " is not of this age"), "times go from 1970 to 2100");
  if (values_ >= max_values_)
    return input_error(cat("the input has more than ", max_values_, " values"),
                       "import it in parts, for example hour by hour");
  ++values_;
  return Ok{};
}

Status ImportTable::add(size_t series, int64_t t_ns, double value) {
  RETURN_IF_ERROR(check_room(t_ns));
  series_[series].values.push_back({t_ns, value});
  return Ok{};
}

Status ImportTable::heard(size_t node, int64_t t_ns) {
  if (!heard_[node].empty() && heard_[node].back() == t_ns) return Ok{};
  RETURN_IF_ERROR(check_room(t_ns));
  heard_[node].push_back(t_ns);
  return Ok{};
}

void ImportTable::note(std::string text) {
  if (notes_.size() >= kMaxNotes || std::find(notes_.begin(), notes_.end(), text) != notes_.end()) return;
  notes_.push_back(std::move(text));
}

Status ImportTable::finish(bool strict) {
  size_t dropped = 0;
  auto earlier = [](const TimedValue& a, const TimedValue& b) { return a.t_ns < b.t_ns; };
  for (ImportSeries& one : series_) {
    if (!std::is_sorted(one.values.begin(), one.values.end(), earlier))
      std::stable_sort(one.values.begin(), one.values.end(), earlier);
    int64_t where = 0;
    if (!drop_repeats(one.values, dropped, where) && strict)
      return input_error(cat("node ", nodes_[one.node], " has two different values of ", printable(one.metric),
                             one.device.empty() ? "" : " of ", printable(one.device), " at ", format_time(where)),
                         "are there two servers with one name, or two devices without a device column?");
  }
  for (std::vector<int64_t>& times : heard_) {
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
  }
  if (dropped > 0) note(cat(dropped, " values came twice for the same time; the last one counts"));
  return Ok{};
}

bool ImportTable::empty() const {
  return std::all_of(series_.begin(), series_.end(), [](const ImportSeries& one) { return one.values.empty(); });
}

std::vector<std::vector<int64_t>> times_by_node(const ImportTable& table) {
  std::vector<std::vector<int64_t>> times = table.heard_times();
  std::vector<int64_t> own, merged;
  for (const ImportSeries& one : table.all()) {
    own.clear();
    for (const TimedValue& value : one.values) own.push_back(value.t_ns);
    if (own == times[one.node]) continue;
    merged.clear();
    std::set_union(own.begin(), own.end(), times[one.node].begin(), times[one.node].end(), std::back_inserter(merged));
    times[one.node] = merged;
  }
  return times;
}

}  // namespace culprit
