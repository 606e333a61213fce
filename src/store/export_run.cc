// A scrubbed copy of a run, made by reading and writing it anew: what is not written cannot leak, as it could from the
// free pages of an edited database.
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/text.h"
#include "store/export_rows.h"
#include "store/run_writer.h"

namespace culprit {

namespace {

constexpr size_t kMaxNumbers = 100'000'000;  // 0.8 GB

struct HeldRow {
  const Source* source;
  uint32_t key;
  size_t first;  // in Copy::numbers
};

// All rows of the run, by sample.
class Copy {
 public:
  explicit Copy(const RunReader& run) : run_(run) {}
  Status read();
  Status write(RunWriter& out, Scrubber& scrub);

 private:
  Status read_source(const Source& source);
  Sample rebuild(const SampleInfo& info, Scrubber& scrub);
  Status write_until(int64_t id, RunWriter& out, Scrubber& scrub);
  Status write_values(RunWriter& out, Scrubber& scrub);

  const RunReader& run_;
  std::unordered_map<int64_t, std::vector<HeldRow>> rows_;
  std::vector<int64_t> numbers_;
  std::vector<bool> announced_;
  std::unordered_set<int64_t> valued_;  // samples that come with their values
  size_t next_ = 0;                     // sample to be written
  bool too_large_ = false;
};

Status Copy::read_source(const Source& source) {
  return run_.scan(source, [&](const SampleInfo& sample, uint32_t key, std::span<const int64_t> values) {
    too_large_ = too_large_ || numbers_.size() + values.size() > kMaxNumbers;
    if (too_large_) return;
    rows_[sample.id].push_back({&source, key, numbers_.size()});
    numbers_.insert(numbers_.end(), values.begin(), values.end());
  });
}

Status Copy::read() {
  for (const std::string& name : run_.sources())
    if (const Source* source = run_.source(name)) RETURN_IF_ERROR(read_source(*source));
  RETURN_IF_ERROR(run_.scan_values(
      [&](const SampleInfo& sample, uint32_t, const std::string&, double) { valued_.insert(sample.id); }));
  if (too_large_)
    return unsupported_error("the run is too large for a scrubbed copy", "export it with --format csv --raw --scrub");
  announced_.assign(run_.keys().empty() ? 1 : run_.keys().back().id + size_t{1}, false);
  announced_[0] = true;
  return Ok{};
}

Sample Copy::rebuild(const SampleInfo& info, Scrubber& scrub) {
  Sample sample;
  sample.t_ns = info.t_ns;
  sample.mono_ns = info.mono_ns;
  sample.cost_ns = info.cost_ns;
  for (const HeldRow& row : rows_[info.id]) {
    if (!announced_[row.key]) {
      announced_[row.key] = true;
      const KeyInfo& key = *run_.key(row.key);
      sample.keys.push_back(
          {key.id, row.source, scrub.key(key.source, key.name), scrub.detail(key.source, key.detail)});
    }
    sample.add(*row.source, row.key, {numbers_.data() + row.first, row.source->columns.size()});
  }
  return sample;
}

// All samples before this one, also those that hold nothing: the node was there.
Status Copy::write_until(int64_t id, RunWriter& out, Scrubber& scrub) {
  for (; next_ < run_.samples().size() && run_.samples()[next_].id < id; ++next_) {
    const SampleInfo& info = run_.samples()[next_];
    if (rows_.contains(info.id) || !valued_.contains(info.id))
      RETURN_IF_ERROR(out.add(info.node, rebuild(info, scrub)));
  }
  return Ok{};
}

Status Copy::write_values(RunWriter& out, Scrubber& scrub) {
  Status status = Ok{};
  RETURN_IF_ERROR(
      run_.scan_values([&](const SampleInfo& sample, uint32_t key, const std::string& metric, double value) {
        if (status) status = write_until(sample.id, out, scrub);
        if (!status) return;
        const KeyInfo* info = run_.key(key);
        std::string device = info ? scrub.key(info->source, info->name) : "";
        status = out.add_value(sample.node, sample.t_ns, device, metric, value);
      }));
  return status;
}

Status Copy::write(RunWriter& out, Scrubber& scrub) {
  RETURN_IF_ERROR(write_values(out, scrub));
  RETURN_IF_ERROR(write_until(INT64_MAX, out, scrub));
  ASSIGN_OR_RETURN(std::vector<Event> events, run_.events());
  for (const Event& event : events) RETURN_IF_ERROR(out.add_event(scrub.event(event)));
  return out.commit();
}

}  // namespace

Result<std::string> export_scrubbed_run(const RunReader& run, const std::string& out) {
  Copy copy(run);
  RETURN_IF_ERROR(copy.read());
  Scrubber scrub;
  Manifest manifest = scrub.manifest(run.manifest());
  for (NodeReport& report : manifest.nodes) report.clock_offset_ns = 0;  // the reader's times are corrected already
  int64_t end_ns = manifest.end_ns;
  ASSIGN_OR_RETURN(RunWriter writer, RunWriter::create(out, std::move(manifest)));
  Status written = copy.write(writer, scrub);
  writer.manifest().end_ns = end_ns;
  Result<std::string> closed = written ? writer.close() : Result<std::string>(written.error());
  if (!closed) writer.discard();
  return closed;
}

}  // namespace culprit
