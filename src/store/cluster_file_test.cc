#include "store/cluster_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace culprit {
namespace {

using testing::HasSubstr;

constexpr std::string_view kGood = R"(
name = "lab"
fs = "glusterfs"
data_ports = [49152, "49153-49160"]

[[client]]
name = "c1"

[[server]]
name = "s1"
address = "10.0.0.1"
roles = ["io", "meta"]
reach = "ssh:root@host-1:2222"
disks = ["/dev/sdb", "nvme0n1"]
nics = ["eth0"]
daemons = ["glusterfsd"]
storage = ["/data/brick1", "/data/brick 2"]
sampler = "/opt/culprit-node"

[[server]]
name = "s2"
reach = "ns:s2"

[[other]]
name = "x1"
)";

TEST(ClusterFile, ReadsEveryKey) {
  auto cluster = parse_cluster(kGood, "c.toml");
  ASSERT_TRUE(cluster) << cluster.error().message();
  EXPECT_EQ(cluster->name, "lab");
  EXPECT_EQ(cluster->fs, "glusterfs");
  ASSERT_EQ(cluster->data_ports.size(), 2u);
  EXPECT_TRUE(cluster->data_ports[1].contains(49160));
  EXPECT_FALSE(cluster->data_ports[1].contains(49152));
  ASSERT_EQ(cluster->nodes.size(), 4u);
  const Node& s1 = cluster->nodes[0];
  EXPECT_EQ(s1.name, "s1");
  EXPECT_EQ(s1.reach, "ssh:root@host-1:2222");
  EXPECT_EQ(s1.disks, (std::vector<std::string>{"sdb", "nvme0n1"})) << "/dev/ is dropped: /proc/diskstats has none";
  EXPECT_EQ(s1.roles, (std::vector<std::string>{"io", "meta"}));
  EXPECT_EQ(s1.sampler, "/opt/culprit-node");
  EXPECT_EQ(s1.storage, (std::vector<std::string>{"/data/brick1", "/data/brick 2"}));
  EXPECT_EQ(cluster->nodes[1].name, "s2") << "servers come first, in the order of the file";
  EXPECT_EQ(cluster->nodes[2].kind, NodeKind::client);
  EXPECT_EQ(cluster->nodes[3].kind, NodeKind::other);
  EXPECT_EQ(cluster->nodes[2].reach, "local");
}

TEST(ClusterFile, FormatRoundTrips) {
  Cluster cluster = parse_cluster(kGood, "c.toml").value();
  cluster.name = "a \"quoted\" \\ name \xc3\xa9";
  std::string text = format_cluster(cluster);
  auto again = parse_cluster(text, "c.toml");
  ASSERT_TRUE(again) << again.error().message() << "\n" << text;
  EXPECT_EQ(again->name, cluster.name);
  EXPECT_EQ(format_cluster(*again), text);
  EXPECT_EQ(again->nodes[0].daemons, cluster.nodes[0].daemons);
  EXPECT_EQ(again->nodes[0].storage, cluster.nodes[0].storage);
}

struct BadCase {
  const char* name;
  std::string text;
  const char* what;
  const char* hint;
};

class BadCluster : public testing::TestWithParam<BadCase> {};

TEST_P(BadCluster, IsOneSentenceWithALineAndAHint) {
  auto cluster = parse_cluster(GetParam().text, "c.toml");
  ASSERT_FALSE(cluster);
  EXPECT_EQ(cluster.error().kind, ErrorKind::input);
  EXPECT_THAT(cluster.error().message(), HasSubstr(GetParam().what));
  EXPECT_THAT(cluster.error().hint, HasSubstr(GetParam().hint));
  EXPECT_THAT(cluster.error().message(), HasSubstr("c.toml"));
  EXPECT_EQ(cluster.error().message().find('\n'), std::string::npos);
}

