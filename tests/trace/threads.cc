// Eight threads that each do another number of calls on a file of their own: nothing may be lost or given to the wrong
// one.
#include <pthread.h>

#include <array>

#include "expect.h"

namespace {

constexpr size_t kThreads = 8;
constexpr long kRounds = 25;  // thread k does k + 1 times as many

char names[kThreads][24];  // more than one letter and a digit only for the compiler's peace

long files[kThreads];  // opened before the threads are there: who is first would decide their numbers

void* work(void* argument) {
  const char* name = static_cast<const char*>(argument);
  long own = name[1] - '0' + 1;
  char text[16] = {};
  long fd = files[own - 1];
  for (long i = 0; i < own * kRounds; ++i) {
    trace::on(name), trace::asks(own);
    CALL(pwrite64, fd, text, own, i * own);
    trace::on(name), trace::asks(16);
    CALL(pread64, fd, text, sizeof text, i * own);
  }
  CALL(close, fd);
  trace::note_count(trace::thread_id(), "pwrite64", own * kRounds);
  trace::note_count(trace::thread_id(), "pread64", own * kRounds);
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  trace::begin(argc, argv);
  std::array<pthread_t, kThreads> threads;
  for (size_t i = 0; i < kThreads; ++i) {
    snprintf(names[i], sizeof names[i], "t%zu", i);
    files[i] = CALL(openat, AT_FDCWD, names[i], O_RDWR | O_CREAT, 0600);
  }
  for (size_t i = 0; i < kThreads; ++i) {
    if (pthread_create(&threads[i], nullptr, work, names[i]) != 0) trace::die("threads: there is no thread");
  }
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  return trace::finish();
}
