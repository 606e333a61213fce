#include "load/load_data.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

namespace culprit {
namespace {

constexpr size_t kRecord = 64 * 1024;

std::string record(LoadData& data, uint64_t number) {
  data.stamp(number);
  return {data.data(), kRecord};
}

TEST(LoadData, NoWordIsZero) {
  for (uint64_t seed : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
    LoadData data(seed, kRecord);
    std::string bytes = record(data, 0);
    for (size_t at = 0; at < bytes.size(); at += 8) {
      uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, 8);
      ASSERT_NE(word, 0U) << seed << " at " << at;
    }
  }
}

TEST(LoadData, TheSeedRepeatsIt) {
  LoadData one(7, kRecord), same(7, kRecord), other(8, kRecord);
  EXPECT_EQ(record(one, 3), record(same, 3));
  EXPECT_NE(record(one, 3), record(other, 3));
  std::string before = record(one, 3);
  std::memset(one.data(), 0, kRecord);
  one.fill();
  EXPECT_EQ(record(one, 3), before);
}

TEST(LoadData, NoTwoSectorsAreEqual) {
  LoadData data(1, kRecord);
  std::set<std::string> sectors;
  size_t count = 0;
  for (uint64_t number = 0; number < 20; ++number) {
    std::string bytes = record(data, number);
    for (size_t at = 0; at < bytes.size(); at += 512, ++count) sectors.insert(bytes.substr(at, 512));
  }
  EXPECT_EQ(sectors.size(), count);
}

TEST(LoadData, IsAligned) {
  LoadData data(1, 1000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data.data()) % kLoadAlignment, 0U);
}

}  // namespace
}  // namespace culprit
