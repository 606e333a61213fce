// The capture of a node behind ssh: culprit-node is sent there as the sampler is, captures, and its logs arrive here in
// frames. A thread per node, because appending what arrives must not wait for the capture of this machine.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/subprocess.h"
#include "calls/call_log.h"
#include "capture/frames.h"
#include "capture/node_command.h"
#include "cli/record/clock_offset.h"
#include "hosts/deploy.h"
#include "hosts/runner.h"

namespace culprit {

struct RemoteOutcome {
  std::string node;
  std::string backend;  // "" when it never began
  std::string stopped;
  int64_t calls = 0;
  int64_t lost = 0;
  int64_t bytes = 0;
  std::vector<std::string> notes;
  std::optional<ClockOffset> clock;
  Error failure;  // empty `what`: none
};

class RemoteCapture {
 public:
  // Makes stem.sclog and stem.fdlog at once, so that a run which is renamed meanwhile does no harm, and starts.
  // `program` may be null when the node names a sampler of its own.
  static Result<std::unique_ptr<RemoteCapture>> start(const Node& node, CaptureOrders orders,
                                                      std::shared_ptr<const Program> program, const std::string& stem);
  ~RemoteCapture();  // finishes and waits
  RemoteCapture(const RemoteCapture&) = delete;
  RemoteCapture& operator=(const RemoteCapture&) = delete;

  const std::string& node() const { return outcome_.node; }
  void finish();  // asks it to end, without waiting
  bool began() const { return began_; }
  bool ended() const { return ended_; }
  const Error& failure() const { return outcome_.failure; }  // once it has ended; empty `what`: none
  int64_t calls() const { return calls_; }
  int64_t lost() const { return lost_; }
  int64_t bytes() const { return bytes_; }
  // Waits for the end. Logs that stayed empty are removed.
  RemoteOutcome wait();

 private:
  RemoteCapture(const Node& node, CaptureOrders orders, std::shared_ptr<const Program> program, std::string stem);
  Status open_logs();
  void run();
  Status talk();
  void poll_streams();
  Status read_output();
  Status take(const Frame& frame);
  Status append(LogFile file, std::string_view bytes);
  void take_pong(std::string_view payload);
  void write_input();
  void upload();
  void ask_clock();
  Status check_limits();
  Error explain_end();

  Node node_;
  CaptureOrders orders_;
  std::shared_ptr<const Program> program_;
  std::string stem_;
  std::unique_ptr<Runner> runner_;
  Fd logs_[2];  // by LogFile
  Fd wake_;
  std::atomic<bool> finishing_ = false;
  std::atomic<bool> began_ = false;
  std::atomic<bool> ended_ = false;
  std::atomic<int64_t> calls_ = 0;
  std::atomic<int64_t> lost_ = 0;
  std::atomic<int64_t> bytes_ = 0;

  // Of the thread; the others may look once it has ended.
  RemoteOutcome outcome_;
  Child child_;
  std::optional<DeployReader> deploy_;
  FrameReader frames_;
  std::string output_, errors_, input_;
  bool uploading_ = false;
  bool ordered_ = false;  // the orders are in input_ or sent
  bool done_ = false;
  size_t upload_at_ = 0;
  int64_t started_ns_ = 0;
  int64_t finish_ns_ = 0;  // when it was asked to end; 0: it was not
  OffsetEstimator clock_;
  int64_t ping_number_ = 0;
  int64_t asked_ns_ = 0;  // 0: no question is open
  int64_t next_ask_ns_ = 0;
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace culprit
