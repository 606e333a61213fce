// Did an error of a server reach an application? The same errno near it is the paper's rule. Past it: another errno, or
// a call that did not return, on a file of the same name; and, because many file systems give their pieces names of
// their own, another errno that nobody expects near it, on whatever file.
#pragma once

#include <cstdint>
#include <string>

#include "analyse/call_data.h"
#include "analyse/call_errors.h"

namespace culprit {

enum class Reached { nobody, near_in_time, stalled, other_errno, same_errno };  // the later the surer

struct ClientTrace {
  Reached reached = Reached::nobody;
  std::string client;
  std::string call;
  std::string name;  // the file as the application named it; may be empty
  int error = 0;
  int64_t t_ns = 0;       // when the application had it
  int64_t lasted_ns = 0;  // of a stall
};

struct ReachOptions {
  int64_t window_ns = 0;
  int64_t stall_ns = 0;
};

ClientTrace trace_to_clients(const ErrorKey& key, const ErrorCount& error, const CallData& data,
                             const ExpectedErrors& expected, const ReachOptions& options);
// "c1's write on /mnt/f got EPERM at ..."; "" for nobody.
std::string trace_text(const ClientTrace& trace);

}  // namespace culprit
