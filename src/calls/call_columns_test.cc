#include "calls/call_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace culprit {
namespace {

using Random = std::mt19937_64;

// Small numbers, near neighbours and all extremes: what a column of differences could get wrong.
uint64_t odd_value(Random& random) {
  static constexpr uint64_t kOdd[] = {0, 1, 127, 128, 4096, UINT32_MAX, uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 1};
  switch (random() % 4) {
    case 0:
      return kOdd[random() % std::size(kOdd)];
    case 1:
      return random() % 16;
    case 2:
      return uint64_t{0} - random() % 4096;
    default:
      return random() >> random() % 64;
  }
}

Call odd_call(Random& random) {
  Call call;
  call.kind = static_cast<CallKind>(random() % kCallKinds);
  call.sequence = odd_value(random);
  call.start_ns = static_cast<int64_t>(odd_value(random));
  call.duration_ns = random() % 8 == 0 ? kUnfinished : static_cast<int64_t>(odd_value(random));
  call.process = static_cast<int32_t>(static_cast<uint32_t>(odd_value(random)));
  call.thread = static_cast<int32_t>(static_cast<uint32_t>(random() % 3 == 0 ? random() : random() % 8));
  call.number = static_cast<int32_t>(static_cast<uint32_t>(odd_value(random)));
  for (uint64_t& argument : call.args)
    if (random() % 2 == 0) argument = odd_value(random);
  call.result = static_cast<int64_t>(odd_value(random));
  return call;
}

std::vector<Call> odd_calls(uint64_t seed, size_t count) {
  Random random(seed);
  std::vector<Call> calls;
  for (size_t i = 0; i < count; ++i) calls.push_back(odd_call(random));
  return calls;
}

TEST(CallColumns, WhateverIsWrittenComesBack) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    std::vector<Call> calls = odd_calls(seed, seed * 7 % 300);
    std::vector<Call> back;
    auto decoded = decode_calls(encode_calls(calls), calls.size(), back);
    ASSERT_TRUE(decoded) << "seed " << seed << ": " << decoded.error().what;
    ASSERT_EQ(back, calls) << "seed " << seed;
  }
}

TEST(CallColumns, TheExtremesOfEveryFieldComeBack) {
  Call low;
  low.start_ns = low.duration_ns = low.result = std::numeric_limits<int64_t>::min();
  low.process = low.thread = low.number = std::numeric_limits<int32_t>::min();
  Call high;
  high.kind = CallKind::uring;
  high.sequence = UINT64_MAX;
  high.start_ns = high.duration_ns = high.result = std::numeric_limits<int64_t>::max();
  high.process = high.thread = high.number = std::numeric_limits<int32_t>::max();
  high.args.fill(UINT64_MAX);
  std::vector<Call> calls = {low, high, low, high, Call{}};
  std::vector<Call> back;
  ASSERT_TRUE(decode_calls(encode_calls(calls), calls.size(), back));
  EXPECT_EQ(back, calls);
}

TEST(CallColumns, ArgumentsThatAreAlwaysZeroTakeNoRoom) {
  std::vector<Call> calls(1000);
  size_t without = encode_calls(calls).size();
  for (size_t i = 0; i < calls.size(); ++i) calls[i].args[3] = i * 7919;
  EXPECT_GE(encode_calls(calls).size(), without + calls.size());
  EXPECT_LT(without, 7 * calls.size());
}

TEST(CallColumns, AnotherCountThanTheHeadersIsRefused) {
  std::string raw = encode_calls(odd_calls(3, 20));
  std::vector<Call> back;
  EXPECT_FALSE(decode_calls(raw, 19, back));
  EXPECT_FALSE(decode_calls(raw, 21, back));
  auto absurd = decode_calls(raw, 1'000'000, back);
  ASSERT_FALSE(absurd);
  EXPECT_THAT(absurd.error().what, testing::HasSubstr("too short"));
}

TEST(CallColumns, CutAndFlippedBytesNeverHurt) {
  std::string raw = encode_calls(odd_calls(4, 30));
  std::vector<Call> back;
  for (size_t length = 0; length < raw.size(); ++length)
    EXPECT_FALSE(decode_calls(std::string_view(raw).substr(0, length), 30, back)) << length;
  EXPECT_FALSE(decode_calls(raw + '\0', 30, back));
  for (size_t at = 0; at < raw.size(); ++at) {
    std::string flipped = raw;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x55);
    if (decode_calls(flipped, 30, back)) {
      EXPECT_EQ(back.size(), 30u);
    }
  }
}

}  // namespace
}  // namespace culprit
