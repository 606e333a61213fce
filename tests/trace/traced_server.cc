// Something like a file server, to attach to: two threads read and write a file each, two talk over a socket pair. It
// goes on until it is killed. Four counters of rounds and one of calls that failed are in a file that is mapped, so
// that a test sees them without asking: traced_server COUNTERS FOLDER
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>

#include "expect.h"

namespace {

constexpr size_t kWorkers = 4;
constexpr unsigned long kBlocks = 256;  // of a file, so that it stays small
constexpr long kPauseNs = 500'000;      // some thousand calls a second are enough, and leave the machine to others

struct Counters {
  std::atomic<unsigned long> rounds[kWorkers];
  std::atomic<unsigned long> failed;
};
Counters* counters;
const char* folder;
int pair[2];

// An attach or detach that disturbs a call shows as an error that nobody else could have caused.
void must(long result, long expected) {
  if (result != expected) ++counters->failed;
}

void pause_a_little() {
  timespec pause{0, kPauseNs};
  must(trace::raw(SYS_nanosleep, trace::reg(&pause), 0), 0);
}

void* serve_file(void* argument) {
  size_t number = reinterpret_cast<size_t>(argument);
  char path[4096], block[4096] = {};
  snprintf(path, sizeof path, "%s/brick%zu", folder, number);
  long fd = trace::raw(SYS_openat, AT_FDCWD, trace::reg(path), O_RDWR | O_CREAT, 0600);
  if (fd < 0) trace::die("traced_server: no file can be made there");
  for (;; ++counters->rounds[number]) {
    long offset = static_cast<long>(counters->rounds[number] % kBlocks) * 4096;
    must(trace::raw(SYS_pwrite64, fd, trace::reg(block), sizeof block, offset), sizeof block);
    must(trace::raw(SYS_pread64, fd, trace::reg(block), sizeof block, offset), sizeof block);
    pause_a_little();
  }
}

void* ask(void* argument) {
  size_t number = reinterpret_cast<size_t>(argument);
  char text[64] = {};
  for (;; ++counters->rounds[number]) {
    must(trace::raw(SYS_sendto, pair[0], trace::reg(text), sizeof text, 0, 0, 0), sizeof text);
    must(trace::raw(SYS_recvfrom, pair[0], trace::reg(text), sizeof text, MSG_WAITALL, 0, 0), sizeof text);
    pause_a_little();
  }
}

void* reply(void* argument) {
  size_t number = reinterpret_cast<size_t>(argument);
  char text[64] = {};
  for (;; ++counters->rounds[number]) {
    must(trace::raw(SYS_read, pair[1], trace::reg(text), sizeof text), sizeof text);
    must(trace::raw(SYS_write, pair[1], trace::reg(text), sizeof text), sizeof text);
  }
}

void map_counters(const char* path) {
  long fd = trace::raw(SYS_openat, AT_FDCWD, trace::reg(path), O_RDWR | O_CREAT, 0600);
  if (fd < 0 || trace::raw(SYS_ftruncate, fd, sizeof(Counters)) != 0)
    trace::die("traced_server: no file for the counters");
  long at = trace::raw(SYS_mmap, 0, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at < 0 && at > -4096) trace::die("traced_server: the counters cannot be mapped");
  counters = reinterpret_cast<Counters*>(at);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) trace::die("usage: traced_server COUNTERS FOLDER");
  folder = argv[2];
  map_counters(argv[1]);
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) trace::die("traced_server: there is no socket pair");
  void* (*const workers[kWorkers])(void*) = {serve_file, serve_file, ask, reply};
  pthread_t threads[kWorkers];
  for (size_t i = 0; i < kWorkers; ++i)
    if (pthread_create(&threads[i], nullptr, workers[i], reinterpret_cast<void*>(i)) != 0)
      trace::die("traced_server: there is no thread");
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  return 0;
}
