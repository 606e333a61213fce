#include "sample/stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/text.h"
#include "sample/sampler.h"
#include "sample/test_tree.h"

namespace culprit {
namespace {

using testing::HasSubstr;

constexpr std::string_view kHead = "culprit-stream 1 0.1.0\nsource 1 nic rx_bytes tx_bytes\nkey 1 1 eth0\n";

Sample fixture_sample() {
  SampleEnv env;
  env.root = fixture("stacked");
  Sample sample;
  Sampler(env).take(sample);
  sample.skipped = 3;
  return sample;
}

std::string text_of(const Sample& sample) {
  std::string out;
  format_sample(sample, out);
  return out;
}

TEST(Stream, RoundTripInPiecesOfAnySize) {
  Sample sample = fixture_sample();
  std::string text = format_stream_header("0.1.0", {{"kernel", "6.1"}, {"mount./", "sda1 ext4 rw"}}) + text_of(sample) +
                     format_pong(5, 77);
  for (size_t piece : {size_t{1}, size_t{7}, size_t{1000}, text.size()}) {
    StreamParser parser;
    std::vector<StreamEvent> events;
    for (size_t at = 0; at < text.size(); at += piece)
      ASSERT_TRUE(parser.feed(std::string_view(text).substr(at, piece), events));
    ASSERT_TRUE(parser.finish());
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(text_of(events[0].sample), text_of(sample));
    EXPECT_EQ(events[1].kind, StreamEvent::Kind::pong);
    EXPECT_EQ(events[1].pong_number, 5);
    EXPECT_EQ(events[1].pong_wall_ns, 77);
    EXPECT_EQ(parser.version(), "0.1.0");
    EXPECT_EQ(parser.environment().at("mount./"), "sda1 ext4 rw");
  }
}

TEST(Stream, ColumnsAreFoundByName) {
  StreamParser parser;
  std::vector<StreamEvent> events;
  ASSERT_TRUE(
      parser.feed("culprit-stream 1 9.9\nsource 4 nic tx_bytes colour rx_bytes\nsource 5 quarks up down\nkey 1 5 top "
                  "x=1\nkey 2 4 eth0\n"
                  "fancy new line\nr 5 1 1 2\nr 4 2 70 8 90\nend 1 2 3 0\n",
                  events));
  ASSERT_EQ(events.size(), 1u);
  const Sample& sample = events[0].sample;
  ASSERT_EQ(sample.rows.size(), 1u);
  ASSERT_EQ(sample.keys.size(), 1u);
  EXPECT_EQ(sample.keys[0].id, 2u);
  EXPECT_EQ(sample.values.at(nic_column::tx_bytes), 70);
  EXPECT_EQ(sample.values.at(nic_column::rx_bytes), 90);
  EXPECT_EQ(sample.values.at(nic_column::rx_packets), kAbsent);
}

TEST(Stream, AGreetingBeforeTheHeaderIsSkipped) {
  StreamParser parser;
  std::vector<StreamEvent> events;
  EXPECT_TRUE(parser.feed("Welcome to \xc3\xa9 host!\n\n" + std::string(kHead) + "r 1 1 5 -\nend 1 2 3 0\n", events));
  EXPECT_EQ(events.size(), 1u);
}

TEST(Stream, WhatCameInsteadIsShown) {
  StreamParser parser;
  std::vector<StreamEvent> events;
  EXPECT_TRUE(parser.feed("Welcome!\n\nsh: culprit-node: not\x07 found\nlast", events));
  EXPECT_EQ(parser.preamble(), "Welcome! / sh: culprit-node: not\\x07 found / last");
  Status status = parser.finish();
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().what, HasSubstr("culprit-node: not\\x07 found"));
  EXPECT_FALSE(StreamParser().finish());
}

TEST(Stream, TheEnvironmentIsBounded) {
  StreamParser parser;
  std::vector<StreamEvent> events;
  ASSERT_TRUE(parser.feed("culprit-stream 1 0\nenv kernel 6.1.0\n", events));
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(parser.feed(cat("env k", i, " ", std::string(60'000, 'x'), "\n"), events));
  size_t bytes = 0;
  for (const auto& [key, value] : parser.environment()) bytes += key.size() + value.size();
  EXPECT_LT(bytes, 300'000u);
  EXPECT_EQ(parser.environment().at("kernel"), "6.1.0");
}

TEST(Stream, AnotherVersionIsRefused) {
  StreamParser parser;
  std::vector<StreamEvent> events;
  Status status = parser.feed("culprit-stream 2 3.0\n", events);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::unsupported);
}

class Hostile : public testing::TestWithParam<const char*> {};

TEST_P(Hostile, IsOneErrorThatStays) {
  StreamParser parser;
  std::vector<StreamEvent> events;
  Status status = parser.feed(cat(kHead, GetParam()), events);
  ASSERT_FALSE(status) << GetParam();
  EXPECT_FALSE(status.error().hint.empty());
  EXPECT_TRUE(events.empty());
  Status again = parser.feed("r 1 1 5 -\nend 1 2 3 0\n", events);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().what, status.error().what);
  EXPECT_TRUE(events.empty());
}

INSTANTIATE_TEST_SUITE_P(Lines, Hostile,
                         testing::Values("r 1 1 5\n", "r 1 1 5 6 7\n", "r 1 1 5 x\n", "r 1 1 5 99999999999999999999\n",
                                         "r 1 2 5 6\n", "r 1 0 5 6\n", "r 1 -1 5 6\n", "r 2 1 5 6\n", "r\n", "r 1\n",
                                         "key 1 1 again\n", "key 3 1 gap\n", "key 2 9 nobody\n", "key 2 1\n",
                                         "key x y z\n", "key 99999999999 1 far\n", "source 1 nic rx_bytes\n",
                                         "source 0 nic rx_bytes\n", "source 2 nic\n", "source x\n",
                                         "source 2 system user_ms\nkey 2 2 name\n", "source 2 disk reads\nr 2 1 5\n",
                                         "end\n", "end 1 2 3\n", "end -1 2 3 0\n", "end 1 2 3 -4\n", "end a b c d\n",
                                         "pong\n", "pong 1\n", "pong -1 5\n", "env\n", "r 1 1 5 \x01\n",
                                         "note \xff\xfe\n"));

TEST(Stream, ALineWithoutEndIsAnErrorNotMemory) {
  StreamParser parser;
  std::vector<StreamEvent> events;
  std::string block(16384, 'x');
  ASSERT_TRUE(parser.feed(kHead, events));
  Status status = Ok{};
  for (int i = 0; i < 1000 && status; ++i) status = parser.feed(block, events);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().what, HasSubstr("longer than"));
}

TEST(Stream, EndingInTheMiddleIsSaid) {
  StreamParser parser;
  std::vector<StreamEvent> events;
  ASSERT_TRUE(parser.feed(cat(kHead, "r 1 1 5 6\n"), events));
  EXPECT_FALSE(parser.finish());
}

TEST(Stream, DamagedBytesNeverCrash) {
  std::string good = format_stream_header("0.1.0", {}) + text_of(fixture_sample());
  std::mt19937 random(11);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = good;
    for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    StreamParser parser;
    std::vector<StreamEvent> events;
    if (!parser.feed(bytes, events) || !parser.finish()) ++refused;
    for (const StreamEvent& event : events) EXPECT_LE(event.sample.rows.size(), 1000u);
  }
  EXPECT_GT(refused, 500);
}

TEST(Ping, IsReadStrictly) {
  EXPECT_EQ(parse_ping("ping 17"), 17);
  EXPECT_EQ(parse_ping(trim(format_ping(3))), 3);
  EXPECT_EQ(parse_ping("ping"), -1);
  EXPECT_EQ(parse_ping("ping -4"), -1);
  EXPECT_EQ(parse_ping("pong 4"), -1);
  EXPECT_EQ(parse_ping(""), -1);
}

}  // namespace
}  // namespace culprit
