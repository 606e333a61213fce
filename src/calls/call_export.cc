#include "calls/call_export.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "calls/perfetto.h"
#include "calls/strace_export.h"
#include "calls/syscalls.h"

namespace culprit {

namespace {

constexpr size_t kBlockBytes = 1 << 16;
constexpr std::string_view kCsvHeader =
    "time_s,process,thread,kind,name,fd,class,target,bytes_asked,result,errno,duration_s\n";

// Records become bytes: one of these per format.
class Formatter {
 public:
  virtual ~Formatter() = default;
  virtual bool add(const Call& call, std::string& out) = 0;  // false: it has no place in this format
  virtual void finish(std::string&) {}
};

class TextFormatter : public Formatter {
 public:
  TextFormatter(const FdMap& fds, const TextOptions& options) : fds_(fds), options_(options) {}
  bool add(const Call& call, std::string& out) override {
    out += call_text(call, fds_, options_) + "\n";
    return true;
  }

 private:
  const FdMap& fds_;
  TextOptions options_;
};

class StraceFormatter : public Formatter {
 public:
  explicit StraceFormatter(const FdMap& fds) : writer_(fds) {}
  bool add(const Call& call, std::string& out) override { return writer_.add(call, out); }
  void finish(std::string& out) override { writer_.finish(out); }

 private:
  StraceWriter writer_;
};

class PerfettoFormatter : public Formatter {
 public:
  PerfettoFormatter(const FdMap& fds, std::string node) : fds_(fds), writer_(std::move(node)) {}
  bool add(const Call& call, std::string& out) override {
    out += writer_.add(call, fds_);
    return true;
  }

 private:
  const FdMap& fds_;
  PerfettoWriter writer_;
};

// The fields of a row as texts; "" where there is nothing to say.
struct Row {
  std::string time, process, thread, kind, name, fd, fd_class, target, asked, result, error, duration;

  Row(const Call& call, const FdMap& fds) {
    RecordTarget about = record_target(call, fds);
    time = seconds_text(call.start_ns, 9);
    process = cat(call.process);
    thread = cat(call.thread);
    kind = kind_name(call.kind);
    name = record_name(call);
    if (about.fd >= 0) fd = cat(about.fd);
    if (about.what) fd_class = name_of(about.what->fd_class);
    if (about.what) target = target_name(*about.what);
    if (int64_t bytes = bytes_asked(call); bytes >= 0) asked = cat(bytes);
    if (call.failed() && call.kind != CallKind::exit) error = errno_name(call.errno_value());
    if (!call.finished()) return;
    result = cat(call.result);
    duration = seconds_text(call.duration_ns, 9);
  }
};

// Quoted where a comma, quote or line end is in it.
std::string csv_field(std::string_view field) {
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(field);
  std::string out = "\"";
  for (char c : field) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

class CsvFormatter : public Formatter {
 public:
  explicit CsvFormatter(const FdMap& fds) : fds_(fds) {}
  bool add(const Call& call, std::string& out) override {
    Row row(call, fds_);
    out += cat(row.time, ",", row.process, ",", row.thread, ",", row.kind, ",", row.name, ",", row.fd, ",");
    out += cat(row.fd_class, ",", csv_field(row.target), ",", row.asked, ",", row.result, ",", row.error, ",",
               row.duration, "\n");
    return true;
  }

 private:
  const FdMap& fds_;
};

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_number(const std::string& text) {
  return text.empty() ? "null" : text;
}

// Whole numbers of 64 bits: args are written as they are, though some readers keep only 53 of their bits.
std::string json_args(const Call& call) {
  std::string out;
  for (uint64_t arg : call.args) out += cat(out.empty() ? "[" : ",", arg);
  return out + "]";
}

class JsonFormatter : public Formatter {
 public:
  explicit JsonFormatter(const FdMap& fds) : fds_(fds) {}
  bool add(const Call& call, std::string& out) override {
    Row row(call, fds_);
    out += cat("{\"time_s\":", row.time, ",\"process\":", row.process, ",\"thread\":", row.thread);
    out += cat(",\"kind\":\"", row.kind, "\",\"name\":\"", row.name, "\",\"fd\":", json_number(row.fd));
    out += cat(",\"class\":\"", row.fd_class, "\",\"target\":", json_text(row.target));
    out += cat(",\"bytes_asked\":", json_number(row.asked), ",\"result\":", json_number(row.result));
    out += cat(",\"errno\":\"", row.error, "\",\"duration_s\":", json_number(row.duration));
    out += cat(",\"sequence\":", call.sequence, ",\"number\":", call.number, ",\"args\":", json_args(call), "}\n");
    return true;
  }

 private:
  const FdMap& fds_;
};

// What a format is made with.
struct Source {
  const FdMap& fds;
  const LogHeader& header;
  const CallExportOptions& options;
};

struct FormatInfo {
  std::string_view name;
  CallFormat format;
  std::string_view start;  // of the output
  std::unique_ptr<Formatter> (*make)(const Source& source);
};

// In the order of CallFormat.
constexpr FormatInfo kFormats[] = {
    {"text", CallFormat::text, "",
     [](const Source& from) -> std::unique_ptr<Formatter> {
       return std::make_unique<TextFormatter>(from.fds, from.options.text);
     }},
    {"strace", CallFormat::strace, "",
     [](const Source& from) -> std::unique_ptr<Formatter> { return std::make_unique<StraceFormatter>(from.fds); }},
    {"csv", CallFormat::csv, kCsvHeader,
     [](const Source& from) -> std::unique_ptr<Formatter> { return std::make_unique<CsvFormatter>(from.fds); }},
    {"jsonl", CallFormat::jsonl, "",
     [](const Source& from) -> std::unique_ptr<Formatter> { return std::make_unique<JsonFormatter>(from.fds); }},
    {"perfetto", CallFormat::perfetto, "",
     [](const Source& from) -> std::unique_ptr<Formatter> {
       return std::make_unique<PerfettoFormatter>(from.fds, from.header.node);
     }},
};

}  // namespace

Result<CallFormat> parse_call_format(std::string_view name) {
  for (const FormatInfo& info : kFormats)
    if (info.name == name) return info.format;
  std::string meant = did_you_mean(name, call_format_names());
  std::string hint = meant.empty() ? "there are " + join(call_format_names(), ", ") : cat("did you mean ", meant, "?");
  return usage_error(cat("'", printable(name), "' is not a format of calls"), hint);
}

std::vector<std::string> call_format_names() {
  std::vector<std::string> names;
  for (const FormatInfo& info : kFormats) names.emplace_back(info.name);
  return names;
}

Result<int64_t> export_calls(CallLogReader& reader, CallFormat format,
                             const std::function<Status(std::string_view bytes)>& write,
                             const CallExportOptions& options) {
  FdMap fds(reader.fds());
  const FormatInfo& info = kFormats[static_cast<size_t>(format)];
  std::unique_ptr<Formatter> formatter = info.make({fds, reader.header(), options});
  std::string out(info.start);
  Status written = Ok{};
  int64_t records = 0;
  auto flush = [&] {
    if (written && !out.empty()) written = write(out);
    out.clear();
  };
  RETURN_IF_ERROR(reader.each_call([&](const Call& call) {
    if (options.keep && !options.keep(call, record_target(call, fds).what)) return true;
    if (formatter->add(call, out)) ++records;
    if (out.size() >= kBlockBytes) flush();
    return written.ok();
  }));
  formatter->finish(out);
  flush();
  if (!written) return std::move(written).error();
  return records;
}

}  // namespace culprit
