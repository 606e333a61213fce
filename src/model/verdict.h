// The answer, with what it rests on. Text, JSON and page are renderings of this.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace culprit {

// One metric of the accused server against its peers, over the windows in which it was anomalous.
struct Evidence {
  std::string metric;
  std::string unit;
  bool indicting = false;  // it convicted; the others corroborate
  double value = 0;        // the server's mean
  double peers_low = 0;    // the lowest, median and highest mean of the other servers
  double peers_median = 0;
  double peers_high = 0;
  int windows = 0;  // anomalous ones
  int windows_judged = 0;
  double distance = 0;  // the largest that more than half of the peers exceeded; cwnd: the lowest share of the median
  double threshold = 0;
  int peers = 0;          // how many of the others had a value
  bool per_tick = false;  // `windows` counts ticks
};

// A call of the accused server that failed unexpectedly.
struct FailedCall {
  std::string call;
  std::string error;  // "ENOSPC"
  uint64_t count = 0;
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  std::vector<std::string> paths;  // the first different ones
  std::string told;                // what an application got of it; "": nothing that is known
};

struct Accusation {
  std::string server;
  std::string resource;  // disk, network; by system calls also memory, descriptors, process
  std::string cause;     // disk-hog, disk-busy, network-hog, packet-loss; docs/formats/verdict.md has them all
  int step = 0;          // of the checklist that decided; 0: the detector has none
  std::string why;       // the step in words
  int64_t onset_from_ns = 0;
  int64_t onset_until_ns = 0;
  int64_t end_ns = 0;    // 0: it lasted until the data ended
  int64_t known_ns = 0;  // when somebody who watched would have known: the first moment at which it was flagged
  double confidence =
      0;  // share of the judged windows (ticks) in which the deciding metric was anomalous; not a probability
  std::vector<Evidence> evidence;
  // Evidence that is no metric: sentences without a full stop, the deciding one first.
  std::vector<std::string> facts = {};
  std::vector<FailedCall> failed_calls = {};  // what the facts say of them, for programs
};

struct NotJudged {
  std::string server;  // "*": every server
  std::string metric;  // "*": every metric
  std::string reason;
};

enum class Answer { healthy, culprit, undecided };

struct Verdict {
  Answer answer = Answer::undecided;
  std::string reason;  // one sentence
  std::string detector;
  std::vector<Accusation> culprits;
  std::vector<std::string> notes;
  std::vector<NotJudged> not_judged;
  std::vector<std::string> servers;
  int64_t from_ns = 0;
  int64_t until_ns = 0;
  int64_t interval_ns = 0;
  int64_t ticks = 0;
  std::string run;
  std::string origin;  // recorded, imported, simulated
  bool partial = false;
};

}  // namespace culprit
