#include "calls/path_hash.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace culprit {
namespace {

using testing::HasSubstr;
using testing::Not;

// The published test vectors: key 00 01 .. 0f, text 00 01 .. of n bytes.
TEST(SipHash, GivesThePublishedValues) {
  SipKey key = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
  std::string text;
  for (char c = 0; c < 15; ++c) text += c;
  auto hash = [&](size_t n) { return siphash24(std::string_view(text).substr(0, n), key); };
  EXPECT_EQ(hash(0), 0x726fdb47dd0e0e31U);
  EXPECT_EQ(hash(1), 0x74f839c593dc67fdU);
  EXPECT_EQ(hash(2), 0x0d6c8009d9a94f5aU);
  EXPECT_EQ(hash(3), 0x85676696d7fb7e2dU);
  EXPECT_EQ(hash(8), 0x93f5f5799a932462U);
  EXPECT_EQ(hash(15), 0xa129ca6149be45e5U);
}

TEST(PathHasher, KeepsTheShapeOfAPath) {
  PathHasher hasher("a key");
  std::string hashed = hasher.hash("/brick/dir/file");
  auto parts = split(hashed, '/');
  ASSERT_EQ(parts.size(), 4U);
  EXPECT_EQ(parts[0], "");
  for (size_t i = 1; i < parts.size(); ++i) {
    EXPECT_EQ(parts[i].size(), 17U);
    EXPECT_EQ(parts[i][0], '~');
  }
  EXPECT_THAT(hashed, Not(HasSubstr("brick")));
  EXPECT_EQ(hasher.hash("/brick/dir"), hashed.substr(0, hashed.rfind('/')));
}

TEST(PathHasher, DependsOnTheKey) {
  EXPECT_EQ(PathHasher("one").hash("/a"), PathHasher("one").hash("/a"));
  EXPECT_NE(PathHasher("one").hash("/a"), PathHasher("two").hash("/a"));
  EXPECT_NE(PathHasher("").hash("/a"), PathHasher("two").hash("/a"));
}

TEST(PathHasher, LeavesWhatTellsNothing) {
  PathHasher hasher("a key");
  for (const char* name : {"", "/", "pipe:[7]", "anon_inode:[eventpoll]", "socket:[12]", "/..", "."})
    EXPECT_EQ(hasher.hash(name), name);
  std::string once = hasher.hash("/a/b (deleted)");
  EXPECT_TRUE(std::string_view(once).ends_with(" (deleted)"));
  EXPECT_EQ(hasher.hash(once), once);
  EXPECT_EQ(once, hasher.hash("/a/b") + " (deleted)");
}

TEST(PathHasher, HashesPathsOfSocketsButNoAddresses) {
  PathHasher hasher("a key");
  FdRecord tcp;
  tcp.kind = FdKind::socket;
  tcp.protocol = "TCP";
  tcp.local = "10.0.0.1:49152";
  tcp.peer = "10.0.0.7:1023";
  EXPECT_EQ(hasher.hash(tcp), tcp);
  FdRecord local;
  local.kind = FdKind::socket;
  local.protocol = "UNIX";
  local.name = "/run/secret.sock";
  local.local = "/run/secret.sock";
  local.peer = "4711";
  FdRecord hashed = hasher.hash(local);
  EXPECT_THAT(hashed.name, Not(HasSubstr("secret")));
  EXPECT_EQ(hashed.local, hashed.name);
  EXPECT_EQ(hashed.peer, "4711");
}

}  // namespace
}  // namespace culprit
