// This machine, sampled in the recorder itself: no process, no stream, nothing to lose.
#include "base/clock.h"
#include "cli/record/feed.h"
#include "sample/sampler.h"

namespace culprit {

namespace {

class LocalFeed : public Feed {
 public:
  LocalFeed(size_t node, SampleEnv env)
      : node_(node), env_(env), sampler_(std::move(env)), ticker_(env_.interval_ns, wall_now_ns()) {}

  void add_polls(std::vector<pollfd>&) const override {}

  int64_t wait_ns(int64_t wall_ns, int64_t) override { return announced_ ? ticker_.wait_ns(wall_ns) : 0; }

  void turn(FeedSink& sink) override {
    if (!announced_) {
      announced_ = true;
      sink.on_connected(node_, environment(env_));
    }
    if (ticker_.wait_ns(wall_now_ns()) > 0) return;
    int64_t skipped = ticker_.begin(wall_now_ns(), monotonic_now_ns());
    sampler_.take(sample_);
    sample_.skipped = skipped;
    sink.on_sample(node_, sample_);
  }

 private:
  size_t node_;
  SampleEnv env_;
  Sampler sampler_;
  Ticker ticker_;
  Sample sample_;
  bool announced_ = false;
};

}  // namespace

std::unique_ptr<Feed> make_local_feed(size_t node, SampleEnv env) {
  return std::make_unique<LocalFeed>(node, std::move(env));
}

}  // namespace culprit
