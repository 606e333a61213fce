// The tracing thread. ptrace ties a traced process to the thread that attached to it, so that one thread does nothing
// else: it can sleep in waitpid for its own (no child of another thread is reaped by mistake), and when it ends, the
// kernel lets loose whatever it still held.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/process.h"
#include "base/result.h"
#include "capture/backend.h"
#include "capture/ptrace/command.h"
#include "capture/ptrace/event_queue.h"
#include "capture/ptrace/follower.h"
#include "capture/ptrace/tracee.h"

namespace culprit {

class Tracer {
 public:
  struct Newcomer {
    ProcessId process;
    size_t node = 0;
  };

  Tracer(const CaptureOptions& options, EventQueue& queue);

  // On the tracing thread: first begin(), then run() until every target has ended or it was asked to stop.
  Status begin();
  void run();

  // From other threads. A request is seen after the tracing thread was woken from waitpid by a signal: wants_waking()
  // says that one is still needed.
  void ask_to_stop();
  void end_command() { command_must_end_ = true; }  // when it is asked to stop
  void offer(std::vector<Newcomer> newcomers);
  bool wants_waking() const { return asked_; }
  size_t processes_alive() const { return processes_alive_; }

  // After run() has returned.
  const std::optional<Error>& failure() const { return failure_; }
  CaptureReport report() const;

 private:
  struct Stop {
    pid_t tid;
    int status;
    int64_t when_ns;
  };
  struct Origin {  // of a child whose first stop has not come yet
    size_t node;
    bool filtered;
  };

  Status attach_nodes();
  bool attach_children();
  Status attach(const ProcessId& process, size_t node);
  Status seize_threads(const ProcessId& process, size_t node);
  Status start_command();
  bool expects_newcomers() const;

  TracedThread& add_thread(pid_t tid, pid_t process, size_t node, bool filtered);
  TracedThread* find_or_adopt(pid_t tid);
  void forget(pid_t tid);

  void take_requests();
  void begin_leaving();
  void insist();
  bool is_done() const;
  void collect();
  void rest();

  void on_end(const Stop& stop);
  void pass_on(const Stop& stop);
  void on_stop(const Stop& stop);
  int on_event(TracedThread& thread, const Stop& stop);  // which signal it shall get
  void on_call_stop(TracedThread& thread, int64_t now_ns);
  void on_filter_stop(TracedThread& thread);
  void on_call_end(TracedThread& thread, int64_t result, int64_t now_ns);
  void on_child(const TracedThread& parent);
  void on_exec(TracedThread& thread);
  void enter(TracedThread& thread, uint32_t machine, uint64_t number, const uint64_t (&args)[6]);
  void go_on(TracedThread& thread, int signal_number);
  void note(std::string text);

  const CaptureOptions options_;
  CallFollower follower_;
  std::unordered_map<pid_t, TracedThread> threads_;
  std::unordered_map<pid_t, std::unique_ptr<TracedProcess>> processes_;
  std::unordered_map<pid_t, Origin> origins_;
  std::set<pid_t> refused_;  // children that could not be attached
  std::set<pid_t> unknown_;  // threads that stopped and could not be looked up
  std::vector<Stop> stops_;
  WaitingCommand command_;
  bool command_ran_ = false;
  int command_status_ = -1;
  bool leaving_ = false;
  bool insisted_ = false;
  int64_t left_at_ns_ = 0;
  int64_t foreign_calls_ = 0;
  std::vector<std::string> notes_;
  std::optional<Error> failure_;

  std::atomic<size_t> processes_alive_ = 0;
  std::atomic<bool> asked_ = false;
  std::atomic<bool> command_must_end_ = false;
  std::mutex requests_mutex_;
  std::condition_variable requested_;
  bool stop_requested_ = false;  // under the mutex, as the next
  std::vector<Newcomer> offered_;
};

}  // namespace culprit
