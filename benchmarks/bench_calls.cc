// How fast are the logs of system calls written and read, and how large is an event? The calls are like those of a busy
// brick: sixteen threads read and write files in pieces and answer on sockets. `bytes` is per event, the fdlog
// included.
#include <benchmark/benchmark.h>
#include <sys/syscall.h>

#include <cstdlib>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "calls/call_log.h"

namespace culprit {

namespace {

constexpr int kCalls = 1 << 18;
constexpr int kThreads = 16;
constexpr int kFiles = 64;

struct Step {
  int32_t number;
  int64_t bytes;
};
constexpr Step kSteps[] = {{SYS_epoll_wait, 1}, {SYS_readv, 116},     {SYS_readv, 65536}, {SYS_pwrite64, 65536},
                           {SYS_futex, 0},      {SYS_pread64, 65536}, {SYS_writev, 180}};

std::vector<Call> brick_calls() {
  std::mt19937_64 chance(7);
  std::vector<Call> calls(kCalls);
  std::vector<int64_t> end(kThreads, 1'700'000'000'000'000'000);
  std::vector<uint64_t> step(kThreads), offset(kThreads);
  for (int i = 0; i < kCalls; ++i) {
    size_t thread = chance() % kThreads;
    const Step& now = kSteps[step[thread]++ % std::size(kSteps)];
    Call& call = calls[static_cast<size_t>(i)];
    call.sequence = static_cast<uint64_t>(i + 1);
    call.start_ns = end[thread] + 500 + static_cast<int64_t>(chance() % 4000);
    call.duration_ns = 1000 + static_cast<int64_t>(chance() % 60000);
    end[thread] = call.end_ns();
    call.process = 4711;
    call.thread = 4711 + static_cast<int32_t>(thread);
    call.number = now.number;
    call.args = {10 + chance() % kFiles,
                 0x7f0000000000 + thread * 0x800000,
                 static_cast<uint64_t>(now.bytes),
                 offset[thread] += static_cast<uint64_t>(now.bytes),
                 0,
                 0};
    call.result = now.bytes;
  }
  return calls;
}

std::vector<FdRecord> brick_files() {
  std::vector<FdRecord> records(kFiles);
  for (size_t i = 0; i < records.size(); ++i) {
    records[i].process = 4711;
    records[i].fd = 10 + static_cast<int32_t>(i);
    records[i].name = "/mnt/disk/brick/.glusterfs/00/" + std::to_string(i);
  }
  return records;
}

struct Logs {
  std::string calls, fds;
};

// Stops the program: a benchmark of a writer that fails measures nothing.
void must(const Status& status) {
  if (!status) std::abort();
}

Logs write_logs(const std::vector<Call>& calls, const std::vector<FdRecord>& records) {
  Logs logs;
  auto sink = [&logs](LogFile file, std::string_view bytes) -> Status {
    (file == LogFile::calls ? logs.calls : logs.fds) += bytes;
    return Ok{};
  };
  LogHeader header;
  header.node = "s1";
  header.backend = "null";
  CallLogWriter writer(sink, header);
  for (const FdRecord& record : records) must(writer.add(record));
  for (const Call& call : calls) must(writer.add(call));
  must(writer.close({}));
  return logs;
}

void write_calls(benchmark::State& state) {
  std::vector<Call> calls = brick_calls();
  std::vector<FdRecord> records = brick_files();
  size_t bytes = 0;
  for (auto _ : state) {
    Logs logs = write_logs(calls, records);
    bytes = logs.calls.size() + logs.fds.size();
    benchmark::DoNotOptimize(logs);
  }
  state.SetItemsProcessed(state.iterations() * kCalls);
  state.counters["bytes"] = static_cast<double>(bytes) / kCalls;
}
BENCHMARK(write_calls)->Unit(benchmark::kMillisecond);

void read_calls(benchmark::State& state) {
  Logs logs = write_logs(brick_calls(), brick_files());
  for (auto _ : state) {
    auto reader = CallLogReader::from_bytes(logs.calls, logs.fds, "benchmark");
    if (!reader) std::abort();
    int64_t sum = 0;
    must(reader->each_call([&sum](const Call& call) {
      sum += call.result;
      return true;
    }));
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * kCalls);
}
BENCHMARK(read_calls)->Unit(benchmark::kMillisecond);

}  // namespace

}  // namespace culprit

BENCHMARK_MAIN();
