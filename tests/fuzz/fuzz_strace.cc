// The strace importer's core, and the way back: what it makes of any text must hold together and must survive being
// written as strace's text and read again.
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "calls/strace_args.h"
#include "calls/strace_export.h"
#include "calls/strace_import.h"
#include "calls/syscalls.h"

namespace {

using namespace culprit;

constexpr int64_t kReadableFrom =
    100'000'000'000'000'000;  // 1973: the importer takes less for times since the last line
constexpr int64_t kReadableUntil = 9'000'000'000'000'000'000;  // 2255: it takes more for no time at all

struct Got {
  std::vector<Call> calls;
  std::vector<FdRecord> fds;
  bool ok = false;
};

Got import_text(std::string_view text) {
  Got got;
  StraceSink sink;
  sink.call = [&](const Call& call) -> Status {
    got.calls.push_back(call);
    return Ok{};
  };
  sink.fd = [&](const FdRecord& record) -> Status {
    got.fds.push_back(record);
    return Ok{};
  };
  got.ok = import_strace_text(text, "fuzz", std::move(sink)).ok();
  return got;
}

void check(bool good) {
  if (!good) std::abort();
}

void check_records(const Got& got) {
  std::set<uint64_t> sequences;
  for (const Call& call : got.calls) {
    check(call.sequence > 0 && sequences.insert(call.sequence).second);
    check(call.start_ns >= 0 && call.duration_ns >= kUnfinished && call.end_ns() >= call.start_ns);
    check(call.number >= 0 && call.number < kMostSyscalls);
  }
  for (const FdRecord& record : got.fds) {
    check(record.name.size() <= kMostFdText + std::string_view(" (deleted)").size() && record.fd >= -1);
    check((record.kind == FdKind::path) == (record.fd == -1));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Got got = import_text({reinterpret_cast<const char*>(data), size});
  check_records(got);
  if (!got.ok || got.calls.empty()) return 0;
  FdMap fds(got.fds);
  StraceWriter writer(fds);
  std::string text;
  for (const Call& call : got.calls) {
    if (call.start_ns < kReadableFrom || call.end_ns() > kReadableUntil) return 0;
    writer.add(call, text);
  }
  writer.finish(text);
  Got again = import_text(text);
  check_records(again);
  check(again.ok && again.calls.size() >= got.calls.size());
  return 0;
}
