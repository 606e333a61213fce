// Reading the logs. The sclog is read from its beginning for every question, a block at a time, because it may be
// larger than the memory; the fdlog is kept. Whatever is wrong becomes a note, as long as there is anything to read.
#include <algorithm>

#include "base/fd.h"
#include "base/text.h"
#include "calls/call_columns.h"
#include "calls/call_log.h"
#include "calls/log_json.h"
#include "calls/log_scan.h"
#include "calls/path_hash.h"
#include "calls/record_columns.h"

namespace culprit {

namespace {

constexpr size_t kMostFds = 20'000'000;           // far above real captures; some gigabytes of memory
constexpr size_t kMostFdBytes = size_t{1} << 30;  // of their blocks, unpacked: a small file may hold very long names
constexpr uint32_t kLastKind = static_cast<uint32_t>(BlockKind::end);

bool looks_like_text(std::string_view bytes) {
  return std::none_of(bytes.begin(), bytes.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' && c != '\r') || c == 0x7f;
  });
}

// The one sentence for a file that is no sclog.
Error foreign(const std::string& name, std::string_view start) {
  if (start.empty()) return input_error(cat(name, " is empty"), "its capture ended before it wrote anything");
  if (start.starts_with(file_magic(LogFile::fds)))
    return input_error(cat(name, " is not a sclog but an fdlog"), "name the sclog beside it");
  if (file_magic(LogFile::calls).starts_with(start))
    return input_error(cat(name, " is cut off in its first bytes"), "nothing of it can be read");
  return input_error(cat(name, " is not a sclog"),
                     looks_like_text(start) ? "a text of strace: import it with `culprit import --format strace`"
                                            : "culprit syscap makes them");
}

std::string without(const std::string& path, std::string_view ending) {
  return path.ends_with(ending) ? path.substr(0, path.size() - ending.size()) : path;
}

struct Paths {
  std::string calls, fds;
};

Paths paths_of(const std::string& path) {
  std::string stem = without(without(path, ".sclog"), ".fdlog");
  bool other_name = stem == path && !path_exists(stem + ".sclog") && path_exists(path);
  return {other_name ? path : stem + ".sclog", stem + ".fdlog"};
}

}  // namespace

struct CallLogReader::State {
  std::string name;
  ByteSource calls;
  LogHeader header;
  bool has_header = false;
  std::optional<LogEnd> end;
  std::vector<FdRecord> fds;
  size_t fd_bytes = 0;  // of their blocks, unpacked
  std::vector<std::string> notes;
  size_t first_notes = 0;  // those from opening; the others are made anew whenever the log is read
  int64_t bytes = 0;

  Status open(ByteSource source);
  Status read_header();
  Status read_fds(const ByteSource& source, const std::string& fds_name);
  bool fits(const Block& block, const std::string& fds_name);
  bool take_fds(const Block& block, BlockReader& blocks);
  void take_end(const Block& block);
  Status walk(BlockKind wanted, const std::function<Result<bool>(const Block&)>& use, bool& to_the_end);
};

Status CallLogReader::State::open(ByteSource source) {
  calls = std::move(source);
  bytes = calls.size();
  std::string buffer;
  ASSIGN_OR_RETURN(std::string_view start, calls.at(0, 512, buffer));
  if (!start.starts_with(file_magic(LogFile::calls))) return foreign(name, start);
  RETURN_IF_ERROR(read_header());
  if (auto last = last_block(calls); last && last->is(BlockKind::end)) take_end(*last);
  return Ok{};
}

// An error only when a later culprit wrote it. A damaged header may still be found in the fdlog.
Status CallLogReader::State::read_header() {
  BlockReader blocks(calls);
  Block block;
  ASSIGN_OR_RETURN(bool found, blocks.next(block));
  if (!found || !block.is(BlockKind::header) || block.raw.size() > kMaxJsonBytes) return Ok{};
  auto parsed = parse_log_header(block.raw, name);
  if (!parsed && parsed.error().kind == ErrorKind::unsupported) return std::move(parsed).error();
  if (!parsed) {
    notes.push_back(parsed.error().what);
    return Ok{};
  }
  header = std::move(parsed).value();
  has_header = true;
  return Ok{};
}

Status CallLogReader::State::read_fds(const ByteSource& source, const std::string& fds_name) {
  bytes += source.size();
  std::string buffer;
  ASSIGN_OR_RETURN(std::string_view start, source.at(0, kFileMagicBytes, buffer));
  if (start != file_magic(LogFile::fds)) {
    notes.push_back(cat(fds_name, start.empty() ? " is empty" : " is not an fdlog and was left out"));
    return Ok{};
  }
  BlockReader blocks(source);
  Block block;
  while (true) {
    ASSIGN_OR_RETURN(bool more, blocks.next(block));
    if (!more) break;
    if (block.is(BlockKind::header) && !fits(block, fds_name)) break;
    if (block.is(BlockKind::fds) && !take_fds(block, blocks)) break;
  }
  for (const std::string& note : blocks.notes()) notes.push_back(cat(fds_name, ": ", note));
  return Ok{};
}

// Whether this header is the sclog's: descriptors of another capture would be wrong names.
bool CallLogReader::State::fits(const Block& block, const std::string& fds_name) {
  if (block.raw.size() > kMaxJsonBytes) return true;
  auto parsed = parse_log_header(block.raw, fds_name);
  if (!parsed) {
    notes.push_back(cat(parsed.error().what, "; it was left out"));
    return false;
  }
  if (has_header && (parsed->node != header.node || parsed->start_ns != header.start_ns)) {
    notes.push_back(cat(fds_name, " is of another capture and was left out"));
    return false;
  }
  if (has_header) return true;
  notes.push_back(cat(name, " has lost its header; that of the fdlog is the same"));
  header = std::move(parsed).value();
  has_header = true;
  return true;
}

