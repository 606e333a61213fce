// What the detectors by system calls share: whether the data can carry a "healthy", and words for evidence.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyse/call_data.h"
#include "model/verdict.h"

namespace culprit {

// Losses, cut logs, missing logs: said in every verdict.
void note_gaps_in_data(const CallData& data, Verdict& verdict);
// Why "no sign of a fault" cannot be taken as "no fault": a server has no log or nothing in it, or more than
// 1 % of the events were lost. "" when it can.
std::string why_not_healthy(const CallData& data);

// Servers that can be compared with each other: they do I/O, and calls of theirs were seen.
size_t comparable_servers(const CallData& data);

int signal_of(int status);  // that ended a process, from its wait(2) status; 0: it exited by itself
// "killed by SIGKILL", "exited with 1".
std::string end_text(int status);
// The file system's daemons that ended; why a server's end counts: docs/hotdep09.md.
struct DaemonEnd {
  const NodeCalls* server = nullptr;
  ProcessEnd end;
};
struct DaemonEnds {
  std::vector<DaemonEnd> lonely;
  std::string together;  // why several ends at once are no crash and not healthy; "" without them, or when all stopped
};
DaemonEnds find_ends(const CallData& data, std::vector<std::string>& notes);
// "process 4711 was killed by SIGKILL at 2026-..."
std::string end_fact(const ProcessEnd& end);

std::string file_of(const std::string& path);  // its last component
std::string seconds_text(int64_t ns);          // "45.2 s"

}  // namespace culprit
