#include "capture/node_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/text.h"
#include "capture/processes.h"

namespace culprit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(NodeTarget, OptionValuesInBothForms) {
  constexpr std::string_view kLine("fsd\0-s\0s1\0--brick-name\0/b/1\0--brick-name=/b/2\0--brick-names\0/no\0", 64);
  EXPECT_THAT(option_values(kLine, "--brick-name"), ElementsAre("/b/1", "/b/2"));
  EXPECT_TRUE(option_values(kLine, "--volume").empty());
  EXPECT_TRUE(option_values(std::string_view("x\0--brick-name", 14), "--brick-name").empty()) << "cut off";
  EXPECT_TRUE(option_values("", "--brick-name").empty());
}

TEST(NodeTarget, DevicesAreThoseBelowTheStorage) {
  Surroundings around;
  around.storage = {"/", "/", "/nonexistent/folder"};
  find_storage({}, "", ::getpid(), around);
  struct stat info {};
  ASSERT_EQ(::stat("/", &info), 0);
  EXPECT_THAT(around.devices, ElementsAre(uint64_t{major(info.st_dev)} << 20 | minor(info.st_dev)));
}

TEST(NodeTarget, DaemonsOfANameAreFoundAndOursIsNot) {
  NodeOrder order;
  order.name = "here";
  order.daemons = {"no-such-daemon"};
  auto none = find_target(order, ::getpid());
  ASSERT_TRUE(none) << none.error().message();
  EXPECT_TRUE(none->processes.empty());
  EXPECT_EQ(none->newcomers, order.daemons);
  EXPECT_EQ(none->mount_namespace, mount_namespace_of(::getpid()));
  EXPECT_THAT(target_text(*none), HasSubstr("does not run yet"));
  order.daemons.clear();
  auto all = find_target(order, ::getpid());
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->all_newcomers);
  for (const ProcessId& process : all->processes) EXPECT_NE(process.pid, ::getpid());
}

TEST(NodeTarget, ANamespaceThatIsGoneIsAnError) {
  NodeOrder order;
  order.name = "s1";
  auto target = find_target(order, 0x3fffffff);  // above every pid_max
  ASSERT_FALSE(target);
  EXPECT_THAT(target.error().what, HasSubstr("s1"));
}

}  // namespace
}  // namespace culprit
