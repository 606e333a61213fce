#include "store/run_keys.h"

#include "base/text.h"
#include "store/run_test_util.h"

namespace culprit {
namespace {

RunKey key_of(uint32_t id, bool socket, int64_t seen) {
  RunKey key;
  key.id = id;
  key.socket = socket;
  key.seen = seen;
  key.identity = cat(socket ? "tcp" : "disk", '\n', id);
  return key;
}

TEST(KeyLimit, SocketsLeaveRoomForDisksAndDaemons) {
  KeyLimit limit(20);
  while (!limit.is_full(true)) limit.next(true);
  EXPECT_EQ(limit.text(true), "a run can have at most 18 sockets; later ones are left out");
  EXPECT_FALSE(limit.is_full(false));
  EXPECT_EQ(limit.next(false), 19u);
  EXPECT_EQ(limit.next(false), 20u);
  EXPECT_TRUE(limit.is_full(false));
  EXPECT_EQ(limit.text(true), "a run can have at most 20 devices, sockets and daemons; later ones are left out");
}

TEST(NodeKeys, SocketsThatAreGoneAreForgottenDevicesAreNot) {
  NodeKeys keys;
  keys.put(1, key_of(1, false, 0));
  for (uint32_t number = 2; number < 5000; ++number) keys.put(number, key_of(number, true, 0));
  keys.tidy(128, 2000);
  EXPECT_EQ(keys.size(), 4999u) << "not many more than rows";
  for (uint32_t number = 2; number < 12; ++number) EXPECT_NE(keys.find(number, 127), nullptr);
  keys.tidy(127, 10);
  EXPECT_EQ(keys.size(), 4999u) << "it does not look at every sample";
  keys.tidy(128, 10);
  EXPECT_EQ(keys.size(), 11u);
  EXPECT_TRUE(keys.has_forgotten());
  EXPECT_NE(keys.find(1, 129), nullptr);
  EXPECT_EQ(keys.find(12, 129), nullptr);
}

TEST(NodeKeys, AfterARestartDevicesKeepTheirNumbers) {
  NodeKeys keys;
  keys.put(1, key_of(7, false, 0));
  keys.put(2, key_of(8, true, 0));
  keys.reset();
  EXPECT_EQ(keys.find(1, 1), nullptr);
  EXPECT_EQ(keys.take_former(key_of(8, true, 0).identity), 8u);
  keys.put(5, key_of(8, true, 1));
  keys.reset();
  keys.reset();
  EXPECT_EQ(keys.take_former(key_of(7, false, 0).identity), 7u);
  EXPECT_EQ(keys.take_former(key_of(7, false, 0).identity), 0u) << "given away";
  EXPECT_EQ(keys.take_former(key_of(8, true, 0).identity), 0u) << "a socket that did not come back is gone";
}

// A server whose clients connect anew all the time: thousands of sockets, few at once.
TEST(RunWriter, ChurnOfSocketsLosesNothing) {
  TemporaryFolder folder;
  RunWriter writer = must_create(folder.file("a"), 1);
  const std::vector<int64_t> tcp(tcp_column::count, 1);
  const std::vector<int64_t> disk(disk_column::count, 1);
  uint32_t last = 1;
  for (int64_t tick = 0; tick < 200; ++tick) {
    Sample sample;
    sample.t_ns = kTestStart + tick * 1'000'000'000;
    sample.mono_ns = 1'000'000'000 * (tick + 1);
    if (tick == 0) sample.keys.push_back({1, &source_disk, "sda", ""});
    sample.add(source_disk, 1, disk);
    for (int i = 0; i < 40; ++i) {
      sample.keys.push_back({++last, &source_tcp, cat("10.0.0.1:49152>10.0.0.2:", last), ""});
      sample.add(source_tcp, last, tcp);
    }
    Status added = writer.add(0, sample);
    ASSERT_TRUE(added.ok()) << added.error().message();
  }
  Sample late;
  late.t_ns = kTestStart + 1'000'000'000'000;
  late.add(source_tcp, 2, tcp);  // forgotten by now: its row is left out, the sample is not
  ASSERT_TRUE(writer.add(0, late).ok());
  ASSERT_TRUE(writer.close().ok());
  RunReader reader = must_open(folder.file("a"));
  EXPECT_EQ(reader.samples().size(), 201u);
  EXPECT_EQ(count_rows(reader, source_tcp), 8000);
  EXPECT_EQ(count_rows(reader, source_disk), 200);
  EXPECT_EQ(reader.manifest().notes.size(), 1u);
}

}  // namespace
}  // namespace culprit
