#include "calls/strace_export.h"

#include <limits>

#include "base/text.h"
#include "calls/call_text.h"

namespace culprit {

bool StraceWriter::add(const Call& call, std::string& out) {
  if (call.kind == CallKind::aio || call.kind == CallKind::uring) return false;
  waiting_.push(call);
  if (waiting_.size() > kStraceWindow) write_first(out);
  return true;
}

void StraceWriter::finish(std::string& out) {
  while (!waiting_.empty()) write_first(out);
  resume_until(std::numeric_limits<int64_t>::max(), out);
}

// Whether something else is to be written before its end.
bool StraceWriter::is_overtaken(const Call& call) const {
  if (call.kind != CallKind::call || !call.finished() || open_.size() >= kStraceWindow) return false;
  return (!waiting_.empty() && waiting_.top().start_ns < call.end_ns()) ||
         (!open_.empty() && open_.top().end_ns() < call.end_ns());
}

void StraceWriter::write_first(std::string& out) {
  Call call = waiting_.top();
  waiting_.pop();
  resume_until(call.start_ns, out);
  TextHalves halves = call_halves(call, fds_);
  if (is_overtaken(call)) {
    out += cat(halves.head, " <unfinished ...>\n");
    open_.push(call);
  } else {
    out += cat(halves.head, halves.tail, "\n");
  }
}

void StraceWriter::resume_until(int64_t t_ns, std::string& out) {
  for (; !open_.empty() && open_.top().end_ns() <= t_ns; open_.pop()) {
    const Call& call = open_.top();
    out += cat(line_start(call.end_ns(), call.thread, {}), "<... ", record_name(call), " resumed>",
               call_halves(call, fds_).tail, "\n");
  }
}

}  // namespace culprit
