// A process that holds memory on the server, every page of it touched again and again. More than the machine can spare
// is refused: the kernel would kill somebody, and it need not be the hog.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/fd.h"
#include "base/procfile.h"
#include "base/text.h"
#include "base/units.h"
#include "inject/fault.h"
#include "inject/hog.h"

namespace culprit {

namespace {

constexpr int64_t kLeastReserve = int64_t{256} << 20;  // what the rest of the machine keeps, at least
constexpr int64_t kReserveParts = 20;                  // a twentieth of all memory
constexpr int64_t kFillLimitMs = 30'000;
constexpr int64_t kMost = int64_t{1} << 50;

// The line "MemAvailable:   123 kB" in bytes; 0 when there is none.
int64_t meminfo(std::string_view text, std::string_view name) {
  std::string_view line;
  while (next_line(text, line)) {
    int64_t kib = 0;
    if (next_word(line) == name && next_number(line, kib)) return kib * 1024;
  }
  return 0;
}

Status prepare(FaultWork& work) {
  ASSIGN_OR_RETURN(int64_t bytes, bytes_param(work.part, "bytes", 4096, kMost));
  ASSIGN_OR_RETURN(std::string text, read_file(work.proc + "/meminfo"));
  int64_t available = meminfo(text, "MemAvailable:");
  int64_t reserve = std::max(kLeastReserve, meminfo(text, "MemTotal:") / kReserveParts);
  if (bytes <= available - reserve) return Ok{};
  return input_error(cat("memory_hog: ", format_bytes(bytes), " are too much for ", work.part.node, ": ",
                         format_bytes(available), " are available, and ", format_bytes(reserve), " stay free"),
                     "ask for less with --param bytes=SIZE");
}

// Offers itself first when memory runs out; then touches all of it, says so, and goes on touching.
void hold(int64_t bytes, int ready) {
  if (Fd score(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC)); score.valid())
    static_cast<void>(write_all(score.get(), "1000", "oom_score_adj"));
  void* memory =
      ::mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  auto* pages = static_cast<volatile char*>(memory);
  for (int round = 0;; ++round) {
    for (int64_t at = 0; at < bytes; at += 4096) pages[at] = static_cast<char>(round + 1);
    if (round == 0) static_cast<void>(write_all(ready, "r", "the guard"));
    ::sleep(1);
  }
}

Status apply(FaultWork& work) {
  ASSIGN_OR_RETURN(int64_t bytes, bytes_param(work.part, "bytes", 4096, kMost));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe", errno);
  Fd read_end(ends[0]), write_end(ends[1]);
  int ready = write_end.get();
  RETURN_IF_ERROR(start_hog(
      work, [=] { hold(bytes, ready); }, ready));
  write_end.reset();
  pollfd wait{read_end.get(), POLLIN, 0};
  char byte = 0;
  if (::poll(&wait, 1, kFillLimitMs) == 1 && ::read(read_end.get(), &byte, 1) == 1) return Ok{};
  return system_error(cat("memory_hog could not fill ", format_bytes(bytes)), 0, "ask for less");
}

}  // namespace

extern const FaultInfo fault_memory_hog;
const FaultInfo fault_memory_hog = {
    .name = "memory_hog",
    .summary = "a process that holds memory on the server",
    .params = {{"bytes", "BYTES", "256MB", "how much; refused when the machine cannot spare it"}},
    .prepare = prepare,
    .apply = apply,
    .undo = kill_hogs,
    .active = hogs_alive,
};

}  // namespace culprit
