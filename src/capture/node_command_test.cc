#include "capture/node_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace culprit {
namespace {

using testing::HasSubstr;

CaptureOrders full_orders() {
  CaptureOrders orders;
  orders.node.name = "s1";
  orders.node.around.server = false;
  orders.node.around.storage = {"/data/brick 1", "/b"};
  orders.node.around.data_ports = {{49152, 49160}, {7, 7}};
  orders.node.around.peers = {{"c1", "10.0.0.7", NodeKind::client}, {"x1", "fe80::1", NodeKind::other}};
  orders.node.daemons = {"glusterfsd", "a b"};
  orders.node.storage_option = "--brick-name";
  orders.node.pids = {7, 4711};
  orders.node.cgroup = "system.slice/a b";
  orders.backend = "ptrace";
  orders.calls = "io";
  orders.sums = true;
  orders.buffer_bytes = 1 << 20;
  orders.hash_key = std::string("\0\xff k\n", 5);
  return orders;
}

// Every line but the last; true of the last one only.
OrdersReader read_all(const std::string& text) {
  OrdersReader reader;
  for (std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    auto complete = reader.take(line);
    EXPECT_TRUE(complete) << line;
    EXPECT_EQ(complete.ok() && *complete, line == "go") << line;
  }
  return reader;
}

TEST(CaptureOrders, ArriveAsTheyWereGiven) {
  CaptureOrders given = full_orders();
  CaptureOrders read = read_all(format_orders(given)).orders();
  EXPECT_EQ(format_orders(read), format_orders(given));
  EXPECT_EQ(read.node.around.storage, given.node.around.storage);
  EXPECT_EQ(read.node.around.peers, given.node.around.peers);
  EXPECT_EQ(read.node.daemons, given.node.daemons);
  EXPECT_EQ(read.node.pids, given.node.pids);
  EXPECT_EQ(read.node.cgroup, given.node.cgroup);
  EXPECT_EQ(read.hash_key, given.hash_key);
  EXPECT_TRUE(read.sums);
  EXPECT_FALSE(read.node.around.server);
}

TEST(CaptureOrders, WhatANewerVersionOrdersIsSkipped) {
  EXPECT_EQ(read_all("node s1\ncolour blue\ngo\n").orders().node.name, "s1");
}

TEST(CaptureOrders, NonsenseIsRefused) {
  for (const char* line :
       {"ports 0 7", "ports 9 7", "ports 1 70000", "ports x", "peer server", "peer boss 1.2.3.4 a", "buffer -1",
        "buffer 99999999999999", "buffer", "key 0", "key zz", "sums yes", "daemon", "pid 0", "pid x"}) {
    OrdersReader reader;
    auto taken = reader.take(line);
    ASSERT_FALSE(taken) << line;
    EXPECT_THAT(taken.error().what, HasSubstr(line));
  }
}

TEST(ChooseBackend, AnUnknownNameIsAnError) {
  std::string why;
  auto backend = choose_backend("ebfp", why);
  ASSERT_FALSE(backend);
  EXPECT_THAT(backend.error().what, HasSubstr("ebfp"));
}

}  // namespace
}  // namespace culprit
