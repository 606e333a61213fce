// Writing the logs, and the names they have. What a block holds is in call_columns, record_columns and log_json, how it
// stands in the file in log_block; reading is in call_log_reader.cc.
#include "calls/call_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"
#include "calls/call_columns.h"
#include "calls/log_block.h"
#include "calls/log_json.h"
#include "calls/record_columns.h"

namespace culprit {

namespace {

constexpr size_t kFullBlock = 16384;             // calls: past it zstd gains little, and a damaged block costs more
constexpr size_t kFullBytes = size_t{1} << 20;   // of records that have texts or maps, about
constexpr int64_t kMostLost = int64_t{1} << 40;  // of one CPU; the sum of what a log claims must not overflow
constexpr std::string_view kFolder = "syscalls";
constexpr std::string_view kEnding = ".sclog";

struct Files {
  Fd calls, fds;
  std::string stem;
  off_t calls_size = 0, fds_size = 0;

  // All of it or nothing: half a block would hide the end that comes after it.
  Status append(LogFile file, std::string_view bytes) {
    bool is_calls = file == LogFile::calls;
    int fd = is_calls ? calls.get() : fds.get();
    off_t& size = is_calls ? calls_size : fds_size;
    Status written = write_all(fd, bytes, cat(stem, is_calls ? ".sclog" : ".fdlog"));
    if (written)
      size += static_cast<off_t>(bytes.size());
    else
      static_cast<void>(::ftruncate(fd, size) == 0);
    return written;
  }
};

Result<Fd> create_file(const std::string& path) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
  int failed = errno;
  if (fd.valid()) return Result<Fd>(std::move(fd));
  const char* hint = failed == EEXIST ? "logs are never written over: choose another name" : "";
  return system_error(cat("cannot create ", path), failed, hint);
}

Status make_parent(const std::string& stem) {
  std::filesystem::path folder = std::filesystem::path(stem).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) return system_error(cat("cannot make the folder ", folder.string()), error.value());
  return Ok{};
}

size_t size_of(const FdRecord& record) {
  return 32 + record.name.size() + record.protocol.size() + record.local.size() + record.peer.size();
}
size_t size_of(const CallSum& sum) {
  return 200 + 8 * sum.errors.size();
}

}  // namespace

int64_t LogEnd::all_lost() const {
  int64_t sum = 0;
  for (int64_t each : lost) sum += std::clamp(each, int64_t{0}, kMostLost);
  return sum;
}

struct CallLogWriter::State {
  Sink sink;
  LogHeader header;
  BlockMaker maker;
  std::vector<Call> calls;
  std::vector<FdRecord> fds;
  std::vector<CallSum> sums;
  size_t fd_bytes = 0, sum_bytes = 0;  // of those that wait
  int64_t written_calls = 0, written_fds = 0, bytes = 0;
  bool begun_calls = false, begun_fds = false, closed = false;

  Status begin(LogFile file, bool& begun);
  Status put(LogFile file, BlockKind kind, std::string_view raw, size_t records);
  Status put_calls();
  Status put_fds();
  Status put_sums();
  Status put_end(LogEnd end);
};

// The magic and the header, in one piece, before anything else.
Status CallLogWriter::State::begin(LogFile file, bool& begun) {
  if (begun) return Ok{};
  std::string json = format_log_header(header);
  if (json.size() > kMaxJsonBytes)
    return input_error(cat("the header of the log would have ", json.size(), " bytes, more than a reader takes"),
                       "name fewer nodes in cluster.toml");
  ASSIGN_OR_RETURN(std::string block, maker.make(BlockKind::header, json, 1));
  std::string start = cat(file_magic(file), block);
  RETURN_IF_ERROR(sink(file, start));
  begun = true;
  bytes += static_cast<int64_t>(start.size());
  return Ok{};
}

Status CallLogWriter::State::put(LogFile file, BlockKind kind, std::string_view raw, size_t records) {
  RETURN_IF_ERROR(begin(file, file == LogFile::calls ? begun_calls : begun_fds));
  ASSIGN_OR_RETURN(std::string block, maker.make(kind, raw, records));
  RETURN_IF_ERROR(sink(file, block));
  bytes += static_cast<int64_t>(block.size());
  return Ok{};
}

// What calls were made on is written before the calls: a kill in between leaves no call without its descriptor. Records
// that could not be written are gone: on a full disk trying again would fill the memory as well.
Status CallLogWriter::State::put_calls() {
  RETURN_IF_ERROR(put_fds());
  if (calls.empty()) return Ok{};
  size_t count = calls.size();
  std::string raw = encode_calls(calls);
  calls.clear();
  RETURN_IF_ERROR(put(LogFile::calls, BlockKind::calls, raw, count));
  if (!header.sums) written_calls += static_cast<int64_t>(count);  // beside sums they are signals and ends
  return Ok{};
}

