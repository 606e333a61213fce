// The two logs of a node: NODE.sclog (calls, signals, ends, completions, sums; in order of completion) and NODE.fdlog
// (what descriptors are). docs/formats/sclog.md. Both are the same container of checksummed zstd blocks: what was
// flushed can be read after a kill -9, and a damaged block costs that block only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "calls/call.h"
#include "calls/fd_class.h"

namespace culprit {

class PathHasher;

constexpr int kCallLogVersion = 1;

// The first block of both files, as JSON.
struct LogHeader {
  int version = kCallLogVersion;
  std::string node;
  std::string backend;  // ebpf, ptrace, strace (imported), null
  std::string tool;     // "culprit 0.1.0"
  std::string machine = "x86_64";
  std::string kernel;         // uname -r
  std::string what;           // what was captured, for people: "glusterfsd 4711, 4712", "COMMAND: dd if=..."
  int64_t start_ns = 0;       // wall clock when the capture began
  std::string calls = "all";  // which calls were wanted, as --calls had it
  bool sums = false;          // aggregating mode: sums instead of calls
  bool hashed = false;        // path names are hashed
  Surroundings around;
};

// The last block of the sclog, as JSON; missing when the capture was killed.
struct LogEnd {
  int64_t end_ns = 0;
  int64_t calls = 0;
  int64_t fds = 0;
  std::vector<int64_t> lost;  // events that found the buffer full, per CPU
  int64_t unseen = 0;         // completions that nobody could record (docs/formats/sclog.md)
  std::string stopped;        // asked, time over, targets ended, size reached, disk full, error, imported
  std::vector<std::string> notes;

  int64_t all_lost() const;
};

enum class LogFile { calls, fds };

class CallLogWriter {
 public:
  // Where the bytes go: appended to a file, or sent to somebody who appends them.
  using Sink = std::function<Status(LogFile file, std::string_view bytes)>;

  CallLogWriter(Sink sink, LogHeader header);
  // Files stem.sclog and stem.fdlog, which must not exist.
  static Result<CallLogWriter> create(const std::string& stem, LogHeader header);
  CallLogWriter(CallLogWriter&&) noexcept;
  CallLogWriter& operator=(CallLogWriter&&) noexcept;
  ~CallLogWriter();

  // A full block is written at once; the rest waits for flush().
  Status add(const Call& call);
  Status add(const FdRecord& record);
  Status add(const CallSum& sum);
  Status flush();
  Status close(LogEnd end);  // flushes; `calls` and `fds` are counted here. Nothing may be added after it
  int64_t calls() const;     // so far
  int64_t fds() const;
  int64_t bytes() const;  // written, both files

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Reads a sclog and the fdlog beside it. Every byte is suspect; what can be read is read, notes() says what could not.
class CallLogReader {
 public:
  // `path` is NODE.sclog or its stem. An error when there is not even a header; a missing fdlog is a note.
  static Result<CallLogReader> open(const std::string& path);
  // From bytes, for tests and fuzzing; `name` is for messages.
  static Result<CallLogReader> from_bytes(std::string sclog, std::string fdlog, const std::string& name);
  CallLogReader(CallLogReader&&) noexcept;
  CallLogReader& operator=(CallLogReader&&) noexcept;
  ~CallLogReader();

  const LogHeader& header() const;
  const std::optional<LogEnd>& end() const;  // nullopt: the capture was killed, or the end is damaged
  const std::vector<FdRecord>& fds() const;
  const std::vector<std::string>& notes() const;  // complete after each_call

  // Calls in the order of completion, a block in memory at a time. `fn` returns false to stop early.
  Status each_call(const std::function<bool(const Call&)>& fn);
  Status each_sum(const std::function<bool(const CallSum&)>& fn);
  int64_t bytes() const;  // of both files
  // For sharing: from now on names of files are hashed, and what was captured is not told (a command's words may be
  // paths).
  void hash_paths(const PathHasher& hasher);

 private:
  struct State;
  explicit CallLogReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The logs of a run: RUN/syscalls/NODE.sclog -> the nodes' names, sorted. Empty when it has none.
std::vector<std::string> logged_nodes(const std::string& run_directory);
std::string log_stem(const std::string& run_directory, const std::string& node);  // RUN/syscalls/NODE

}  // namespace culprit
