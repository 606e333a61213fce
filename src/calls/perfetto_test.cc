// Reads the trace back with a small decoder of its own: what protoc would see.
#include "calls/perfetto.h"

#include <asm/unistd.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace culprit {
namespace {

using testing::HasSubstr;

// Field number -> its values; numbers as decimal text. Empty when the bytes are no message.
using Message = std::multimap<int, std::string>;

uint64_t take_varint(std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0; !bytes.empty() && shift < 64; shift += 7) {
    auto byte = static_cast<unsigned char>(bytes[0]);
    bytes.remove_prefix(1);
    value |= uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) break;
  }
  return value;
}

Message decode(std::string_view bytes) {
  Message out;
  while (!bytes.empty()) {
    uint64_t key = take_varint(bytes);
    int field = static_cast<int>(key >> 3);
    uint64_t value = take_varint(bytes);
    if ((key & 7) == 0) {
      out.emplace(field, std::to_string(value));
    } else if ((key & 7) == 2 && value <= bytes.size()) {
      out.emplace(field, std::string(bytes.substr(0, value)));
      bytes.remove_prefix(value);
    } else {
      return {};
    }
  }
  return out;
}

std::string field(const Message& message, int number) {
  auto it = message.lower_bound(number);  // the first of several
  return it == message.end() || it->first != number ? "" : it->second;
}

std::vector<Message> packets(const std::string& trace) {
  std::vector<Message> out;
  for (const auto& [number, bytes] : decode(trace))
    if (number == 1) out.push_back(decode(bytes));
  return out;
}

Call a_call() {
  Call call;
  call.sequence = 1;
  call.start_ns = 1000;
  call.duration_ns = 500;
  call.process = 4711;
  call.thread = 4712;
  call.number = __NR_fsync;
  call.args = {7};
  return call;
}

TEST(ProtoWriter, WritesTheBytesOfTheSpecification) {
  EXPECT_EQ(ProtoWriter().number(1, 150).text(), "\x08\x96\x01");  // the example of the encoding's own page
  EXPECT_EQ(ProtoWriter().bytes(2, "testing").text(), "\x12\x07testing");
  EXPECT_EQ(ProtoWriter().number(60, 0).text(), std::string("\xe0\x03\0", 3));
}

TEST(Perfetto, ACallIsASliceOnItsThreadsTrack) {
  PerfettoWriter writer("s1");
  auto trace = packets(writer.add(a_call(), FdMap()));
  ASSERT_EQ(trace.size(), 4U);
  Message process = decode(field(trace[0], 60));
  EXPECT_EQ(field(decode(field(process, 3)), 1), "4711");
  EXPECT_EQ(field(decode(field(process, 3)), 6), "s1");
  Message thread = decode(field(trace[1], 60));
  EXPECT_EQ(field(decode(field(thread, 4)), 2), "4712");
  EXPECT_EQ(field(thread, 5), field(process, 1));
  Message begin = decode(field(trace[2], 11));
  EXPECT_EQ(field(trace[2], 8), "1000");
  EXPECT_EQ(field(begin, 9), "1");
  EXPECT_EQ(field(begin, 23), "fsync");
  EXPECT_EQ(field(begin, 11), field(thread, 1));
  EXPECT_THAT(field(begin, 4), HasSubstr("fsync(7) = 0"));
  Message end = decode(field(trace[3], 11));
  EXPECT_EQ(field(trace[3], 8), "1500");
  EXPECT_EQ(field(end, 9), "2");
  EXPECT_EQ(field(end, 11), field(thread, 1));
  for (const Message& packet : trace) EXPECT_EQ(field(packet, 10), "1");
  EXPECT_EQ(field(trace[0], 13), "1");
}

TEST(Perfetto, TracksAreDescribedOnce) {
  PerfettoWriter writer("s1");
  writer.add(a_call(), FdMap());
  EXPECT_EQ(packets(writer.add(a_call(), FdMap())).size(), 2U);
  Call other = a_call();
  other.thread = 4713;
  EXPECT_EQ(packets(writer.add(other, FdMap())).size(), 3U);
}

TEST(Perfetto, WhatNeverReturnedHasNoEndAndASignalIsAnInstant) {
  PerfettoWriter writer("s1");
  writer.add(a_call(), FdMap());
  Call call = a_call();
  call.duration_ns = kUnfinished;
  EXPECT_EQ(packets(writer.add(call, FdMap())).size(), 1U);
  call = a_call();
  call.kind = CallKind::signal;
  call.number = 15;
  auto trace = packets(writer.add(call, FdMap()));
  ASSERT_EQ(trace.size(), 1U);
  EXPECT_EQ(field(decode(field(trace[0], 11)), 9), "3");
  EXPECT_EQ(field(decode(field(trace[0], 11)), 23), "SIGTERM");
}

}  // namespace
}  // namespace culprit
