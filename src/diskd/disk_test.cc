#include "diskd/disk.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/falloc.h>
#include <unistd.h>

#include <cerrno>

#include "base/clock.h"
#include "base/units.h"
#include "diskd/test_disks.h"

namespace culprit {
namespace {

constexpr int64_t kSize = 1 << 20;
const DiskModel kQuick{1'000'000'000, 100'000};  // requests take about 0.1 ms

class DiskTest : public testing::Test {
 protected:
  Disk& make(const DiskModel& model) {
    auto folder = ImageFolder::open(scratch_.path());
    auto image = folder->create("d", kSize);
    disk_ = std::make_unique<Disk>("d", 2, std::move(*image), kSize, model, replies_);
    return *disk_;
  }
  void write(uintptr_t number, int64_t offset, const std::string& text) {
    std::string copy = text;
    disk_->submit(test_request(DiskOp::write, number, offset, static_cast<int64_t>(copy.size()), copy.data()));
    std::fill(copy.begin(), copy.end(), '?');  // as the receive thread reuses its buffer
  }
  void read(uintptr_t number, int64_t offset, int64_t bytes) {
    disk_->submit(test_request(DiskOp::read, number, offset, bytes));
  }
  Status ask(const std::string& line) { return disk_->apply(parse_disk_command(line).value()); }

