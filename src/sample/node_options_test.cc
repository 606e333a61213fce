#include "sample/node_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"

namespace culprit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(NodeOptions, AllOfThem) {
  auto options = parse_node_options({"--interval", "50ms", "--disks=sda,sdb", "--nics", "eth0", "--daemons",
                                     "mfschunkserver", "--ports", "49152-60999,9422", "--once"});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->env.interval_ns, 50 * kNsPerMs);
  EXPECT_THAT(options->env.node.disks, ElementsAre("sda", "sdb"));
  EXPECT_THAT(options->env.node.nics, ElementsAre("eth0"));
  EXPECT_THAT(options->env.daemons, ElementsAre("mfschunkserver"));
  EXPECT_EQ(format_ports(options->env.data_ports), "49152-60999,9422");
  EXPECT_TRUE(options->once);
}

TEST(NodeOptions, WrittenOptionsAreReadTheSame) {
  SampleEnv env;
  env.interval_ns = 123'456'789;
  env.node.disks = {"sda", "nvme0n1"};
  env.data_ports = {{3334, 3334}, {6800, 7568}};
  auto options = parse_node_options(node_arguments(env));
  ASSERT_TRUE(options);
  EXPECT_EQ(options->env.interval_ns, env.interval_ns);
  EXPECT_EQ(options->env.node.disks, env.node.disks);
  EXPECT_TRUE(options->env.node.nics.empty());
  EXPECT_EQ(format_ports(options->env.data_ports), "3334,6800-7568");
}

TEST(NodeOptions, WrongOnesAreUsageErrorsWithAHint) {
  const std::vector<std::string> wrong[] = {{"--intervall", "1s"},
                                            {"--interval"},
                                            {"--interval", "1ms"},
                                            {"--interval", "2h"},
                                            {"--interval", "x"},
                                            {"--ports", "0"},
                                            {"--ports", "9-1"},
                                            {"--ports", "70000"},
                                            {"--once=1"},
                                            {"sda"},
                                            {""}};
  for (const auto& arguments : wrong) {
    auto options = parse_node_options(arguments);
    ASSERT_FALSE(options) << arguments[0];
    EXPECT_EQ(options.error().kind, ErrorKind::usage);
    EXPECT_FALSE(options.error().hint.empty()) << arguments[0];
  }
  EXPECT_THAT(parse_node_options({"--intervall"}).error().hint, HasSubstr("--interval?"));
}

TEST(NodeOptions, HelpNamesEveryOption) {
  for (const char* name : {"--interval", "--disks", "--nics", "--daemons", "--ports", "--once", "--version"})
    EXPECT_THAT(node_help(), HasSubstr(name));
}

}  // namespace
}  // namespace culprit
