// The lines that culprit-node writes and the recorder reads; docs/formats/stream.md is the grammar.
// The reader trusts nothing: the bytes come from another machine.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/sample.h"

namespace culprit {

constexpr int kStreamVersion = 1;
constexpr size_t kMostLineBytes = 65536;  // longer lines are not ours

// Writer.
std::string format_stream_header(std::string_view version, const std::map<std::string, std::string>& environment);
void format_sample(const Sample& sample, std::string& out);  // appends
std::string format_pong(int64_t number, int64_t wall_ns);
std::string format_ping(int64_t number);
// The number of a "ping N" line; -1 for anything else.
int64_t parse_ping(std::string_view line);

struct StreamEvent {
  enum class Kind { sample, pong } kind = Kind::sample;
  Sample sample;
  int64_t pong_number = 0;
  int64_t pong_wall_ns = 0;
};

// Fed with whatever read() returned; hands out whole samples. After an error it stays in error.
class StreamParser {
 public:
  Status feed(std::string_view bytes, std::vector<StreamEvent>& events);
  // At the end of the stream: an error when it never began, or ended within a line or a sample.
  Status finish();

  bool began() const { return began_; }
  std::string preamble() const;                            // what came before the header, or instead of it; shortened
  const std::string& version() const { return version_; }  // of the culprit-node that writes
  const std::map<std::string, std::string>& environment() const { return environment_; }

 private:
  struct RemoteSource {
    const Source* source = nullptr;  // nullptr: a source this culprit does not know
    std::vector<int> columns;        // its column, or -1, for each column of the stream
  };

  Status fail(const std::string& what);
  Status take_line(std::string_view line, std::vector<StreamEvent>& events);
  Status take_preamble(std::string_view line);
  Status take_env(std::string_view rest);
  Status take_source(std::string_view rest);
  Status take_key(std::string_view rest);
  Status take_row(std::string_view rest);
  Status take_end(std::string_view rest, std::vector<StreamEvent>& events);
  Status take_pong(std::string_view rest, std::vector<StreamEvent>& events);

  bool began_ = false;
  bool failed_ = false;
  Error error_;
  std::string version_;
  std::string partial_;   // the beginning of a line
  std::string preamble_;  // the beginning of what came before the header
  size_t preamble_bytes_ = 0;
  std::map<std::string, std::string> environment_;
  size_t environment_bytes_ = 0;
  std::map<int64_t, RemoteSource> sources_;
  std::vector<const Source*> key_sources_;  // of key number i + 1
  Sample sample_;
  std::vector<int64_t> row_;
};

}  // namespace culprit
