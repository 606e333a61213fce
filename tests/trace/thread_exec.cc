// exec by a thread that is not the first one: all others end, and it goes on under the first one's number.
#include <pthread.h>
#include <time.h>

#include "expect.h"

namespace {

char** words;

void* replace(void*) {
  timespec pause{0, 300'000'000};  // until the first thread waits
  trace::takes(300'000'000);
  CALL(nanosleep, &pause, nullptr);
  trace::tell();
  trace::raw(SYS_execve, trace::reg(words[0]), trace::reg(words), 0);
  trace::die("thread_exec: exec failed");
}

}  // namespace

int main(int argc, char** argv) {
  trace::begin(argc, argv);
  if (argc > 2) {
    CALL(getppid);
    CALL(close, 55);  // EBADF
    return trace::finish(6);
  }
  static char* again[] = {argv[0], argv[1], const_cast<char*>("again"), nullptr};
  words = again;
  pthread_t thread;
  if (pthread_create(&thread, nullptr, replace, nullptr) != 0) trace::die("thread_exec: there is no thread");
  LAST_CALL(pause);
}
