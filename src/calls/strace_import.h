// The text of `strace -f -ttt -T -yy` as calls and descriptors. Line by line with bounded state, because such files are
// large, and every byte is suspect: what can be read is read, the report says what could not.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "calls/call.h"
#include "calls/call_log.h"

namespace culprit {

constexpr size_t kMostStraceLine = 64 << 10;  // bytes; strace -s 32 stays far below, longer ones are skipped

struct StraceReport {
  int64_t lines = 0;
  int64_t calls = 0;       // unfinished ones included
  int64_t unfinished = 0;  // had not returned when their thread or the text ended
  int64_t signals = 0;
  int64_t ends = 0;
  int64_t fds = 0;
  int64_t skipped = 0;   // lines that are not understood
  int64_t first_ns = 0;  // time of the first and of the last event
  int64_t last_ns = 0;
  std::vector<std::string> notes;  // full sentences, for the user
};

struct StraceSink {
  std::function<Status(const Call& call)> call;
  std::function<Status(const FdRecord& record)> fd;  // comes before the call that shows it; its class is not set
};

class StraceImporter {
 public:
  // Threads that were there before a server was traced are taken for one process: what ends there is mostly a worker,
  // not a daemon. At a client each stays a process: applications and the daemon of the mount are traced together.
  StraceImporter(StraceSink sink, std::string name_for_errors, bool of_server = true);
  StraceImporter(StraceImporter&&) noexcept;
  StraceImporter& operator=(StraceImporter&&) noexcept;
  ~StraceImporter();

  // A line without its newline. An error when the sink has one, or when the text has no times.
  Status line(std::string_view text);
  // Hands over what had not returned. An error when there was no event at all.
  Result<StraceReport> finish();
  int64_t first_ns() const;  // time of the first event; 0 before it

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A whole text, for tests.
Result<StraceReport> import_strace_text(std::string_view text, const std::string& name_for_errors, StraceSink sink);

// A file (a pipe will do) into the logs stem.sclog and stem.fdlog. `header` says node, tool and surroundings, by which
// descriptors are classified; backend, start and what it was made from are set here.
Result<StraceReport> import_strace(const std::string& path, const std::string& stem, LogHeader header);

}  // namespace culprit
