// One injection as its controller sees it: guards on several nodes, ready before any begins, begun together, beaten
// alive, and ended together. It is driven by turns of a loop, so that a command and a campaign can both use it; how a
// node is reached is somebody else's business (NodeLink).
#pragma once

#include <poll.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "inject/planner.h"
#include "inject/report.h"

namespace culprit {

// A culprit-node at work on a node. Nothing here blocks.
class NodeLink {
 public:
  virtual ~NodeLink() = default;
  virtual void add_polls(std::vector<pollfd>& fds) const = 0;
  virtual void turn(std::vector<std::string>& lines) = 0;  // appends the lines that came
  virtual void send(std::string_view line) = 0;            // with its newline
  virtual void finish() = 0;                               // closes its stdin, once all is sent
  virtual bool ended() const = 0;                          // and all its lines were given out
  virtual Error why() const = 0;                           // after it ended; an empty `what`: as it should
  virtual bool same_clock() const = 0;                     // its wall clock is ours
};

// `arguments` are those of culprit-node: fault guard.
using StartLink =
    std::function<Result<std::unique_ptr<NodeLink>>(const Node& node, std::vector<std::string> arguments)>;

struct PartState {
  enum class Phase { preparing, prepared, beginning, active, over };
  PlannedPart planned;
  std::unique_ptr<NodeLink> link;
  Phase phase = Phase::preparing;
  bool told_to_go = false;
  int64_t begun_ns = 0;    // when it was told to go
  int64_t active_ns = 0;   // wall clock, ours
  int64_t removed_ns = 0;  // 0: not, as far as is known
  bool clean = false;      // taken back, and seen to be gone; or never begun
  bool faded = false;      // it was not in force all the time
  std::string reason;      // why it ended
  Error error = {};        // an empty `what`: none
  std::vector<std::string> notes;
};

class Injection {
 public:
  using Listener = std::function<void(const PartState& part, const GuardReport& report)>;
  // dry_run: only what the nodes say to it.
  Injection(InjectPlan plan, const StartLink& start, bool dry_run, Listener listener);

  void add_polls(std::vector<pollfd>& fds) const;
  int64_t wait_ns() const;   // until the next turn is due, whatever comes
  int64_t limit_ns() const;  // of the current stretch (getting ready, beginning, in force, ending); then it is stopped
  void turn();
  void stop();  // take everything back now
  bool over() const;

  const InjectPlan& plan() const { return plan_; }
  const std::vector<PartState>& parts() const { return parts_; }
  bool active() const;  // on all nodes
  bool ever_active() const { return ever_active_; }
  // Everything that was begun is gone, and nothing went wrong on the way.
  bool clean() const;

 private:
  void take(PartState& part, std::string_view line);
  void link_ended(PartState& part);
  void advance();
  void begin_next_role();
  void beat();
  void check_limits();
  void fail(PartState& part, Error error);

  InjectPlan plan_;
  bool dry_run_;
  Listener listener_;
  std::vector<PartState> parts_;
  bool stopping_ = false;
  bool ever_active_ = false;
  int64_t since_ns_ = 0;  // monotonic: the current stretch (getting ready, ending) began
  int64_t next_beat_ns_ = 0;
};

// What `fault status` or `fault undo-all` says on each node; all at once, bounded by `limit_ns`.
struct NodeJournals {
  const Node* node = nullptr;
  std::vector<JournalReport> journals;
  bool complete = false;  // it said "done": there are no others
  Error error = {};       // an empty `what`: the node answered
};
std::vector<NodeJournals> ask_journals(const std::vector<const Node*>& nodes, const StartLink& start,
                                       std::string_view what, int64_t limit_ns);

}  // namespace culprit
