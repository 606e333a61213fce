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
// It ends when the command ends, also if a daemon that the command left behind still holds its streams.
Result<Output> run_command(const std::vector<std::string>& argv, int64_t timeout_ns, std::string_view input = "");

// A child that goes on: killed (its group, SIGTERM then SIGKILL) and reaped when the object dies. It also gets SIGTERM
// when we die.
class Child {
 public:
  Child() = default;
  Child(Child&&) noexcept;
  Child& operator=(Child&&) noexcept;
  ~Child();

  static Result<Child> start(const std::vector<std::string>& argv);

  pid_t pid() const { return pid_; }
  Fd in;                                        // the child's stdin, non-blocking; closing it says: finish
  Fd out;                                       // the child's stdout, non-blocking
  Fd err;                                       // the child's stderr, non-blocking
  bool running();                               // reaps if it has ended
  int exit_code() const { return exit_code_; }  // valid once !running()
  void stop(int64_t grace_ns);

 private:
  pid_t pid_ = -1;
  int exit_code_ = -1;
};

// Non-blocking use of a child's streams. How much was written or read; 0 when it would block.
// An error when the other side is gone: writing never raises SIGPIPE.
Result<size_t> write_some(int fd, std::string_view bytes);
enum class ReadState { open, ended };
ReadState read_available(int fd, std::string& out,
                         size_t limit);  // appends until it would block, ends or has `limit` bytes

}  // namespace culprit
