#include "capture/ptrace/event_queue.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "base/clock.h"
#include "base/units.h"

namespace culprit {
namespace {

// What came, in one line: "c1 f7 s17".
class Seen : public CaptureSink {
 public:
  void on_call(size_t node, const Call& call) override { add("c", node, static_cast<int64_t>(call.sequence)); }
  void on_fd(size_t node, FdRecord record) override { add("f", node, record.fd); }
  void on_sum(size_t node, const CallSum& sum) override { add("s", node, static_cast<int64_t>(sum.count)); }
  std::string text;

 private:
  void add(const char* kind, size_t node, int64_t number) {
    text += std::string(text.empty() ? "" : " ") + kind + std::to_string(node) + ":" + std::to_string(number);
  }
};

Call call(uint64_t sequence) {
  Call made;
  made.sequence = sequence;
  made.start_ns = wall_now_ns();
  return made;
}

FdRecord record(int fd) {
  FdRecord made;
  made.fd = fd;
  return made;
}

TEST(EventQueueTest, BothKindsKeepTheirOrder) {
  EventQueue queue(1 << 20);
  queue.add(0, record(7));
  queue.add(0, call(1));
  queue.add(1, call(2));
  queue.add(0, record(8));
  queue.add(0, call(3));
  Seen seen;
  EXPECT_TRUE(queue.hand_over(seen, 0));
  EXPECT_EQ(seen.text, "f0:7 c0:1 c1:2 f0:8 c0:3");
  queue.end();
  EXPECT_FALSE(queue.hand_over(seen, 60 * kNsPerSecond));  // the end does not wait
}

TEST(EventQueueTest, WhatFindsNoRoomIsCounted) {
  EventQueue queue(1);  // room for one
  for (uint64_t i = 1; i <= 10; ++i) queue.add(0, call(i));
  EXPECT_EQ(queue.lost(), 9);
  Seen seen;
  EXPECT_TRUE(queue.hand_over(seen, 0));
  EXPECT_EQ(seen.text, "c0:1");
  queue.add(0, call(11));
  EXPECT_EQ(queue.lost(), 9);
}

TEST(EventQueueTest, NothingIsLostWhileSomebodyTakes) {
  EventQueue queue(1000);
  std::thread tracer([&] {
    for (uint64_t i = 1; i <= 5000; ++i) queue.add(0, call(i));
    queue.end();
  });
  Seen seen;
  while (queue.hand_over(seen, 10 * kNsPerMs)) {
  }
  tracer.join();
  EXPECT_EQ(queue.lost(), 0);
  EXPECT_TRUE(seen.text.ends_with("c0:4999 c0:5000"));
}

TEST(EventQueueTest, SumsComeWhenTheirSecondIsOver) {
  EventQueue queue(1 << 20);
  Call old = call(1);
  old.start_ns -= 10 * kNsPerSecond;
  queue.add_to_sums(0, FdClass::storage, old);
  queue.add_to_sums(0, FdClass::storage, old);
  queue.add_to_sums(1, FdClass::storage, call(2));
  Seen seen;
  queue.hand_over(seen, 0);
  EXPECT_EQ(seen.text, "s0:2");
  queue.end();
  queue.hand_over(seen, 0);
  EXPECT_EQ(seen.text, "s0:2 s1:1");
}

}  // namespace
}  // namespace culprit
