// A command on a node behind ssh, captured from its first call on: a shell over there says its number and waits for a
// line. It is attached to as any process is, and then becomes the command. Meanwhile our stdin, stdout and stderr are
// the command's, and its exit code comes back, as with ssh itself.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/subprocess.h"
#include "hosts/runner.h"

namespace culprit {

class FarCommand {
 public:
  // Returns when the shell waits, or `stop` says to give up.
  static Result<std::unique_ptr<FarCommand>> start(const Node& node, const std::vector<std::string>& command,
                                                   const std::function<bool()>& stop);
  ~FarCommand();  // what still runs gets SIGHUP, as from a terminal that goes away
  FarCommand(const FarCommand&) = delete;
  FarCommand& operator=(const FarCommand&) = delete;

  pid_t pid() const { return pid_; }  // over there
  void go();                          // it becomes the command
  void interrupt();                   // SIGINT, once: a terminal's Ctrl-C ends here and not over there
  int wait_exit(int64_t limit_ns);    // its exit code; -1 when it has not ended by then

 private:
  explicit FarCommand(std::unique_ptr<Runner> runner) : runner_(std::move(runner)) {}
  Status wait_for_number(const std::function<bool()>& stop);
  Result<bool> take_number();
  Error why_ended() const;
  void signal_group(const char* name);
  void wake();
  void pump();
  void read_stdin();
  void feed();

  std::unique_ptr<Runner> runner_;
  pid_t pid_ = -1;
  pid_t group_ = -1;  // its own: sshd makes one per session
  Fd wake_;
  std::atomic<bool> going_ = false;
  std::atomic<bool> leaving_ = false;
  std::atomic<int> exit_code_ = -1;
  bool interrupted_ = false;

  // Of the thread, once it runs.
  Child child_;
  std::string output_, errors_, input_;
  bool stdin_open_ = true;
  bool told_ = false;   // "go" is in input_ or sent
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace culprit