  ScratchFolder scratch_;
  TestReplies replies_;
  std::unique_ptr<Disk> disk_;
};

TEST_F(DiskTest, StoresAndReturnsBytesWithAndWithoutAModel) {
  for (const DiskModel& model : {DiskModel{}, kQuick}) {
    SCOPED_TRACE(format_disk_model(model));
    ScratchFolder scratch;
    auto folder = ImageFolder::open(scratch.path());
    TestReplies replies;
    Disk disk("d", 2, std::move(*folder->create("d", kSize)), kSize, model, replies);
    std::string text(5000, 'a');
    disk.submit(test_request(DiskOp::write, 1, 4096, 5000, text.data()));
    EXPECT_EQ(replies.wait(1)->error, 0);
    disk.submit(test_request(DiskOp::read, 2, 4096, 5000));
    EXPECT_EQ(replies.wait(2)->data, text);
    disk.submit(test_request(DiskOp::flush, 3, 0, 0));
    EXPECT_EQ(replies.wait(3)->error, 0);
    DiskRequest trim = test_request(DiskOp::trim, 4, 0, 1 << 16);
    trim.trim_mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    disk.submit(std::move(trim));
    EXPECT_EQ(replies.wait(4)->error, 0);
    disk.submit(test_request(DiskOp::read, 5, 4096, 5000));
    EXPECT_EQ(replies.wait(5)->data, std::string(5000, '\0'));
    DiskCounters counters = disk.counters();
    EXPECT_EQ(counters.read.requests, 2);
    EXPECT_EQ(counters.read.bytes, 10'000);
    EXPECT_EQ(counters.write.bytes, 5'000);
    EXPECT_EQ(counters.flushes, 1);
    EXPECT_EQ(counters.trims, 1);
    EXPECT_EQ(counters.errors, 0);
    EXPECT_EQ(counters.read.busy_ns > 0, model.modelled());
  }
}

TEST_F(DiskTest, NothingGrowsTheImage) {
  make({});
  write(1, kSize - 10, "twenty bytes, too far");
  EXPECT_EQ(replies_.wait(1)->error, ENOSPC);
  write(2, -5, "before");
  EXPECT_EQ(replies_.wait(2)->error, ENOSPC);
  DiskRequest grow = test_request(DiskOp::trim, 3, kSize, 4096);
  disk_->submit(std::move(grow));  // plain allocation
  EXPECT_EQ(replies_.wait(3)->error, EOPNOTSUPP);
  read(4, kSize - 10, 100);
  EXPECT_EQ(replies_.wait(4)->bytes, 10);
  EXPECT_EQ(*file_size(disk_->image()), kSize);
  EXPECT_EQ(disk_->counters().errors, 3);
}

TEST_F(DiskTest, AModelledDiskAnswersInOrderAndCountsSpindleTime) {
  make(kQuick);
  for (uintptr_t i = 1; i <= 20; ++i) read(i, static_cast<int64_t>(i % 7) * 8192, 4096);
  for (uintptr_t i = 1; i <= 20; ++i) ASSERT_TRUE(replies_.wait(i));
  std::vector<uintptr_t> order = replies_.order();
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_EQ(disk_->counters().read.busy_ns, 20 * (100'000 + 4'096));
}

TEST_F(DiskTest, AFailingDiskStoresNothing) {
  for (const DiskModel& model : {DiskModel{}, kQuick}) {
    ScratchFolder scratch;
    auto folder = ImageFolder::open(scratch.path());
    TestReplies replies;
    Disk disk("d", 2, std::move(*folder->create("d", kSize)), kSize, model, replies);
    ASSERT_TRUE(disk.apply(*parse_disk_command("fail d for=1h")));
    disk.submit(test_request(DiskOp::write, 1, 0, 4, "gone"));
    disk.submit(test_request(DiskOp::read, 2, 0, 4));
    disk.submit(test_request(DiskOp::flush, 3, 0, 0));
    for (uintptr_t i = 1; i <= 3; ++i) EXPECT_EQ(replies.wait(i)->error, EIO);
    EXPECT_EQ(disk.counters().errors, 3);
    disk.heal(std::nullopt);
    disk.submit(test_request(DiskOp::read, 4, 0, 4));
    EXPECT_EQ(replies.wait(4)->data, std::string(4, '\0'));
  }
}

TEST_F(DiskTest, AnEffectEndsByItself) {
  make(kQuick);
  ASSERT_TRUE(ask("hang d for=30ms"));
  read(1, 0, 4096);
  EXPECT_EQ(replies_.wait(1)->error, 0);
  EXPECT_EQ(disk_->state().left_ns[static_cast<size_t>(Effect::hang)], 0);
}

TEST_F(DiskTest, AHungDiskAnswersNobodyUntilItIsHealed) {
  for (const char* model : {"none", "rate=1GB,seek=100us"}) {
    disk_.reset();
    std::filesystem::remove(scratch_.path() + "/d.img");
    uintptr_t number = model[0] == 'n' ? 10 : 20;
    make(*parse_disk_model(model));
    ASSERT_TRUE(ask("hang d for=1h"));
    write(number, 0, "hello");
    read(number + 1, 0, 5);
    EXPECT_FALSE(replies_.wait(number + 1, 0.05));
    EXPECT_EQ(disk_->state().queued, 2);
    disk_->heal(Effect::slow);
    EXPECT_FALSE(replies_.wait(number + 1, 0.01));
    disk_->heal(Effect::hang);
    EXPECT_EQ(replies_.wait(number)->error, 0);
    EXPECT_EQ(replies_.wait(number + 1)->data, "hello");
  }
}

TEST_F(DiskTest, ADiskThatHangsCanBeEnded) {
  make(kQuick);
  ASSERT_TRUE(ask("hang d for=1h"));
  read(1, 0, 4096);
  disk_.reset();
  EXPECT_TRUE(replies_.order().empty());
}

TEST_F(DiskTest, HealingASlowDiskReachesTheRequestInService) {
  make({1'000'000, kNsPerMs});  // 4096 bytes: 5 ms, slowed 1000 times: 5 s
  ASSERT_TRUE(ask("slow d factor=1000 for=1h"));
  int64_t begun = monotonic_now_ns();
  read(1, 0, 4096);
  EXPECT_FALSE(replies_.wait(1, 0.02));
  disk_->heal(std::nullopt);
  ASSERT_TRUE(replies_.wait(1));
  EXPECT_LT(disk_->counters().read.busy_ns, monotonic_now_ns() - begun + kNsPerMs);
  EXPECT_LT(disk_->counters().read.busy_ns, 5 * kNsPerSecond);
}

TEST_F(DiskTest, HiddenAndSlowNeedAModel) {
  make({});
  EXPECT_FALSE(ask("hidden d share=0.5 for=1s"));
  EXPECT_FALSE(ask("slow d factor=2 for=1s"));
  EXPECT_TRUE(disk_->set_model(kQuick));
  EXPECT_TRUE(ask("hidden d share=0.5 for=1h"));
  EXPECT_FALSE(disk_->set_model({}));
  disk_->heal(std::nullopt);
  EXPECT_TRUE(disk_->set_model({}));
}

TEST_F(DiskTest, HiddenLoadAloneCountsAsHiddenOnly) {
  make(kQuick);
  ASSERT_TRUE(ask("hidden d share=0.5 size=4096 for=20ms"));
  while (disk_->state().left_ns[static_cast<size_t>(Effect::hidden)] > 0) ::usleep(1000);
  DiskCounters counters = disk_->counters();
  EXPECT_GT(counters.hidden.requests, 0);
  EXPECT_EQ(counters.hidden.busy_ns, counters.hidden.requests * (100'000 + 4'096));
  EXPECT_EQ(counters.read.requests + counters.write.requests, 0);
}

TEST_F(DiskTest, RequestsWaitWhileTheImageIsCopied) {
  for (const DiskModel& model : {DiskModel{}, kQuick}) {
    disk_.reset();
    std::filesystem::remove(scratch_.path() + "/d.img");
    make(model);
    uintptr_t number = model.modelled() ? 2 : 1;
    Status done = disk_->exclusively(false, [&]() -> Status {
      write(number, 0, "later");
      EXPECT_FALSE(replies_.wait(number, 0.02));
      EXPECT_FALSE(disk_->exclusively(false, [] { return Status(Ok{}); }));
      return Ok{};
    });
    EXPECT_TRUE(done);
    EXPECT_EQ(replies_.wait(number)->error, 0);
  }
}

TEST_F(DiskTest, ABusyDiskIsNotTakenForAnIdleOne) {
  make(kQuick);
  ASSERT_TRUE(ask("hang d for=1h"));
  read(1, 0, 4096);
  bool ran = false;
  EXPECT_FALSE(disk_->exclusively(true, [&]() -> Status {
    ran = true;
    return Ok{};
  }));
  EXPECT_FALSE(ran);
  disk_->heal(std::nullopt);
  ASSERT_TRUE(replies_.wait(1));
}

}  // namespace
}  // namespace culprit
