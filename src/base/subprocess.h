// Child processes: run one to its end with a time limit, or keep one with its three streams.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/fd.h"

namespace culprit {

struct Output {
  int exit_code = 0;  // 128 + signal when it was killed
  std::string out;
  std::string err;
};

// Runs argv with `input` on its stdin. Past `timeout_ns` its process group is killed and an Error comes back.
Result<Output> run_command(const std::vector<std::string>& argv, int64_t timeout_ns, std::string_view input = "");

// A child that goes on: killed (its group, SIGTERM then SIGKILL) and reaped when the object dies. It also gets SIGTERM when we die.
class Child {
 public:
  Child() = default;
  Child(Child&&) noexcept;
  Child& operator=(Child&&) noexcept;
  ~Child();

  static Result<Child> start(const std::vector<std::string>& argv);

  pid_t pid() const { return pid_; }
  Fd in;   // the child's stdin; closing it says: finish
  Fd out;  // the child's stdout, non-blocking
  Fd err;  // the child's stderr, non-blocking
  bool running();                            // reaps if it has ended
  int exit_code() const { return exit_code_; }  // valid once !running()
  void stop(int64_t grace_ns);

 private:
  pid_t pid_ = -1;
  int exit_code_ = -1;
};

}  // namespace culprit
