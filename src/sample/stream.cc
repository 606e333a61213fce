#include "sample/stream.h"

#include <algorithm>
#include <charconv>

#include "base/procfile.h"
#include "base/text.h"

namespace culprit {

namespace {

constexpr std::string_view kMagic = "culprit-stream";
constexpr size_t kMostPreambleBytes = 65536;  // a login shell may greet before we speak
constexpr size_t kShownPreambleBytes = 300;
constexpr size_t kMostSources = 64;
constexpr size_t kMostColumns = 256;
constexpr size_t kMostEnvironment = 1024;
constexpr size_t kMostEnvironmentBytes = 256 << 10;  // it all goes into the manifest
constexpr size_t kMostRows = 100'000;                // of one sample: 4096 flows and what else a node may have
constexpr size_t kMostKeys = 50'000'000;             // 8 bytes each

void append_number(std::string& out, int64_t value) {
  char text[24];
  auto end = std::to_chars(text, text + sizeof text, value).ptr;
  out.append(text, static_cast<size_t>(end - text));
}

size_t source_number(const Source* source) {
  auto all = standard_sources();
  return static_cast<size_t>(std::find(all.begin(), all.end(), source) - all.begin()) + 1;
}

void append_row(const Sample& sample, const SampleRow& row, std::string& out) {
  out += "r ";
  append_number(out, static_cast<int64_t>(source_number(row.source)));
  out += ' ';
  append_number(out, row.key);
  for (int64_t value : sample.row(row)) {
    out += ' ';
    if (value == kAbsent)
      out += '-';
    else
      append_number(out, value);
  }
  out += '\n';
}

bool is_printable(std::string_view line) {
  return std::all_of(line.begin(), line.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

}  // namespace

std::string format_stream_header(std::string_view version, const std::map<std::string, std::string>& environment) {
  std::string out = cat(kMagic, " ", kStreamVersion, " ", version, "\n");
  for (const auto& [key, value] : environment) out += cat("env ", key, " ", value, "\n");
  for (const Source* source : standard_sources()) {
    out += cat("source ", source_number(source), " ", source->name);
    for (const Column& column : source->columns) out += cat(" ", column.name);
    out += '\n';
  }
  return out;
}

void format_sample(const Sample& sample, std::string& out) {
  for (const NewKey& key : sample.keys) {
    out += cat("key ", key.id, " ", source_number(key.source), " ", key.name);
    if (!key.detail.empty()) out += cat(" ", key.detail);
    out += '\n';
  }
  for (const std::string& note : sample.notes) out += cat("note ", note, "\n");
  for (const SampleRow& row : sample.rows) append_row(sample, row, out);
  out += cat("end ", sample.t_ns, " ", sample.mono_ns, " ", sample.cost_ns, " ", sample.skipped, "\n");
}

std::string format_pong(int64_t number, int64_t wall_ns) {
  return cat("pong ", number, " ", wall_ns, "\n");
}
std::string format_ping(int64_t number) {
  return cat("ping ", number, "\n");
}

int64_t parse_ping(std::string_view line) {
  int64_t number = -1;
  if (next_word(line) != "ping" || !next_number(line, number) || number < 0) return -1;
  return number;
}

Status StreamParser::fail(const std::string& what) {
  failed_ = true;
  error_ = input_error(cat("the node's stream is damaged: ", what), "is something else writing to the connection?");
  return error_;
}

Status StreamParser::feed(std::string_view bytes, std::vector<StreamEvent>& events) {
  if (failed_) return error_;
  while (!bytes.empty()) {
    size_t end = bytes.find('\n');
    std::string_view piece = bytes.substr(0, end);
    if (partial_.size() + piece.size() > kMostLineBytes)
      return fail(cat("a line is longer than ", kMostLineBytes, " bytes"));
    if (end == std::string_view::npos) {
      partial_ += piece;
      return Ok{};
    }
    bytes.remove_prefix(end + 1);
    std::string line = std::move(partial_);
    partial_.clear();
    line += piece;
    RETURN_IF_ERROR(take_line(line, events));
  }
  return Ok{};
}

std::string StreamParser::preamble() const {
  std::string_view rest = began_ ? "" : trim(partial_);
  return printable(cat(preamble_, preamble_.empty() || rest.empty() ? "" : " / ", rest), kShownPreambleBytes);
}

Status StreamParser::finish() {
  if (failed_) return error_;
  if (!began_) {
    failed_ = true;
    std::string said = preamble();
    error_ = input_error(said.empty() ? "the sampler wrote nothing" : cat("instead of its stream came: ", said),
                         "run the same command by hand on the node");
    return error_;
  }
  if (!partial_.empty() || !sample_.rows.empty()) return fail("it ended in the middle of a sample");
  return Ok{};
}

Status StreamParser::take_preamble(std::string_view line) {
  std::string_view rest = line;
  int64_t version = 0;
  if (next_word(rest) == kMagic) {
    if (!next_number(rest, version)) return fail("its header has no version");
    if (version != kStreamVersion) {
      failed_ = true;
      error_ = unsupported_error(
          cat("the node's sampler speaks stream version ", version, ", this culprit version ", kStreamVersion),
          "use the culprit-node that came with this culprit");
      return error_;
    }
    version_ = next_word(rest);
    began_ = true;
    return Ok{};
  }
  if (!trim(line).empty() && preamble_.size() < kShownPreambleBytes)
    preamble_ += cat(preamble_.empty() ? "" : " / ", trim(line).substr(0, kShownPreambleBytes));
  preamble_bytes_ += line.size() + 1;
  if (preamble_bytes_ > kMostPreambleBytes) return fail(cat("it does not begin with ", kMagic));
  return Ok{};
}

Status StreamParser::take_line(std::string_view line, std::vector<StreamEvent>& events) {
  if (!began_ && !line.starts_with(kMagic)) return take_preamble(line);
  if (!is_printable(line)) return fail(cat("a line holds bytes that are no text: ", printable(line)));
  if (!began_) return take_preamble(line);
  std::string_view rest = line;
  std::string_view word = next_word(rest);
  if (word == "r") return take_row(rest);
  if (word == "end") return take_end(rest, events);
  if (word == "key") return take_key(rest);
  if (word == "pong") return take_pong(rest, events);
  if (word == "source") return take_source(rest);
  if (word == "env") return take_env(rest);
  if (word == "note" && sample_.notes.size() < kMostRows) sample_.notes.emplace_back(trim(rest));
  return Ok{};  // lines of a newer sampler that we do not know
}

Status StreamParser::take_env(std::string_view rest) {
  std::string key(next_word(rest));
  if (key.empty()) return fail("an env line has no key");
  environment_bytes_ += key.size() + rest.size();
  if (environment_.size() < kMostEnvironment && environment_bytes_ <= kMostEnvironmentBytes)
    environment_[key] = trim(rest);
  return Ok{};
}

Status StreamParser::take_source(std::string_view rest) {
  int64_t number = 0;
  if (!next_number(rest, number) || number <= 0 || sources_.size() >= kMostSources || sources_.contains(number))
    return fail("a source line has a bad number");
  RemoteSource remote;
  remote.source = find_source(next_word(rest));
  for (std::string_view name = next_word(rest); !name.empty(); name = next_word(rest)) {
    int column = -1;
    for (size_t i = 0; remote.source && i < remote.source->columns.size(); ++i)
      if (remote.source->columns[i].name == name) column = static_cast<int>(i);
    remote.columns.push_back(column);
  }
  if (remote.columns.empty() || remote.columns.size() > kMostColumns)
    return fail("a source line has no columns, or too many");
  sources_[number] = std::move(remote);
  return Ok{};
}

Status StreamParser::take_key(std::string_view rest) {
  int64_t id = 0, number = 0;
  if (!next_number(rest, id) || !next_number(rest, number) || id != static_cast<int64_t>(key_sources_.size()) + 1 ||
      key_sources_.size() >= kMostKeys)
    return fail("a key line is out of order");
  auto found = sources_.find(number);
  if (found == sources_.end()) return fail(cat("a key belongs to source ", number, ", which was not announced"));
  const Source* source = found->second.source;
  std::string_view name = next_word(rest);
  if (name.empty()) return fail("a key has no name");
  if (source && source->key.empty()) return fail(cat("source ", source->name, " has no keys, but got one"));
  if (sample_.keys.size() >= kMostRows) return fail("too many keys in one sample");
  key_sources_.push_back(source);
  if (source) sample_.keys.push_back({static_cast<uint32_t>(id), source, std::string(name), std::string(trim(rest))});
  return Ok{};
}

Status StreamParser::take_row(std::string_view rest) {
  int64_t number = 0, key = 0;
  if (!next_number(rest, number) || !next_number(rest, key)) return fail("a row has no source or no key");
  auto found = sources_.find(number);
  if (found == sources_.end()) return fail(cat("a row belongs to source ", number, ", which was not announced"));
  const RemoteSource& remote = found->second;
  bool key_known = key == 0 || (key > 0 && key <= static_cast<int64_t>(key_sources_.size()) &&
                                key_sources_[static_cast<size_t>(key - 1)] == remote.source);
  if (!key_known) return fail(cat("a row has key ", key, ", which was not announced for it"));
  if (!remote.source) return Ok{};
  if ((key == 0) != remote.source->key.empty()) return fail(cat("a row of ", remote.source->name, " has key ", key));
  if (sample_.rows.size() >= kMostRows) return fail("too many rows in one sample");
  row_.assign(remote.source->columns.size(), kAbsent);
  for (int column : remote.columns) {
    std::string_view word = next_word(rest);
    auto value = word == "-" ? kAbsent : parse_int(word);
    if (!value) return fail(cat("a row of ", remote.source->name, " has a bad value '", printable(word), "'"));
    if (column >= 0) row_[static_cast<size_t>(column)] = *value;
  }
  if (!next_word(rest).empty()) return fail(cat("a row of ", remote.source->name, " has too many values"));
  sample_.add(*remote.source, static_cast<uint32_t>(key), row_);
  return Ok{};
}

Status StreamParser::take_end(std::string_view rest, std::vector<StreamEvent>& events) {
  int64_t* const numbers[] = {&sample_.t_ns, &sample_.mono_ns, &sample_.cost_ns, &sample_.skipped};
  for (int64_t* number : numbers)
    if (!next_number(rest, *number) || *number < 0) return fail("a sample has a bad end line");
  StreamEvent event;
  event.sample = std::move(sample_);
  events.push_back(std::move(event));
  sample_ = Sample{};
  return Ok{};
}

Status StreamParser::take_pong(std::string_view rest, std::vector<StreamEvent>& events) {
  StreamEvent event;
  event.kind = StreamEvent::Kind::pong;
  if (!next_number(rest, event.pong_number) || !next_number(rest, event.pong_wall_ns) || event.pong_number < 0 ||
      event.pong_wall_ns < 0)
    return fail("a bad pong line");
  events.push_back(std::move(event));
  return Ok{};
}

}  // namespace culprit