Status CallLogWriter::State::put_fds() {
  if (fds.empty()) return Ok{};
  size_t count = fds.size();
  std::string raw = encode_fds(fds);
  fds.clear();
  fd_bytes = 0;
  RETURN_IF_ERROR(put(LogFile::fds, BlockKind::fds, raw, count));
  written_fds += static_cast<int64_t>(count);
  return Ok{};
}

Status CallLogWriter::State::put_sums() {
  if (sums.empty()) return Ok{};
  size_t count = sums.size();
  uint64_t summed = 0;
  for (const CallSum& sum : sums) summed += sum.count;
  std::string raw = encode_sums(sums);
  sums.clear();
  sum_bytes = 0;
  RETURN_IF_ERROR(put(LogFile::calls, BlockKind::sums, raw, count));
  written_calls += static_cast<int64_t>(summed);
  return Ok{};
}

Status CallLogWriter::State::put_end(LogEnd end) {
  end.calls = written_calls;
  end.fds = written_fds;
  std::string json = format_log_end(end);
  if (json.size() > kMaxJsonBytes) {
    end.notes = {cat("there were ", end.notes.size(), " notes, too long to be kept")};
    json = format_log_end(end);
  }
  return put(LogFile::calls, BlockKind::end, json, 1);
}

CallLogWriter::CallLogWriter(Sink sink, LogHeader header) : state_(std::make_unique<State>()) {
  state_->sink = std::move(sink);
  state_->header = std::move(header);
}

CallLogWriter::CallLogWriter(CallLogWriter&&) noexcept = default;
CallLogWriter& CallLogWriter::operator=(CallLogWriter&&) noexcept = default;
CallLogWriter::~CallLogWriter() = default;

Result<CallLogWriter> CallLogWriter::create(const std::string& stem, LogHeader header) {
  RETURN_IF_ERROR(make_parent(stem));
  auto files = std::make_shared<Files>();
  files->stem = stem;
  ASSIGN_OR_RETURN(files->calls, create_file(stem + ".sclog"));
  auto fds = create_file(stem + ".fdlog");
  if (!fds) {
    ::unlink((stem + ".sclog").c_str());
    return std::move(fds).error();
  }
  files->fds = std::move(fds).value();
  CallLogWriter writer([files](LogFile file, std::string_view bytes) { return files->append(file, bytes); },
                       std::move(header));
  RETURN_IF_ERROR(writer.flush());
  return Result<CallLogWriter>(std::move(writer));
}

Status CallLogWriter::add(const Call& call) {
  CHECK(!state_->closed) << "a call after the end of its log";
  state_->calls.push_back(call);
  return state_->calls.size() < kFullBlock ? Status(Ok{}) : state_->put_calls();
}

Status CallLogWriter::add(const FdRecord& record) {
  CHECK(!state_->closed) << "a descriptor after the end of its log";
  state_->fds.push_back(record);
  state_->fd_bytes += size_of(record);
  return state_->fd_bytes < kFullBytes ? Status(Ok{}) : state_->put_fds();
}

Status CallLogWriter::add(const CallSum& sum) {
  CHECK(!state_->closed) << "a sum after the end of its log";
  state_->sums.push_back(sum);
  state_->sum_bytes += size_of(sum);
  return state_->sum_bytes < kFullBytes ? Status(Ok{}) : state_->put_sums();
}

Status CallLogWriter::flush() {
  RETURN_IF_ERROR(state_->begin(LogFile::fds, state_->begun_fds));
  RETURN_IF_ERROR(state_->begin(LogFile::calls, state_->begun_calls));
  RETURN_IF_ERROR(state_->put_calls());
  return state_->put_sums();
}

// The end is tried also when the rest could not be written: a reader shall know that it is the end, and why.
Status CallLogWriter::close(LogEnd end) {
  CHECK(!state_->closed) << "a log is closed once";
  Status flushed = flush();
  state_->closed = true;
  Status ended = state_->put_end(std::move(end));
  return flushed ? std::move(ended) : std::move(flushed);
}

int64_t CallLogWriter::calls() const {
  uint64_t waiting = state_->header.sums ? 0 : state_->calls.size();
  for (const CallSum& sum : state_->sums) waiting += sum.count;
  return state_->written_calls + static_cast<int64_t>(waiting);
}

int64_t CallLogWriter::fds() const {
  return state_->written_fds + static_cast<int64_t>(state_->fds.size());
}

int64_t CallLogWriter::bytes() const {
  return state_->bytes;
}

std::vector<std::string> logged_nodes(const std::string& run_directory) {
  namespace fs = std::filesystem;
  std::vector<std::string> nodes;
  std::error_code error;
  fs::directory_iterator it(fs::path(run_directory) / kFolder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    std::string name = it->path().filename().string();
    if (name.size() > kEnding.size() && name.ends_with(kEnding))
      nodes.push_back(name.substr(0, name.size() - kEnding.size()));
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

std::string log_stem(const std::string& run_directory, const std::string& node) {
  return cat(run_directory, "/", kFolder, "/", node);
}

}  // namespace culprit
