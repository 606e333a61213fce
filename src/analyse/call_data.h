// A run's system calls as detectors need them. They are reduced while the logs stream by, because a busy minute of one
// server is millions of calls: what is left is sums per second, pairs of call and errno with a few examples, and what
// was long, last or the end of something. docs/hotdep09.md.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "calls/call.h"
#include "store/run_reader.h"

namespace culprit {

// The paper's four times (HotDep'09, section 4).
enum class CallTime : uint8_t { dread, dwrite, nsread, ncread };
constexpr size_t kCallTimes = 4;
std::string_view name_of(CallTime time);

struct TimeSum {
  uint64_t count = 0;
  double sum_ns = 0;

  double mean_ms() const;
};
using SecondSums = std::map<int64_t, TimeSum>;  // the second since 1970 in which it ended

struct ErrorKey {
  std::string call;  // "openat", "aio_pwrite", "uring_read"
  int error = 0;
  bool socket = false;  // on a socket, or about one

  auto operator<=>(const ErrorKey&) const = default;
};

// The first and the last time within one second: enough to tell what was near what.
struct ErrorMoment {
  int64_t first_ns = 0;
  int64_t last_ns = 0;
};

struct ErrorExample {
  int64_t t_ns = 0;
  std::string name;  // the path it failed on, or what its descriptor was; "" when unknown
  FdClass fd_class = FdClass::other;
  int32_t thread = 0;
};

struct ErrorCount {
  uint64_t count = 0;
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  std::vector<ErrorMoment> moments;    // by time, a limited number
  std::vector<ErrorExample> examples;  // the first ones; none from sums
};

// A stretch in which a process completed no call.
struct CallGap {
  int32_t process = 0;
  int64_t from_ns = 0;
  int64_t until_ns = 0;
};

struct ProcessEnd {
  int64_t t_ns = 0;
  int32_t process = 0;
  int status = 0;        // as wait(2) has it
  bool serving = false;  // it had storage or a client's socket; one that began during the capture has used it, too
  bool there = false;    // it was running when the capture began
};

struct SignalSeen {
  int64_t t_ns = 0;
  int32_t process = 0;
  int number = 0;
  int64_t sender = 0;  // 0: the kernel
};

// An application's call on a file, at a client.
struct AppCall {
  std::string call;
  std::string name;  // the file's path; "" when unknown
  int64_t start_ns = 0;
  int64_t end_ns = 0;  // of an unfinished one: the log's end
  bool finished = true;
  int error = 0;
  int32_t thread = 0;
};

// A request without an answer: from the first write after the last read until the next read, an error of the
// connection, the end of the process or of the log. Who closes a connection and asks again still waits.
struct LinkWait {
  int64_t from_ns = 0;
  int64_t until_ns = 0;
  bool answered = false;
};

// A client's connections to one port of a server.
struct ClientLink {
  std::string server;
  std::string endpoint;
  int64_t last_ns = 0;  // of the last completed call that moved data
  bool last_was_read = false;
  std::vector<LinkWait> waits;  // the notable ones, by time
};

struct LinkRefusal {
  uint64_t count = 0;
  int64_t first_ns = 0;
  int64_t last_ns = 0;
};

struct NodeCalls {
  std::string name;
  bool server = true;
  bool does_io = true;         // of a server: it has the role io, or no role is given
  bool sums = false;           // aggregated: no single calls
  std::string wanted = "all";  // which calls were captured
  bool cut = false;            // the log has no end: the capture was killed, or the end is damaged
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t calls = 0;
  std::vector<int64_t> lost;  // per CPU
  int64_t unseen = 0;         // completions of AIO and io_uring that nobody could record
  std::vector<std::string> notes;
  // Of a server its failed calls, of a client those of applications on files.
  std::map<ErrorKey, ErrorCount> errors;

  // Servers.
  bool serves = false;  // a process had storage or a client's socket; without, nobody's silence tells anything
  size_t serving = 0;   // such processes that were alive at the end
  std::array<SecondSums, kCallTimes> times;  // ncread: measured at the clients
  uint64_t startup_errors = 0;               // of processes that had just begun: loaders look for files in vain
  std::vector<ProcessEnd> ends;
  std::vector<SignalSeen> signals;  // those that stop or may kill
  std::vector<CallGap> gaps;        // the notable ones of processes that serve

  // Clients.
  bool applications = false;    // somebody else than the mount's daemon used files
  std::vector<AppCall> failed;  // answers and "not now" left out: they are no failures
  std::vector<AppCall> slow;    // the notable ones and those that never returned
  std::vector<ClientLink> links;
  int64_t forgotten_wait_ns = 0;                               // the longest of those for which there was no room
  std::map<std::string, std::map<int, LinkRefusal>> refusals;  // server -> errno (0: it closed the connection)
  std::map<std::string, SecondSums> reads_from;                // server -> ncread

  int64_t all_lost() const;
};

struct CallData {
  std::string run;
  std::string origin;
  bool partial = false;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  std::vector<NodeCalls> servers;  // by name
  std::vector<NodeCalls> clients;
  std::vector<std::string> unlogged;  // servers of the cluster without a readable log
  std::vector<std::string> notes;

  const NodeCalls* server(std::string_view name) const;
  bool watched_applications() const;  // at any client
  size_t server_count() const { return servers.size() + unlogged.size(); }
};

struct CallOptions {
  std::vector<std::string> exclude;  // servers
  std::string since;                 // time, or +duration from the capture's start; "" is the start
  std::string until;
};

bool has_calls(const RunReader& run);
Result<CallData> load_call_data(const RunReader& run, const CallOptions& options);

// Puts reduced logs together: who is a server, whose log is missing, clients' reads to the servers they came from.
// `nodes` are the cluster's; a log whose node is not among them is taken by its own word.
CallData join_nodes(std::vector<NodeCalls> logs, const std::vector<Node>& nodes);

}  // namespace culprit
