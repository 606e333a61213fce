// How long a command takes, told from inside a capture: what the tracer needs to start and to end does not count.
//   traced_timer FILE COMMAND...     writes nanoseconds into FILE; its exit code is the command's
#include <sys/wait.h>
#include <time.h>

#include "expect.h"

namespace {

long now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) trace::die("usage: traced_timer FILE COMMAND...");
  long start = now_ns();
  pid_t child = fork();
  if (child == 0) {
    execvp(argv[2], argv + 2);
    trace::die("traced_timer: the command cannot be started");
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) trace::die("traced_timer: there is no child");
  long took = now_ns() - start;
  FILE* out = fopen(argv[1], "w");
  if (!out || fprintf(out, "%ld\n", took) < 0 || fclose(out) != 0)
    trace::die("traced_timer: the file cannot be written");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}
