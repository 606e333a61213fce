// A file of strace's text into logs: bytes to lines, records to classified records. The logs are made when the first
// event is there, so that a file of another kind leaves nothing behind.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "calls/fd_class.h"
#include "calls/strace_import.h"

namespace culprit {

namespace {

constexpr size_t kReadBytes = 1 << 18;

// Lines of blocks. Of one that is too long only so much is kept that the importer sees that it is.
class Lines {
 public:
  explicit Lines(StraceImporter& importer) : importer_(importer) {}

  Status feed(std::string_view block) {
    while (!block.empty()) {
      size_t end = block.find('\n');
      std::string_view part = block.substr(0, end);
      line_ += part.substr(0, kMostStraceLine + 1 - std::min(line_.size(), kMostStraceLine + 1));
      if (end == std::string_view::npos) return Ok{};
      block.remove_prefix(end + 1);
      RETURN_IF_ERROR(end_line());
    }
    return Ok{};
  }
  Status finish() { return line_.empty() ? Status(Ok{}) : end_line(); }

 private:
  Status end_line() {
    Status status = importer_.line(line_);
    line_.clear();
    return status;
  }

  StraceImporter& importer_;
  std::string line_;
};

// The logs, once there is something to write.
class Logs {
 public:
  Logs(std::string stem, LogHeader header) : stem_(std::move(stem)), header_(std::move(header)) {}

  // `start_ns`: of the first event.
  template <class Record>
  Status add(const Record& record, int64_t start_ns) {
    if (!writer_) {
      header_.start_ns = start_ns;
      ASSIGN_OR_RETURN(CallLogWriter writer, CallLogWriter::create(stem_, header_));
      writer_ = std::move(writer);
    }
    return writer_->add(record);
  }
  Status close(const StraceReport& report) {
    if (!writer_) return Ok{};  // every call had a name that is not known
    LogEnd end;
    end.end_ns = report.last_ns;
    end.stopped = "imported";
    end.notes = report.notes;
    return writer_->close(std::move(end));
  }
  const Surroundings& around() const { return header_.around; }

 private:
  std::string stem_;
  LogHeader header_;
  std::optional<CallLogWriter> writer_;
};

Status read_blocks(const std::string& path, const std::function<Status(std::string_view block)>& fn) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return system_error(cat("cannot read ", path), errno);
  std::string buffer(kReadBytes, '\0');
  while (true) {
    ssize_t n = ::read(file.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(cat("cannot read ", path), errno);
    if (n == 0) return Ok{};
    RETURN_IF_ERROR(fn(std::string_view(buffer).substr(0, static_cast<size_t>(n))));
  }
}

}  // namespace

Result<StraceReport> import_strace_text(std::string_view text, const std::string& name_for_errors, StraceSink sink) {
  StraceImporter importer(std::move(sink), name_for_errors);
  Lines lines(importer);
  RETURN_IF_ERROR(lines.feed(text));
  RETURN_IF_ERROR(lines.finish());
  return importer.finish();
}

Result<StraceReport> import_strace(const std::string& path, const std::string& stem, LogHeader header) {
  header.backend = "strace";
  header.what = path;
  const bool of_server = header.around.server;
  Logs logs(stem, std::move(header));
  StraceImporter* source = nullptr;
  StraceSink sink;
  sink.call = [&](const Call& call) { return logs.add(call, source->first_ns()); };
  sink.fd = [&](const FdRecord& record) {
    FdRecord known = record;
    known.fd_class = classify(record, logs.around());
    return logs.add(known, source->first_ns());
  };
  StraceImporter importer(std::move(sink), path, of_server);
  source = &importer;
  Lines lines(importer);
  RETURN_IF_ERROR(read_blocks(path, [&](std::string_view block) { return lines.feed(block); }));
  RETURN_IF_ERROR(lines.finish());
  ASSIGN_OR_RETURN(StraceReport report, importer.finish());
  RETURN_IF_ERROR(logs.close(report));
  return report;
}

}  // namespace culprit