bool CallLogReader::State::take_fds(const Block& block, BlockReader& blocks) {
  if (fds.size() + block.records > kMostFds) {
    blocks.note(cat("it has more than ", kMostFds, " records; the later ones were left out"));
    return false;
  }
  fd_bytes += block.raw.size();
  if (fd_bytes > kMostFdBytes) {
    blocks.note("its records take more than 1 GiB; the later ones were left out");
    return false;
  }
  Status taken = decode_fds(block.raw, block.records, fds);
  if (!taken) blocks.note(cat("the block at offset ", block.offset, " was left out: ", taken.error().what));
  return true;
}

void CallLogReader::State::take_end(const Block& block) {
  if (end || block.raw.size() > kMaxJsonBytes) return;
  if (auto parsed = parse_log_end(block.raw, name)) end = std::move(parsed).value();
}

Status CallLogReader::State::walk(BlockKind wanted, const std::function<Result<bool>(const Block&)>& use,
                                  bool& to_the_end) {
  notes.resize(first_notes);
  to_the_end = false;
  BlockReader blocks(calls);
  Block block;
  bool go_on = true;
  while (go_on) {
    ASSIGN_OR_RETURN(bool more, blocks.next(block));
    to_the_end = !more;
    if (!more) break;
    if (block.is(BlockKind::end)) take_end(block);
    if (block.kind > kLastKind)
      blocks.note(
          cat("the block at offset ", block.offset, " has a kind that this culprit does not know: ", block.kind));
    if (!block.is(wanted)) continue;
    auto used = use(block);
    if (used)
      go_on = *used;
    else
      blocks.note(cat("the block at offset ", block.offset, " was left out: ", used.error().what));
  }
  for (const std::string& note : blocks.notes()) notes.push_back(note);
  return Ok{};
}

CallLogReader::CallLogReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
CallLogReader::CallLogReader(CallLogReader&&) noexcept = default;
CallLogReader& CallLogReader::operator=(CallLogReader&&) noexcept = default;
CallLogReader::~CallLogReader() = default;

namespace {

Error headless(const std::string& name) {
  return input_error(cat(name, " has no header that can be read"), "it is damaged, or its capture ended at once");
}

}  // namespace

Result<CallLogReader> CallLogReader::open(const std::string& path) {
  Paths paths = paths_of(path);
  auto state = std::make_unique<State>();
  state->name = paths.calls;
  ASSIGN_OR_RETURN(ByteSource calls, ByteSource::open(paths.calls));
  RETURN_IF_ERROR(state->open(std::move(calls)));
  auto fds = ByteSource::open(paths.fds);
  if (fds)
    RETURN_IF_ERROR(state->read_fds(*fds, paths.fds));
  else
    state->notes.push_back(cat(fds.error().message(), ": descriptors have no names"));
  if (!state->has_header) return headless(state->name);
  state->first_notes = state->notes.size();
  return CallLogReader(std::move(state));
}

Result<CallLogReader> CallLogReader::from_bytes(std::string sclog, std::string fdlog, const std::string& name) {
  auto state = std::make_unique<State>();
  state->name = name;
  RETURN_IF_ERROR(state->open(ByteSource(std::move(sclog))));
  RETURN_IF_ERROR(state->read_fds(ByteSource(std::move(fdlog)), cat("the fdlog of ", name)));
  if (!state->has_header) return headless(name);
  state->first_notes = state->notes.size();
  return CallLogReader(std::move(state));
}

const LogHeader& CallLogReader::header() const {
  return state_->header;
}
const std::optional<LogEnd>& CallLogReader::end() const {
  return state_->end;
}
const std::vector<FdRecord>& CallLogReader::fds() const {
  return state_->fds;
}
const std::vector<std::string>& CallLogReader::notes() const {
  return state_->notes;
}
int64_t CallLogReader::bytes() const {
  return state_->bytes;
}

void CallLogReader::hash_paths(const PathHasher& hasher) {
  for (FdRecord& record : state_->fds) record = hasher.hash(std::move(record));
  state_->header.hashed = true;
  state_->header.what.clear();
}

Status CallLogReader::each_call(const std::function<bool(const Call&)>& fn) {
  std::vector<Call> calls;
  int64_t seen = 0;
  auto use = [&](const Block& block) -> Result<bool> {
    RETURN_IF_ERROR(decode_calls(block.raw, block.records, calls));
    for (const Call& call : calls)
      if (!fn(call)) return false;
    seen += static_cast<int64_t>(calls.size());
    return true;
  };
  bool to_the_end = false;
  RETURN_IF_ERROR(state_->walk(BlockKind::calls, use, to_the_end));
  const auto& end = state_->end;
  if (to_the_end && end && !state_->header.sums && end->calls != seen)
    state_->notes.push_back(cat("its end says that it has ", end->calls, " calls; ", seen, " could be read"));
  return Ok{};
}

Status CallLogReader::each_sum(const std::function<bool(const CallSum&)>& fn) {
  std::vector<CallSum> sums;
  auto use = [&](const Block& block) -> Result<bool> {
    RETURN_IF_ERROR(decode_sums(block.raw, block.records, sums));
    for (const CallSum& sum : sums)
      if (!fn(sum)) return false;
    return true;
  };
  bool to_the_end = false;
  return state_->walk(BlockKind::sums, use, to_the_end);
}

}  // namespace culprit
