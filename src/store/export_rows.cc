#include "store/export_rows.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/units.h"

namespace culprit {

namespace {

constexpr size_t kBlockBytes = 1 << 16;

std::string number_text(const ExportRow& row, std::string_view missing) {
  if (std::holds_alternative<std::monostate>(row.value)) return std::string(missing);
  char text[32];
  const double* number = std::get_if<double>(&row.value);
  std::to_chars_result end = number ? std::to_chars(text, text + sizeof text, *number)
                                    : std::to_chars(text, text + sizeof text, std::get<int64_t>(row.value));
  return {text, end.ptr};
}

// Quoted where a comma, quote or line end is in it, and where it would look like a comment.
void append_csv(std::string& out, std::string_view field) {
  if (field.find_first_of(",\"\r\n#") == std::string_view::npos && trim(field).size() == field.size()) {
    out += field;
    return;
  }
  out += '"';
  for (char c : field) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

void append_json(std::string& out, std::string_view name, std::string_view text) {
  out +=
      cat("\"", name, "\":", nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), ",");
}

void append_csv_row(std::string& out, const ExportRow& row) {
  out += exact_time(row.t_ns);
  for (std::string_view field : {row.node, row.source, row.device, row.metric}) {
    out += ',';
    append_csv(out, field);
  }
  out += cat(",", number_text(row, ""), "\n");
}

void append_json_row(std::string& out, const ExportRow& row) {
  out += '{';
  append_json(out, "time", exact_time(row.t_ns));
  append_json(out, "node", row.node);
  append_json(out, "source", row.source);
  append_json(out, "device", row.device);
  append_json(out, "metric", row.metric);
  out += cat("\"value\":", number_text(row, "null"), "}\n");
}

// Names of nodes and keys as they go out.
class Names {
 public:
  Names(const RunReader& run, Scrubber* scrub) {
    for (const Node& node : run.nodes()) nodes_.push_back(scrub ? scrub->node(node.name) : node.name);
    keys_.resize(run.keys().empty() ? 1 : run.keys().back().id + size_t{1});
    for (const KeyInfo& key : run.keys()) keys_[key.id] = scrub ? scrub->key(key.source, key.name) : key.name;
  }
  const std::string& node(size_t index) const { return nodes_[index]; }
  const std::string& key(uint32_t id) const { return keys_[id]; }

 private:
  std::vector<std::string> nodes_;
  std::vector<std::string> keys_;
};

}  // namespace

std::string exact_time(int64_t t_ns) {
  std::string text = format_time(t_ns);
  if (t_ns < 0 || t_ns % kNsPerMs == 0) return text;
  std::string digits = std::to_string(kNsPerSecond + t_ns % kNsPerSecond);
  return cat(std::string_view(text).substr(0, text.size() - 4), std::string_view(digits).substr(1), "Z");
}

RowWriter::RowWriter(RowFormat format, WriteFn write) : format_(format), write_(std::move(write)) {
  if (format_ == RowFormat::csv) buffer_ = "time,node,source,device,metric,value\n";
}

void RowWriter::flush() {
  if (status_ && !buffer_.empty()) status_ = write_(buffer_);
  buffer_.clear();
}

void RowWriter::add(const ExportRow& row) {
  const double* number = std::get_if<double>(&row.value);
  if (!status_ || (number && !std::isfinite(*number))) return;
  ++rows_;
  if (format_ == RowFormat::csv)
    append_csv_row(buffer_, row);
  else
    append_json_row(buffer_, row);
  if (buffer_.size() >= kBlockBytes) flush();
}

Status RowWriter::finish() {
  flush();
  return status_;
}

Status export_raw(const RunReader& run, Scrubber* scrub, RowWriter& out) {
  Names names(run, scrub);
  for (const std::string& name : run.sources()) {
    const Source* source = run.source(name);
    if (!source) continue;
    RETURN_IF_ERROR(run.scan(*source, [&](const SampleInfo& sample, uint32_t key, std::span<const int64_t> values) {
      for (size_t i = 0; i < values.size(); ++i)
        if (values[i] != kAbsent)
          out.add(
              {sample.t_ns, names.node(sample.node), source->name, names.key(key), source->columns[i].name, values[i]});
    }));
  }
  return run.scan_values([&](const SampleInfo& sample, uint32_t key, const std::string& metric, double value) {
    out.add({sample.t_ns, names.node(sample.node), "value", names.key(key), metric, value});
  });
}

}  // namespace culprit
