// One capture from its begin to its end: this machine's and a lab's nodes in this thread, nodes behind ssh in theirs,
// and the run that all of it goes into.
#pragma once

#include <string>
#include <vector>

#include "capture/backend.h"
#include "cli/syscap/nodes.h"
#include "cli/syscap/remote.h"

namespace culprit {

struct SyscapPlan {
  SyscapTargets targets;
  std::string out;
  std::string source;     // for the manifest
  std::string backend;    // of this machine; "" when only others are captured
  std::string asked_for;  // the backend that the user named; "": the best one everywhere
  std::string call_set;   // as the user wrote it
  CallSet calls;
  bool sums = false;
  int64_t buffer_bytes = 0;
  int64_t for_ns = 0;     // 0: until it is stopped or every target has ended
  int64_t max_bytes = 0;  // 0: no limit
  std::string hash_key;
  bool quiet = false;
};

struct SyscapNode {
  std::string name;
  std::string backend;
  int64_t calls = 0;
  int64_t fds = -1;  // -1: not known here
  int64_t lost = 0;
  int64_t unseen = -1;
  int64_t bytes = 0;
  std::vector<std::string> notes;
  Error failure;  // empty `what`: none
};

struct SyscapOutcome {
  std::string run_path;
  bool joined = false;  // it went into a run that is being recorded
  std::string stopped;
  int64_t duration_ns = 0;
  int command_status = -1;  // as wait(2) has it; -1: there was none, or it still runs
  int64_t lost = 0;
  std::vector<SyscapNode> nodes;
  std::vector<std::string> notes;  // that concern no single node
  Error failure;                   // what ended it early; empty `what`: nothing
};

// What the user should know, each once: nodes of one machine often have the same to say.
std::vector<std::string> all_notes(const SyscapOutcome& outcome);

// Runs until SIGINT, SIGTERM or SIGHUP, the time, the size, the disk or the end of every target ends it. An error means
// that nothing was captured, and then no run is left.
Result<SyscapOutcome> capture_run(const SyscapPlan& plan);

}  // namespace culprit
