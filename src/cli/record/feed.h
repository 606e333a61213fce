// Where a node's samples come from: this process, or a sampler that runs elsewhere. The recorder's loop polls all
// feeds.
#pragma once

#include <poll.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/record/clock_offset.h"
#include "hosts/deploy.h"
#include "hosts/runner.h"
#include "model/sample.h"
#include "sample/collector.h"

namespace culprit {

// What a feed has to tell.
class FeedSink {
 public:
  virtual ~FeedSink() = default;
  virtual void on_connected(size_t node, const std::map<std::string, std::string>& environment) = 0;  // keys start anew
  virtual void on_sample(size_t node, const Sample& sample) = 0;
  virtual void on_lost(size_t node, const Error& why) = 0;  // could not connect, or the stream broke
  virtual void on_clock(size_t node, const ClockOffset& offset, const ClockOffset& first) = 0;
};

class Feed {
 public:
  virtual ~Feed() = default;
  virtual void add_polls(std::vector<pollfd>& fds) const = 0;
  virtual int64_t wait_ns(int64_t wall_ns, int64_t mono_ns) = 0;  // until it has something to do by itself
  virtual void turn(FeedSink& sink) = 0;                          // never blocks for long
  virtual bool same_clock() const { return true; }                // otherwise on_clock will say how far it is off
  virtual void finish() {}                                        // asks the other side to end, without waiting
};

std::unique_ptr<Feed> make_local_feed(size_t node, SampleEnv env);
// `program` is what is sent to nodes that do not name a sampler of their own; may be null for those.
std::unique_ptr<Feed> make_child_feed(size_t node, SampleEnv env, std::unique_ptr<Runner> runner,
                                      std::shared_ptr<const Program> program);

}  // namespace culprit
