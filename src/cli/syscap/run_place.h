// Where a capture writes: a run of its own, or the one that `culprit record` is writing just now, so that metrics and
// system calls of the same time are in one run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "calls/call_log.h"
#include "store/run_writer.h"

namespace culprit {

class RunPlace {
 public:
  // `manifest` is for a run of our own. A run that is closed is refused, and so is one that has logs of these nodes.
  static Result<RunPlace> open(const std::string& out, Manifest manifest, const std::vector<std::string>& nodes);

  bool joined() const { return !writer_; }
  const std::vector<std::string>& notes() const { return notes_; }
  Manifest* manifest() { return writer_ ? &writer_->manifest() : nullptr; }  // nullptr: it is somebody else's
  std::string stem(const std::string& node) const { return log_stem(folder_, node); }
  // Makes the logs of a node, which must not exist.
  Result<CallLogWriter> open_log(const std::string& node, LogHeader header);
  // The logs of this node are ours: somebody made them at stem() for this capture.
  void claim(const std::string& node) { claimed_.push_back(node); }

  // A sentence into the run's events; what cannot be said is not worth ending a capture for.
  void tell(const std::string& text);
  // On a full disk: what the run has set aside, if it is ours.
  void make_room() {
    if (writer_) writer_->make_room();
  }
  // The run is closed if it is ours. Returns its path as it is named now.
  Result<std::string> close();
  // Takes back what was written: the run, or our logs in somebody else's. Another capture may have been faster and have
  // logs of the same node there.
  void discard();

 private:
  RunPlace() = default;

  std::string out_;
  std::string folder_;                // when it was opened: a recorder renames its run at the end
  std::vector<std::string> claimed_;  // nodes whose logs we made
  std::optional<RunWriter> writer_;
  std::vector<std::string> notes_;
};

}  // namespace culprit
