#include "calls/fd_class.h"

#include <gtest/gtest.h>

namespace culprit {
namespace {

Surroundings a_server() {
  Surroundings around;
  around.storage = {"/brick", "/data/b2/"};
  around.devices = {77};
  around.data_ports = {{49152, 49160}};
  around.peers = {{"s1", "10.0.0.1", NodeKind::server},
                  {"s2", "10.0.0.2", NodeKind::server},
                  {"s3", "fd00:0:0::3", NodeKind::server},
                  {"c1", "10.0.0.7", NodeKind::client}};
  return around;
}

FdRecord file(const std::string& name, FdKind kind = FdKind::file) {
  FdRecord record;
  record.kind = kind;
  record.name = name;
  return record;
}

FdRecord socket(const std::string& local, const std::string& peer) {
  FdRecord record;
  record.kind = FdKind::socket;
  record.protocol = "TCP";
  record.local = local;
  record.peer = peer;
  return record;
}

TEST(Endpoint, IsAnAddressAndAPort) {
  EXPECT_EQ(parse_endpoint("10.0.0.7:1023").address, "10.0.0.7");
  EXPECT_EQ(parse_endpoint("10.0.0.7:1023").port, 1023);
  EXPECT_EQ(parse_endpoint("[fe80::1]:24007").address, "fe80::1");
  EXPECT_EQ(parse_endpoint("[fe80::1]:24007").port, 24007);
  EXPECT_EQ(parse_endpoint("[FE80:0:0::1]:1").address, "fe80::1");
  EXPECT_EQ(parse_endpoint("0.0.0.0:0").port, 0);
}

TEST(Endpoint, OfTheSixthVersionInClothesOfTheFourthIsTheFourth) {
  EXPECT_EQ(parse_endpoint("[::ffff:10.0.0.7]:1023").address, "10.0.0.7");
  EXPECT_EQ(parse_endpoint("[::ffff:a00:7]:1023").address, "10.0.0.7");
}

TEST(Endpoint, WhatIsNoneHasNoPort) {
  for (const char* text : {"", ":", "10.0.0.7", "10.0.0.7:", "10.0.0.7:-1", "10.0.0.7:+1", "10.0.0.7:65536",
                           "10.0.0.7:99999999999999999999", "10.0.0:80", "fe80::1:80", "[]:80", "[fe80::1]",
                           "[fe80::1:80", "host:80", "/run/socket:80", "@abstract"}) {
    EXPECT_EQ(parse_endpoint(text).port, -1) << text;
    EXPECT_EQ(parse_endpoint(text).address, "") << text;
  }
  EXPECT_EQ(parse_endpoint(std::string(100'000, '1') + ":80").port, -1);
}

TEST(Surroundings, KnowTheirPeersInAnySpelling) {
  Surroundings around = a_server();
  ASSERT_NE(around.peer_at("10.0.0.7:1023"), nullptr);
  EXPECT_EQ(around.peer_at("10.0.0.7:1023")->node, "c1");
  EXPECT_EQ(around.peer_at("[::ffff:10.0.0.7]:5")->node, "c1");
  EXPECT_EQ(around.peer_at("[fd00::3]:49152")->node, "s3");
  EXPECT_EQ(around.peer_at("10.0.0.9:1023"), nullptr);
  EXPECT_EQ(around.peer_at("10.0.0.7"), nullptr);
}

TEST(Classify, FilesBelowTheStorageFolders) {
  Surroundings around = a_server();
  EXPECT_EQ(classify(file("/brick/f"), around), FdClass::storage);
  EXPECT_EQ(classify(file("/brick", FdKind::folder), around), FdClass::storage);
  EXPECT_EQ(classify(file("/data/b2/x", FdKind::path), around), FdClass::storage);
  EXPECT_EQ(classify(file("/brick2/f"), around), FdClass::other);
  EXPECT_EQ(classify(file("brick/f"), around), FdClass::other);
  EXPECT_EQ(classify(file("/brick/pipe", FdKind::pipe), around), FdClass::other);
}

TEST(Classify, DevicesCountOnlyWithoutFolders) {
  Surroundings around = a_server();
  FdRecord elsewhere = file("/elsewhere/f");
  elsewhere.device = 77;
  EXPECT_EQ(classify(elsewhere, around), FdClass::other);
  around.storage.clear();
  EXPECT_EQ(classify(elsewhere, around), FdClass::storage);
  elsewhere.device = 78;
  EXPECT_EQ(classify(elsewhere, around), FdClass::other);
  around.devices = {0};
  elsewhere.device = 0;  // unknown, and not the device 0
  EXPECT_EQ(classify(elsewhere, around), FdClass::other);
}

TEST(Classify, SocketsOfAServer) {
  Surroundings around = a_server();
  EXPECT_EQ(classify(socket("10.0.0.1:49152", "10.0.0.7:1023"), around), FdClass::to_client);
  EXPECT_EQ(classify(socket("[::ffff:10.0.0.1]:49152", "[::ffff:10.0.0.7]:1023"), around), FdClass::to_client);
  EXPECT_EQ(classify(socket("10.0.0.1:1020", "10.0.0.2:49153"), around), FdClass::to_server);
  EXPECT_EQ(classify(socket("127.0.0.1:1020", "127.0.0.1:49152"), around), FdClass::to_server);
  EXPECT_EQ(classify(socket("10.0.0.1:22", "10.0.0.7:50000"), around), FdClass::other);
  EXPECT_EQ(classify(socket("", ""), around), FdClass::other);
}

TEST(Classify, SocketsOfAClient) {
  Surroundings around = a_server();
  around.server = false;
  EXPECT_EQ(classify(socket("10.0.0.7:49152", "10.0.0.1:22"), around), FdClass::other);
  EXPECT_EQ(classify(socket("10.0.0.7:1023", "10.0.0.1:49152"), around), FdClass::to_server);
  EXPECT_EQ(classify(socket("[fd00::7]:1023", "[fd00::3]:49152"), around), FdClass::to_server);
  EXPECT_EQ(classify(socket("10.0.0.7:1023", "10.0.0.9:49152"), around), FdClass::other);  // nobody we know
  around.peers.clear();
  EXPECT_EQ(classify(socket("10.0.0.7:1023", "10.0.0.9:49152"), around), FdClass::to_server);
}

TEST(Classify, Fuse) {
  EXPECT_EQ(classify(file("/dev/fuse", FdKind::device), a_server()), FdClass::fuse);
  EXPECT_STREQ(name_of(FdClass::fuse), "fuse");
  EXPECT_STREQ(name_of(FdClass::to_client), "to-client");
}

TEST(PathIn, CompletesWhatIsRelative) {
  EXPECT_EQ(path_in("/d", "f"), "/d/f");
  EXPECT_EQ(path_in("/", "f"), "/f");
  EXPECT_EQ(path_in("/d", "/f"), "/f");
  EXPECT_EQ(path_in("/d", ""), "");
  EXPECT_EQ(path_in("", "f"), "f");
  EXPECT_EQ(path_in("pipe:[7]", "f"), "f");
}

}  // namespace
}  // namespace culprit
