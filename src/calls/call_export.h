// A log in the words of other tools: strace text, CSV, JSON lines, Perfetto. docs/formats/calls-export.md.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "calls/call_log.h"
#include "calls/call_text.h"
#include "calls/fd_map.h"

namespace culprit {

enum class CallFormat {
  text,      // a line per record, in the order of the log
  strace,    // as strace -f -ttt -T -yy would have written it: in order of start, calls that overlap in two halves
  csv,       // time_s,process,thread,kind,name,fd,class,target,bytes_asked,result,errno,duration_s
  jsonl,     // the same and sequence, number, args
  perfetto,  // protobuf, for ui.perfetto.dev
};
Result<CallFormat> parse_call_format(std::string_view name);
std::vector<std::string> call_format_names();

struct CallExportOptions {
  // Which records; empty: all. The target is what record_target() says, nullptr when that is not known.
  std::function<bool(const Call& call, const FdRecord* target)> keep;
  TextOptions text;  // for CallFormat::text
};

// Hands the text on in blocks. Returns how many records were written.
Result<int64_t> export_calls(CallLogReader& reader, CallFormat format,
                             const std::function<Status(std::string_view bytes)>& write,
                             const CallExportOptions& options = {});

}  // namespace culprit
