// Events of a capture into the logs of a run: one pair of logs per node, descriptors classified, flushed twice a
// second.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "calls/call_log.h"
#include "capture/backend.h"

namespace culprit {

struct RecorderOptions {
  CaptureOptions capture;
  std::string call_set = "all";  // what capture.calls is called, for the header
  std::string backend;           // a name of the table
  int64_t for_ns = 0;            // 0: until asked to stop or every target has ended
  int64_t max_bytes = 0;         // of all logs; 0: no limit
  std::string hash_key;          // "": path names as they are; else hashed (calls/path_hash.h)
  std::string tool;
  std::vector<std::string> what;  // per node, for the header
  std::function<bool()> stop;
  // The sink of a node's logs. For a run: files in RUN/syscalls; for a stream: frames on stdout.
  std::function<Result<CallLogWriter>(size_t node, LogHeader header)> open_log;
  // Twice a second: calls so far, lost so far. May be empty.
  std::function<void(int64_t calls, int64_t lost)> progress;
  // When the disk is full, before the ends are written: gives back what was set aside for them. May be empty.
  std::function<void()> make_room;
  // Once, after the probes are in place and before anything is waited for. May be empty.
  std::function<void()> began;
};

struct RecorderOutcome {
  std::vector<LogEnd> ends;  // per node; `lost` is of the buffer that all nodes share, so it is the same in each
  std::vector<int64_t> bytes;
  std::string stopped;  // asked, time over, targets ended, size reached, disk full
  int command_status = -1;
  int64_t duration_ns = 0;
};

Result<RecorderOutcome> record_calls(const RecorderOptions& options);
// With a backend of the caller's, which has not been started.
Result<RecorderOutcome> record_calls(const RecorderOptions& options, Backend& backend);

}  // namespace culprit
