// Calls at a known pace, for the benchmarks:
//   traced_load loop COUNT FILE        1-byte preads as fast as it can; prints ns per call
//   traced_load paced THREADS RATE SECONDS FILE
//                                      RATE preads a second from all threads together; prints how many were made
//   traced_load ticks COUNTERS FILE    a pread each millisecond until it is killed; the longest gap is in COUNTERS
#include <pthread.h>
#include <time.h>

#include <cstdlib>

#include "expect.h"

namespace {

constexpr long kNsPerSecond = 1'000'000'000;
constexpr long kTickNs = 1'000'000;

long now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);  // by the vDSO: no call
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

void sleep_until(long ns) {
  timespec until{ns / kNsPerSecond, ns % kNsPerSecond};
  trace::raw(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, trace::reg(&until), 0);
}

long open_file(const char* path) {
  long fd = trace::raw(SYS_openat, AT_FDCWD, trace::reg(path), O_RDWR | O_CREAT, 0600);
  if (fd < 0 || trace::raw(SYS_pwrite64, fd, trace::reg("x"), 1, 0) != 1)
    trace::die("traced_load: the file cannot be written");
  return fd;
}

long number(const char* text) {
  char* end = nullptr;
  long value = strtol(text, &end, 10);
  if (*end != '\0' || value < 1) trace::die("traced_load: a number above 0 is needed");
  return value;
}

void read_one(long fd) {
  char byte;
  if (trace::raw(SYS_pread64, fd, trace::reg(&byte), 1, 0) != 1) trace::die("traced_load: a read failed");
}

int loop(char** words) {
  long count = number(words[0]), fd = open_file(words[1]);
  for (long i = 0; i < count / 10; ++i) read_one(fd);  // caches are warm after that
  long start = now_ns();
  for (long i = 0; i < count; ++i) read_one(fd);
  printf("%.1f\n", static_cast<double>(now_ns() - start) / static_cast<double>(count));
  return 0;
}

struct Paced {
  long fd = -1;
  long per_tick = 0;
  long ticks = 0;
  long late = 0;
};

void* pace(void* argument) {
  Paced& paced = *static_cast<Paced*>(argument);
  long due = now_ns();
  for (long tick = 0; tick < paced.ticks; ++tick) {
    for (long i = 0; i < paced.per_tick; ++i) read_one(paced.fd);
    due += kTickNs;
    if (now_ns() > due) ++paced.late;
    sleep_until(due);
  }
  return nullptr;
}

int paced(char** words) {
  long threads = number(words[0]), rate = number(words[1]), seconds = number(words[2]), fd = open_file(words[3]);
  if (threads > 64) trace::die("traced_load: at most 64 threads");
  pthread_t handles[64];
  Paced each[64];
  long start = now_ns(), late = 0;
  for (long i = 0; i < threads; ++i) {
    each[i] = {fd, rate / threads / 1000, seconds * 1000};
    if (pthread_create(&handles[i], nullptr, pace, &each[i]) != 0) trace::die("traced_load: there is no thread");
  }
  for (long i = 0; i < threads; ++i) {
    pthread_join(handles[i], nullptr);
    late += each[i].late;
  }
  double took = static_cast<double>(now_ns() - start) / static_cast<double>(kNsPerSecond);
  printf("%ld calls %.3f s %ld ticks late\n", threads * each[0].per_tick * each[0].ticks, took, late);
  return 0;
}

struct Ticks {
  std::atomic<long> count, longest_ns;  // the reader sets the second to 0 to begin anew
};

int ticks(char** words) {
  long at_file = open_file(words[0]), fd = open_file(words[1]);
  if (trace::raw(SYS_ftruncate, at_file, sizeof(Ticks)) != 0) trace::die("traced_load: the counters cannot be made");
  long at = trace::raw(SYS_mmap, 0, sizeof(Ticks), PROT_READ | PROT_WRITE, MAP_SHARED, at_file, 0);
  if (at < 0 && at > -4096) trace::die("traced_load: the counters cannot be mapped");
  Ticks& shown = *reinterpret_cast<Ticks*>(at);
  shown.count = 0;
  shown.longest_ns = 0;
  long last = now_ns();
  for (long due = last;; ++shown.count) {
    due += kTickNs;
    if (due < last) due = last;  // after a gap it does not hurry: that would hide the next one
    sleep_until(due);
    read_one(fd);
    long now = now_ns();
    if (now - last > shown.longest_ns) shown.longest_ns = now - last;
    last = now;
  }
}

struct Mode {
  const char* name;
  int words;
  int (*run)(char** words);
};
constexpr Mode kModes[] = {{"loop", 2, loop}, {"paced", 4, paced}, {"ticks", 2, ticks}};

}  // namespace

int main(int argc, char** argv) {
  for (const Mode& mode : kModes)
    if (argc == mode.words + 2 && strcmp(argv[1], mode.name) == 0) return mode.run(argv + 2);
  trace::die("usage: traced_load loop COUNT FILE | paced THREADS RATE SECONDS FILE | ticks COUNTERS FILE");
}
