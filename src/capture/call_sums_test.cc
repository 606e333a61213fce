#include "capture/call_sums.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

#include "base/units.h"

namespace culprit {
namespace {

Call call(int64_t end_ns, int64_t duration_ns, int64_t result = 0) {
  Call made;
  made.number = 17;
  made.start_ns = end_ns - duration_ns;
  made.duration_ns = duration_ns;
  made.result = result;
  return made;
}

TEST(CallSumsTest, HistogramByPowersOfTwo) {
  CallSum sum;
  for (int64_t ns : {0, 1, 2, 3, 1023, 1024}) add_to_sum(sum, call(kNsPerSecond, ns));
  add_to_sum(sum, call(100 * kNsPerSecond, 99 * kNsPerSecond));  // more than 2^32 ns: the last slot
  EXPECT_EQ(sum.count, 7u);
  EXPECT_EQ(sum.sum_ns, 0 + 1 + 2 + 3 + 1023 + 1024 + 99 * static_cast<uint64_t>(kNsPerSecond));
  EXPECT_EQ(sum.histogram[0], 2u);
  EXPECT_EQ(sum.histogram[1], 2u);
  EXPECT_EQ(sum.histogram[9], 1u);
  EXPECT_EQ(sum.histogram[10], 1u);
  EXPECT_EQ(sum.histogram[31], 1u);
}

TEST(CallSumsTest, SecondsNodesAndClassesStayApart) {
  CallSums sums;
  sums.add(0, FdClass::storage, call(5 * kNsPerSecond, 10));
  sums.add(0, FdClass::storage, call(5 * kNsPerSecond + 1, 10, -ENOSPC));
  sums.add(0, FdClass::other, call(5 * kNsPerSecond, 10));
  sums.add(1, FdClass::storage, call(5 * kNsPerSecond, 10));
  sums.add(0, FdClass::storage, call(6 * kNsPerSecond, 10));
  std::vector<CallSum> taken;
  auto keep = [&](size_t, const CallSum& sum) { taken.push_back(sum); };
  sums.take_before(6, keep);
  ASSERT_EQ(taken.size(), 3u);
  uint64_t count = 0;
  uint64_t full = 0;
  for (const CallSum& sum : taken) {
    EXPECT_EQ(sum.second, 5);
    count += sum.count;
    if (auto found = sum.errors.find(ENOSPC); found != sum.errors.end()) full += found->second;
  }
  EXPECT_EQ(count, 4u);
  EXPECT_EQ(full, 1u);
  sums.take_before(7, keep);
  EXPECT_EQ(taken.size(), 4u);  // what was taken is gone
}

}  // namespace
}  // namespace culprit