std::string one(std::string_view line) {
  return cat("[[server]]\nname = \"s1\"\n", line, "\n");
}
std::string repeat(std::string_view text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

INSTANTIATE_TEST_SUITE_P(
    All, BadCluster,
    testing::Values(
        BadCase{"unknown_key", one("adress = \"10.0.0.1\""), "line 3: unknown key 'adress'", "did you mean 'address'?"},
        BadCase{"unknown_top", "data_port = 1\n" + one(""), "line 1: unknown key 'data_port'",
                "did you mean 'data_ports'?"},
        BadCase{"unknown_far", one("zzzzzz = 1"), "unknown key 'zzzzzz'", "known are name, address"},
        BadCase{"same_name", one("") + "[[client]]\nname = \"s1\"\n", "line 4: two nodes are named 's1'", "of its own"},
        BadCase{"empty_name", "[[server]]\nname = \"\"\n", "line 2: a node's name is empty", "name"},
        BadCase{"no_name", "[[server]]\nreach = \"local\"\n", "line 1: a node has no name", "name = "},
        BadCase{"blank_name", "[[server]]\nname = \"a b\"\n", "'a b' cannot be a node's name", "blanks"},
        BadCase{"slash_name", "[[server]]\nname = \"../b\"\n", "cannot be a node's name", "slashes"},
        BadCase{"control_name", "[[server]]\nname = \"a\\u0007b\"\n", "control characters", ""},
        BadCase{"option_name", "[[server]]\nname = \"-oProxyCommand=x\"\n", "cannot be a node's name", "no -"},
        BadCase{"reach_word", one("reach = \"telnet:x\""), "line 3: 'telnet:x' is not a way", "ssh:USER@HOST"},
        BadCase{"reach_option", one("reach = \"ssh:root@-oProxyCommand=x\""), "is not a way", "ssh:USER@HOST"},
        BadCase{"reach_port", one("reach = \"ssh:root@h:99999\""), "is not a way", ":PORT"},
        BadCase{"reach_ns", one("reach = \"ns:\""), "is not a way", "ns:NAME"},
        BadCase{"port_zero", "data_ports = [0]\n" + one(""), "line 1: 'data_ports'", "1 to 65535"},
        BadCase{"port_backwards", "data_ports = [\"20-10\"]\n" + one(""), "no port or range", "49153-49160"},
        BadCase{"port_text", "data_ports = [\"http\"]\n" + one(""), "no port or range", "49153-49160"},
        BadCase{"port_type", "data_ports = 49152\n" + one(""), "must be a list", "[49152"},
        BadCase{"no_server", "[[client]]\nname = \"c1\"\n", "names no server", "[[server]]"},
        BadCase{"single_bracket", "[server]\nname = \"s1\"\n", "must be an array of tables", "two brackets"},
        BadCase{"list_of_numbers", "server = [1, 2]\n", "must be an array of tables", "[[server]]"},
        BadCase{"text_is_number", "[[server]]\nname = 7\n", "line 2: 'name' must be a text", "name = "},
        BadCase{"list_is_text", one("disks = \"sdb\""), "line 3: 'disks' must be a list", "disks = ["},
        BadCase{"list_of_wrong", one("disks = [1]"), "'disks' must be a text", ""},
        BadCase{"empty_item", one("disks = [\"\"]"), "'disks' holds an empty text", "all"},
        BadCase{"bad_role", one("roles = [\"oi\"]"), "unknown role 'oi'", "known are io, meta, management"},
        BadCase{"bad_address", one("address = \"host1\""), "'host1' is not an IP address", "reach"},
        BadCase{"relative", one("storage = [\"brick\"]"), "'brick' is not an absolute path", "/data/brick1"},
        BadCase{"mapper", one("disks = [\"/dev/mapper/vg-a\"]"), "not a disk's name", "lsblk"},
        BadCase{"not_toml", "<xml/>\n", "line 1: ", "TOML"},
        BadCase{"twice", "name = 1\nname = 2\n", "line 2: ", "TOML"},
        BadCase{"cut", "[[server]]\nname = \"s1", "line 2: ", "TOML"}, BadCase{"empty", " \n\n", "is empty", "servers"},
        BadCase{"deep", "name = " + repeat("[", 100000), "line 1: ", "TOML"},
        BadCase{"deep_tables", "name = " + repeat("{a=", 100000), "line 1: ", "TOML"},
        BadCase{"large", std::string(1'000'001, '#'), "is larger than 1.0 MB", "right file"},
        BadCase{"zero_bytes", std::string("name = \"a\0b\"\n", 13), "line 1: ", "TOML"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(ClusterFile, CharactersBeyondAscii) {
  auto good = parse_cluster(
      "\xef\xbb\xbf# caf\xc3\xa9 \"\nname = \"caf\\u00e9 \\U0001f600 \\\" #\" # \xc3\xa9\n[[server]]\nname = 'a#' # "
      "\xc3\xa9\n",
      "c");
  ASSERT_TRUE(good) << good.error().message();
  EXPECT_EQ(good->name, "caf\xc3\xa9 \xf0\x9f\x98\x80 \" #");
  EXPECT_EQ(good->nodes[0].name, "a#");
  for (const char* bad :
       {"\n\xc3\xa9 = 1\n", "\na = \"x\" \xc3\xa9\n", "\na = 1\xef\xbb\xbe\n", "\na = 0\"x\xc3\xa9\"\n",
        "\na = \"# \xc3\xa9\"\n", "\na = \"\"\"x\"\"\" # \xc3\xa9\n", "\na = '\\'\xc3\xa9\n", "\na = \"\\\xc3\xa9\"\n"})
    EXPECT_THAT(parse_cluster(bad, "c").error().message(), HasSubstr("c, line 2: a character beyond ASCII")) << bad;
}

TEST(ClusterFile, ReachForms) {
  for (const char* good :
       {"local", "ns:s1", "ssh:root@h", "ssh:h", "ssh:root@h:22", "ssh:u@10.0.0.1:2222", "ssh:u@[fe80::1]"})
    EXPECT_TRUE(check_reach(good)) << good;
  for (const char* bad :
       {"", "ssh:", "ssh:@h", "ssh:a b@h", "ssh:u@h:0", "ssh:u@h:", "ns:a/b", "ns:-x", "Local", "ssh:-v", "ssh:a@b@c"})
    EXPECT_FALSE(check_reach(bad)) << bad;
}

TEST(ClusterFile, MissingFile) {
  auto cluster = read_cluster("/nonexistent/cluster.toml");
  ASSERT_FALSE(cluster);
  EXPECT_EQ(cluster.error().kind, ErrorKind::system);
}

}  // namespace
}  // namespace culprit
