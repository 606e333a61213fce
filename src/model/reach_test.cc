#include "model/reach.h"

#include <gtest/gtest.h>

namespace culprit {
namespace {

TEST(Reach, TakesTheThreeForms) {
  EXPECT_EQ(parse_reach("local")->kind, ReachKind::local);
  auto ns = parse_reach("ns:lab-s1");
  ASSERT_TRUE(ns);
  EXPECT_EQ(ns->kind, ReachKind::ns);
  EXPECT_EQ(ns->ns, "lab-s1");
  auto ssh = parse_reach("ssh:root@node7.example:2222");
  ASSERT_TRUE(ssh);
  EXPECT_EQ(ssh->kind, ReachKind::ssh);
  EXPECT_EQ(ssh->user, "root");
  EXPECT_EQ(ssh->host, "node7.example");
  EXPECT_EQ(ssh->port, 2222);
}

TEST(Reach, UserAndPortMayBeLeftToSsh) {
  auto ssh = parse_reach("ssh:node7");
  ASSERT_TRUE(ssh);
  EXPECT_EQ(ssh->user, "");
  EXPECT_EQ(ssh->host, "node7");
  EXPECT_EQ(ssh->port, 0);
}

TEST(Reach, AddressesOfTheSixthVersion) {
  auto bare = parse_reach("ssh:root@fe80::1");
  ASSERT_TRUE(bare);
  EXPECT_EQ(bare->host, "fe80::1");
  EXPECT_EQ(bare->port, 0);
  auto bracketed = parse_reach("ssh:root@[fe80::1]:22");
  ASSERT_TRUE(bracketed);
  EXPECT_EQ(bracketed->host, "fe80::1");
  EXPECT_EQ(bracketed->port, 22);
}

TEST(Reach, RefusesWhatIsNotOne) {
  for (const char* text : {"",
                           "locals",
                           "ns:",
                           "ns:../x",
                           "ns:..",
                           "ns:-a",
                           "ssh:",
                           "ssh:@h",
                           "ssh:u@",
                           "ssh:-oProxyCommand=x",
                           "ssh:u@-oX",
                           "ssh:u@h:",
                           "ssh:u@h:0",
                           "ssh:u@h:65536",
                           "ssh:u@h:x",
                           "ssh:u@h;rm",
                           "ssh:h$x",
                           "ns:a;b",
                           "ssh:u u@h",
                           "ssh:u@[::1",
                           "ssh:u@[::1]x",
                           "telnet:h"}) {
    auto reach = parse_reach(text);
    EXPECT_FALSE(reach) << text;
    if (!reach) {
      EXPECT_NE(reach.error().hint, "") << text;
    }
  }
}

}  // namespace
}  // namespace culprit
